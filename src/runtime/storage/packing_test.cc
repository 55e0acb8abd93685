#include "runtime/storage/packing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.h"

namespace banyan::runtime {
namespace {

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
    double sum = -6;  // of twelve uniform ones: nearly normal
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
