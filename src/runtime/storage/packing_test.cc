#include "runtime/storage/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/random.h"

namespace banyan::runtime {
namespace {

std::string pack(std::string_view bytes) { return std::string(Packer().pack(bytes)); }

void expect_back(std::string_view bytes, std::string_view packed) {
  std::string back = "before";
  ASSERT_TRUE(unpack(packed, back));
  EXPECT_TRUE(back == "before" + std::string(bytes)) << bytes.size() << " bytes";
}

std::string noise(std::size_t size) {
  Rng rng(7);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.below(256));
  return bytes;
}

TEST(Packing, WhatSaysLittleGetsSmall) {
  const std::string zeros(1 << 18, '\0');
  const std::string packed = pack(zeros);
  EXPECT_LT(packed.size(), 100U);
  std::string back = "before";
  ASSERT_TRUE(unpack(packed, back));
  EXPECT_EQ(back, "before" + zeros);
}

TEST(Packing, NoiseStaysAsItIs) {
  const std::string bytes = noise(1 << 18);
  const std::string packed = pack(bytes);
  EXPECT_EQ(packed.size(), bytes.size() + 1);
  std::string back;
  ASSERT_TRUE(unpack(packed, back));
  EXPECT_EQ(back, bytes);
}

template <class Number>
std::string normal_numbers(std::size_t count) {
  Rng rng(7);
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    double sum = -6;  // plus twelve uniform numbers: nearly normally distributed
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(rng.below(1U << 30)) / (1U << 30);
    const auto number = static_cast<Number>(sum);
    char raw[sizeof(number)];
    std::memcpy(raw, &number, sizeof(number));
    bytes.append(raw, sizeof(number));
  }
  return bytes;
}

TEST(Packing, NumbersAreSmallerByTheirPlanes) {
  for (const std::string& numbers : {normal_numbers<double>(1 << 15), normal_numbers<float>(1 << 16)}) {
    for (const std::size_t tail : {0, 1, 5}) {
      const std::string bytes = numbers + std::string(tail, 'x');
      const std::string packed = pack(bytes);
      EXPECT_LT(packed.size(), bytes.size() * 15 / 16);
      std::string back = "before";
      ASSERT_TRUE(unpack(packed, back));
      EXPECT_TRUE(back == "before" + bytes);
    }
  }
}

// Numbers whose bytes, from the lowest on, follow the pattern: '?' is noise, another character stands for
// itself.
std::string numbers_of(std::string_view pattern, std::size_t count) {
  Rng rng(7);
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i)
    for (const char byte : pattern) bytes += byte == '?' ? static_cast<char>(rng.below(256)) : byte;
  return bytes;
}

TEST(Packing, PlanesOfNoiseTakeTheirOwnRoomAndTheOthersNone) {
  for (const std::string_view pattern :
       {"??????ab", "ab??????", "??ab????", "?a?b?c?d", "abcdefg?", "?abcdefg", "??ab", "a??b", "ab?c"}) {
    const auto noisy = static_cast<std::size_t>(std::ranges::count(pattern, '?'));
    for (const std::size_t more : {0, 3}) {
      const std::string bytes = numbers_of(pattern, 50'000) + std::string(more, 'x');
      const std::string packed = pack(bytes);
      EXPECT_LT(packed.size(), noisy * 50'000 * 101 / 100 + 500) << pattern;
      expect_back(bytes, packed);
    }
  }
}

TEST(Packing, NoiseBetweenPlanesIsTheirs) {
  for (const std::size_t count : {50'000, 131'072}) {
    const std::string bytes = numbers_of("ab????cd", count) + numbers_of("abcd???d", count);
    const std::string packed = pack(bytes);
    EXPECT_LT(packed.size(), bytes.size() * 2 / 3);
    expect_back(bytes, packed);
  }
}

TEST(Packing, NumbersThatComeAgainFurtherOnAreNoNoise) {
  const std::string once = normal_numbers<double>(3000);
  std::string again;
  while (again.size() < 1 << 20) again += once;
  EXPECT_LT(pack(again).size(), 2 * once.size());
  expect_back(again, pack(again));
}

TEST(Packing, NoiseInTheMidstOfZerosIsAllThatTakesRoom) {
  std::string bytes(1 << 20, '\0');
  const std::string midst = normal_numbers<double>(13'000);
  bytes.replace((bytes.size() - midst.size()) / 16 * 8, midst.size(), midst);
  EXPECT_LT(pack(bytes).size(), midst.size());
  expect_back(bytes, pack(bytes));
}

TEST(Packing, TheFirstBlockMayBeShort) {
  for (const std::string_view bytes : {"", "x", "1234567"}) expect_back(bytes, pack(bytes));
}

TEST(Packing, WhatOnePackerPacksDoesNotDependOnWhatItPackedBefore) {
  Packer packer;
  Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = numbers_of("??????ab", rng.below(3000)) + normal_numbers<float>(rng.below(500)) +
                        std::string(rng.below(40), 'x');
    bytes.resize(rng.below(bytes.size() + 1));
    const std::string packed(packer.pack(bytes));
    EXPECT_EQ(packed, pack(bytes)) << round;
    expect_back(bytes, packed);
  }
}

TEST(Packing, ASampleThatPromisesTooMuchIsFoundOut) {
  std::string bytes = noise(1 << 20);
  bytes.replace(bytes.size() / 2 - (8 << 10), 16 << 10, std::string(16 << 10, 'a'));
  EXPECT_EQ(pack(bytes).size(), bytes.size() + 1);
}

TEST(Packing, DamageIsNoticedOrChangesTheBytes) {
  std::string back;
  EXPECT_FALSE(unpack("", back));
  for (const char* form : {"\x02", "\x03", "\x04", "\x80", "\xff"})
    EXPECT_FALSE(unpack(std::string(form) + "what", back));
  EXPECT_FALSE(unpack("\x01no frame", back));
  std::string packed = pack(std::string(1 << 16, 'x'));
  packed.resize(packed.size() - 1);
  EXPECT_FALSE(unpack(packed, back));
  std::string empty;
  EXPECT_TRUE(unpack(pack(""), empty));
  EXPECT_TRUE(empty.empty());
}

}  // namespace
}  // namespace banyan::runtime
