#include "core/schedule/gpu_hours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GpuHoursTest : public ::testing::Test {
 protected:
  /// Time passes.
  std::set<std::string> pass(Duration time) { return hours_.look(now_ += time); }
  void has(std::uint64_t devices) { hours_.on_has("ann", devices, now_); }

  Time now_{Time() + 100h};
  GpuHours hours_{10h};
};

TEST_F(GpuHoursTest, DevicesTimesTimeAreAddedUp) {
  has(2);
  EXPECT_THAT(pass(90min), IsEmpty());
  EXPECT_EQ(hours_.used("ann"), 3h);
  has(1);
  pass(90min);
  has(0);
  pass(5h);
  EXPECT_EQ(hours_.used("ann"), 4h + 30min);
  EXPECT_EQ(hours_.used("ben"), 0h);
}

TEST_F(GpuHoursTest, WhoHasHadAsMuchAsOneMayHasSpentItUntilItIsADayAgo) {
  has(4);
  pass(2h);
  EXPECT_FALSE(hours_.is_spent("ann"));
  pass(1h);
  EXPECT_TRUE(hours_.is_spent("ann"));
  EXPECT_FALSE(hours_.is_spent("ben"));
  has(0);
  EXPECT_EQ(hours_.ends("ann"), now_ - 3h + 24h) << "of 12 hours 4 are not counted then";
  EXPECT_THAT(pass(21h - 1s), IsEmpty());
  EXPECT_TRUE(hours_.is_spent("ann"));
  EXPECT_THAT(pass(1s), ElementsAre("ann"));
  EXPECT_FALSE(hours_.is_spent("ann"));
  EXPECT_EQ(hours_.used("ann"), 8h);
}

TEST_F(GpuHoursTest, ItIsSpentAtTheMomentInWhichDevicesAreGivenBack) {
  has(10);
  now_ += 1h;
  has(0);
  EXPECT_TRUE(hours_.is_spent("ann")) << "the next cell comes before anybody looks";
}

TEST_F(GpuHoursTest, WhoGoesOnHasNoneOfItBack) {
  has(1);
  pass(100h);
  EXPECT_TRUE(hours_.is_spent("ann"));
  EXPECT_EQ(hours_.used("ann"), 23h) << "a day ago is the whole hour in which that was";
  EXPECT_EQ(hours_.ends("ann"), now_ + 14h) << "so many of them have to go";
}

TEST_F(GpuHoursTest, WhatIsADayAgoIsForgotten) {
  has(1);
  pass(30min);
  has(0);
  EXPECT_EQ(hours_.used("ann"), 30min);
  pass(25h);
  EXPECT_EQ(hours_.used("ann"), 0h);
}

TEST_F(GpuHoursTest, WithoutALimitNobodySpendsIt) {
  GpuHours any(0h);
  any.on_has("ann", 100, now_);
  EXPECT_THAT(any.look(now_ + 1000h), IsEmpty());
  EXPECT_FALSE(any.is_spent("ann"));
}

}  // namespace
}  // namespace banyan::schedule
