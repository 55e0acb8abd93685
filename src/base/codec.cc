#include "base/codec.h"

namespace banyan {

void Encoder::varint(std::uint64_t value) {
  while (value >= 0x80) {
    out_ += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out_ += static_cast<char>(value);
}

std::uint64_t Decoder::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (in_.empty()) {
      reject();
      return 0;
    }
    const auto byte = static_cast<unsigned char>(in_.front());
    in_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  reject();
  return 0;
}

std::string_view Decoder::raw(std::uint64_t size) {
  if (size > in_.size()) {
    reject();
    return {};
  }
  const std::string_view bytes = in_.substr(0, size);
  in_.remove_prefix(size);
  return bytes;
}

}  // namespace banyan
