#include "base/bytes.h"

#include <xxhash.h>

#include <array>
#include <charconv>
#include <cstdio>

namespace banyan {

Digest digest_of(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string to_hex(const Digest& digest) {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(digest.high),
                static_cast<unsigned long long>(digest.low));
  return {text.data(), 32};
}

std::optional<Digest> digest_from_hex(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  Digest digest;
  for (auto [half, at] : {std::pair{&digest.high, hex.data()}, std::pair{&digest.low, hex.data() + 16}}) {
    const auto [end, error] = std::from_chars(at, at + 16, *half, 16);
    if (error != std::errc{} || end != at + 16) return std::nullopt;
  }
  return to_hex(digest) == hex ? std::optional(digest) : std::nullopt;
}

}  // namespace banyan
