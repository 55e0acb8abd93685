#include "core/schedule/hold_times.h"

#include <gtest/gtest.h>

namespace banyan::schedule {
namespace {

const SessionId kA{"a"}, kB{"b"};
Time at(Duration time) { return Time{} + time; }

TEST(HoldTimes, TheMeanOfThoseThatHaveEnded) {
  HoldTimes holds;
  EXPECT_FALSE(holds.mean(at(1s)).has_value());
  holds.begin(kA, at(1s));
  holds.begin(kB, at(2s));
  EXPECT_FALSE(holds.mean(at(2s)).has_value());
  holds.end(kA, at(5s));
  EXPECT_EQ(holds.mean(at(5s)), 4s);
  holds.end(kB, at(12s));
  EXPECT_EQ(holds.mean(at(12s)), 7s);
}

TEST(HoldTimes, ThoseThatRunForLongCountAsLong) {
  HoldTimes holds;
  for (int cell = 0; cell < 100; ++cell) {
    holds.begin(kA, at(1h));
    holds.end(kA, at(1h + 10ms));
  }
  holds.begin(kA, at(1h));
  holds.begin(kB, at(1h + 4s));
  EXPECT_EQ(holds.mean(at(1h + 4s)), 2s);
  EXPECT_EQ(holds.mean(at(1h + 60s)), 58s);
  holds.drop(kA);
  holds.drop(kB);
  EXPECT_EQ(holds.mean(at(1h + 60s)), 10ms);
}

TEST(HoldTimes, WhatDidNotRunDoesNotCount) {
  HoldTimes holds;
  holds.end(kA, at(1s));
  holds.begin(kA, at(1s));
  holds.drop(kA);
  holds.end(kA, at(9s));
  EXPECT_FALSE(holds.mean(at(9s)).has_value());
  holds.begin(kA, at(10s));
  holds.begin(kA, at(11s));
  holds.end(kA, at(12s));
  EXPECT_EQ(holds.mean(at(12s)), 1s) << "it begins anew on another host";
}

TEST(HoldTimes, OldOnesAreForgotten) {
  HoldTimes holds;
  for (int cell = 0; cell < 100; ++cell) {
    holds.begin(kA, at(0s));
    holds.end(kA, at(cell < 60 ? 1000s : 2s));
  }
  EXPECT_EQ(holds.mean(at(2s)), 2s);
}

}  // namespace
}  // namespace banyan::schedule
