#include "runtime/storage/packing.h"

#include <gtest/gtest.h>

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

TEST(Packing, ASampleThatPromisesTooMuchIsFoundOut) {
  std::string bytes = noise(1 << 18);
  bytes.replace(bytes.size() / 2 - (8 << 10), 16 << 10, std::string(16 << 10, 'a'));
  EXPECT_EQ(pack(bytes).size(), bytes.size() + 1);
}

TEST(Packing, DamageIsNoticedOrChangesTheBytes) {
  std::string back;
  EXPECT_FALSE(unpack("", back));
  EXPECT_FALSE(unpack("\x02what", back));
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
