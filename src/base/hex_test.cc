#include "base/hex.h"

#include <gtest/gtest.h>

namespace banyan {
namespace {

TEST(Hex, WhatWasWrittenIsReadAndNothingElse) {
  const std::string bytes("\x00\x7f\xff", 3);
  EXPECT_EQ(hex_text(bytes), "007fff");
  EXPECT_EQ(bytes_of_hex("007fff"), bytes);
  for (const char* bad : {"0", "0g", "FF", " 0"}) EXPECT_EQ(bytes_of_hex(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace banyan
