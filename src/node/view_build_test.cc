#include "node/view_build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::node {
namespace {

using ::testing::Optional;

class ViewBuildTest : public ::testing::Test {
 protected:
  ViewBuildTest() { advance(1h); }

  void advance(Duration time) {
    now_.mono += time;
    host_.set_now(now_);
  }

  HostContext host_{{.id = {"h1"}, .timing = {}, .sizes = {}}, Incarnation{1}, 7};
  ViewBuild build_{host_, {"s"}};

 private:
  Now now_{};
};

TEST_F(ViewBuildTest, IsYoungForAFewSeconds) {
  EXPECT_FALSE(build_.is_young());
  build_.begin(1);
  EXPECT_TRUE(build_.is_young());
  advance(5s);
  EXPECT_FALSE(build_.is_young());
  EXPECT_TRUE(build_.under_way());
}

TEST_F(ViewBuildTest, KeepsWhatItCameTo) {
  EXPECT_FALSE(build_.end()) << "none is under way";
  build_.begin(200'000);
  advance(100ms);
  build_.begin(7) /* it is under way */;
  build_.loaded(2, 100);
  build_.loaded(1, 20);
  build_.ran_a_cell();
  EXPECT_THAT(build_.age(), Optional(Duration(100ms)));
  EXPECT_TRUE(build_.end());
  EXPECT_FALSE(build_.under_way());
  ASSERT_TRUE(build_.last().has_value());
  EXPECT_EQ(build_.last()->predicted_us, 200'000);
  EXPECT_EQ(build_.last()->took_us, 100'000);
  EXPECT_EQ(build_.last()->values, 3U);
  EXPECT_EQ(build_.last()->bytes, 120U);
  EXPECT_EQ(build_.last()->cells, 1U);
}

TEST_F(ViewBuildTest, DoesNotKeepWhatTookNoTime) {
  build_.begin(10);
  advance(49ms);
  EXPECT_TRUE(build_.end());
  EXPECT_FALSE(build_.last().has_value());
  build_.begin(10);
  build_.ran_a_cell();
  EXPECT_TRUE(build_.end());
  EXPECT_TRUE(build_.last().has_value()) << "a cell ran again";
}

TEST_F(ViewBuildTest, TakesNothingWhileNoneIsUnderWay) {
  build_.begin(10);
  build_.stop();
  EXPECT_EQ(build_.age(), std::nullopt);
  build_.loaded(1, 1);
  build_.ran_a_cell();
  build_.doing("loading a");
  EXPECT_FALSE(build_.end());
  build_.begin(10);
  advance(2s);
  EXPECT_EQ(build_.progress()->what, "") << "of the one before";
  EXPECT_TRUE(build_.end());
  EXPECT_EQ(build_.last()->values, 0U);
}

TEST_F(ViewBuildTest, TellsHowFarItIsAfterAWhile) {
  build_.begin(4'000'000);
  build_.doing("loading a");
  advance(999ms);
  EXPECT_EQ(build_.progress(), std::nullopt);
  advance(300ms);
  ASSERT_TRUE(build_.progress().has_value());
  EXPECT_EQ(build_.progress()->what, "loading a");
  EXPECT_EQ(build_.progress()->percent, 25U) << "in steps of half a second";
  EXPECT_EQ(build_.progress()->left_us, 3'000'000);
  advance(100s);
  EXPECT_EQ(build_.progress()->percent, 95U) << "it has not ended, whatever was predicted";
  EXPECT_EQ(build_.progress()->left_us, 0);
}

}  // namespace
}  // namespace banyan::node
