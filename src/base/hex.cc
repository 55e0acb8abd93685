#include "base/hex.h"

namespace banyan {

std::string hex_text(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::optional<std::string> bytes_of_hex(std::string_view text) {
  const auto digit = [](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    return c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10) : 16U;
  };
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const unsigned high = digit(text[i]);
    const unsigned low = digit(text[i + 1]);
    if (high > 15 || low > 15) return std::nullopt;
    bytes += static_cast<char>(high << 4U | low);
  }
  return bytes;
}

}  // namespace banyan
