#include "base/random.h"

#include "base/check.h"

namespace banyan {

std::uint64_t Rng::next() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::uint64_t Rng::below(std::uint64_t bound) {
  CHECK(bound > 0, "below() needs a positive bound");
  // Values beyond the last multiple of `bound` are drawn again, so that every result is equally likely.
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  std::uint64_t value = next();
  while (value >= limit) value = next();
  return value % bound;
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::string Rng::uuid() {
  static constexpr char kHex[] = "0123456789abcdef";
  std::uint64_t high = next();
  std::uint64_t low = next();
  high = (high & ~0xf000ULL) | 0x4000ULL;                // marks version 4
  low = (low & ~(0xc000ULL << 48)) | (0x8000ULL << 48);  // marks the variant of RFC 4122
  std::string text;
  text.reserve(36);
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
    const std::uint64_t word = i < 16 ? high : low;
    text += kHex[(word >> (60 - 4 * (i % 16))) & 0xf];
  }
  return text;
}

}  // namespace banyan
