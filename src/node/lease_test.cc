#include "node/lease.h"

#include <gtest/gtest.h>

namespace banyan::node {
namespace {

/// A lease of 2 s, whose clock may differ by 200 ms from another host's.
class Leases : public testing::Test {
 protected:
  Leases() { advance(1h); }

  void advance(Duration time) {
    now_.mono += time;
    host_.set_now(now_);
  }
  [[nodiscard]] Time now() const { return now_.mono; }

  HostContext host_{{.id = {"h1"}, .timing = {}, .sizes = {}}, Incarnation{1}, 7};
  Lease lease_{host_};

 private:
  Now now_{};
};

TEST_F(Leases, ItLastsFromTheBidOn) {
  EXPECT_FALSE(lease_.until());
  EXPECT_FALSE(lease_.is_over());
  const Time bid = now();
  advance(500ms);
  lease_.begin(bid);
  EXPECT_EQ(lease_.until(), bid + 2s);
  advance(1499ms);
  EXPECT_FALSE(lease_.is_over());
  advance(1ms);
  EXPECT_TRUE(lease_.is_over());
  lease_.end();
  EXPECT_FALSE(lease_.until());
  EXPECT_FALSE(lease_.is_over());
}

TEST_F(Leases, ARenewalCountsFromWhenItWasAskedFor) {
  lease_.begin(now());
  advance(500ms);
  const Time asked = now();
  lease_.on_asked(7);
  advance(400ms);
  EXPECT_FALSE(lease_.take_asked(8));
  EXPECT_EQ(lease_.take_asked(7), asked);
  EXPECT_FALSE(lease_.take_asked(7));
  lease_.renew(asked);
  EXPECT_EQ(lease_.until(), asked + 2s);
}

TEST_F(Leases, AnAnswerThatComesLateShortensNothing) {
  lease_.begin(now());
  const Time first = now();
  lease_.renew(first + 1s);
  lease_.renew(first + 500ms);
  EXPECT_EQ(lease_.until(), first + 3s);
}

TEST_F(Leases, OneThatHasEndedIsNotRenewed) {
  lease_.begin(now());
  lease_.on_asked(7);
  lease_.end();
  EXPECT_FALSE(lease_.take_asked(7));
  lease_.renew(now());
  EXPECT_FALSE(lease_.until());
}

TEST_F(Leases, TheMajorityIsAskedLongBeforeItsEndAndSoonerWhenACellWaits) {
  EXPECT_TRUE(lease_.is_due(Lease::Renewal::kInTime));
  lease_.begin(now());
  advance(49ms);
  EXPECT_FALSE(lease_.is_due(Lease::Renewal::kSoon));
  advance(1ms);
  EXPECT_TRUE(lease_.is_due(Lease::Renewal::kSoon));
  EXPECT_FALSE(lease_.is_due(Lease::Renewal::kInTime));
  advance(450ms);
  EXPECT_TRUE(lease_.is_due(Lease::Renewal::kInTime));
  lease_.on_asked(7);
  EXPECT_FALSE(lease_.is_due(Lease::Renewal::kSoon));
  lease_.on_nobody_asked();
  EXPECT_TRUE(lease_.is_due(Lease::Renewal::kInTime));
}

TEST_F(Leases, ACellDoesNotBeginWithLittleOfIt) {
  EXPECT_FALSE(lease_.is_short());
  lease_.begin(now());
  advance(1s);
  EXPECT_FALSE(lease_.is_short());
  advance(1ms);
  EXPECT_TRUE(lease_.is_short());
}

TEST_F(Leases, AnotherOneIsWaitedForAsLongAsItMayLastByItsOwnClock) {
  EXPECT_FALSE(lease_.is_another_held());
  lease_.another_begins();
  advance(2199ms);
  EXPECT_TRUE(lease_.is_another_held());
  advance(1ms);
  EXPECT_FALSE(lease_.is_another_held());
  lease_.another_begins();
  lease_.nobody_has_it();
  EXPECT_FALSE(lease_.is_another_held());
}

}  // namespace
}  // namespace banyan::node
