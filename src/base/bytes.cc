#include "base/bytes.h"

#include <xxhash.h>

#include <array>
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

}  // namespace banyan
