#include "core/schedule/hold_times.h"

#include <gtest/gtest.h>

namespace banyan::schedule {
namespace {

const SessionId kA{"a"}, kB{"b"};
Time at(Duration time) { return Time{} + time; }

TEST(HoldTimes, TheMeanOfThoseThatHaveEnded) {
  HoldTimes holds;
  EXPECT_FALSE(holds.mean().has_value());
  holds.begin(kA, at(1s));
  holds.begin(kB, at(2s));
  EXPECT_FALSE(holds.mean().has_value());
  holds.end(kA, at(5s));
  EXPECT_EQ(holds.mean(), 4s);
  holds.end(kB, at(12s));
  EXPECT_EQ(holds.mean(), 7s);
}

TEST(HoldTimes, WhatDidNotRunDoesNotCount) {
  HoldTimes holds;
  holds.end(kA, at(1s));
  holds.begin(kA, at(1s));
  holds.drop(kA);
  holds.end(kA, at(9s));
  EXPECT_FALSE(holds.mean().has_value());
  holds.begin(kA, at(10s));
  holds.begin(kA, at(11s));
  holds.end(kA, at(12s));
  EXPECT_EQ(holds.mean(), 1s) << "it begins anew on another host";
}

TEST(HoldTimes, OldOnesAreForgotten) {
  HoldTimes holds;
  for (int cell = 0; cell < 100; ++cell) {
    holds.begin(kA, at(0s));
    holds.end(kA, at(cell < 60 ? 1000s : 2s));
  }
  EXPECT_EQ(holds.mean(), 2s);
}

}  // namespace
}  // namespace banyan::schedule
