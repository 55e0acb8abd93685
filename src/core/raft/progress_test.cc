#include "core/raft/progress.h"

#include <gtest/gtest.h>

namespace banyan::raft {
namespace {

TEST(Inflight, IsFullAtEitherLimit) {
  const Config limits{.id = {1}, .max_inflight_messages = 2, .max_inflight_bytes = 100};
  Inflight inflight;
  EXPECT_FALSE(inflight.full(limits));
  inflight.add({5}, 10);
  EXPECT_FALSE(inflight.full(limits));
  inflight.add({6}, 10);
  EXPECT_TRUE(inflight.full(limits));
  inflight.answered({5});
  EXPECT_FALSE(inflight.full(limits));
  inflight.add({7}, 90);
  inflight.answered({6});
  EXPECT_FALSE(inflight.full(limits));
  inflight.add({8}, 10);
  EXPECT_TRUE(inflight.full(limits));
  inflight.answered({8});
  EXPECT_EQ(inflight.count(), 0U);
  inflight.add({9}, 1000);
  EXPECT_TRUE(inflight.full(limits)) << "one larger message fills it";
}

TEST(Inflight, HoldsOneMessageWhateverTheLimitInBytes) {
  const Config limits{.id = {1}, .max_inflight_messages = 9, .max_inflight_bytes = 0};
  Inflight inflight;
  EXPECT_FALSE(inflight.full(limits));
  inflight.add({5}, 10);
  EXPECT_TRUE(inflight.full(limits));
}

TEST(Inflight, CountsBytesFromZeroAgainAfterItWasCleared) {
  const Config limits{.id = {1}, .max_inflight_messages = 9, .max_inflight_bytes = 100};
  Inflight inflight;
  inflight.add({5}, 100);
  EXPECT_TRUE(inflight.full(limits));
  inflight.clear();
  inflight.add({6}, 99);
  EXPECT_FALSE(inflight.full(limits));
}

TEST(Progress, ARejectedProbeGoesBackToTheHintOnce) {
  Progress peer;
  peer.next = {10};
  peer.paused = true;
  peer.sent_commit = {9};
  EXPECT_TRUE(peer.step_back({9}, {4}));
  EXPECT_EQ(peer.next, Index{5});
  EXPECT_EQ(peer.sent_commit, Index{4}) << "it did not take over the commit index of what it rejected";
  EXPECT_FALSE(peer.paused);
  EXPECT_FALSE(peer.step_back({9}, {2})) << "a repeated rejection is of an older probe";
  EXPECT_EQ(peer.next, Index{5});
}

TEST(Progress, EveryRejectionGoesBackAtLeastOneButNeverBelowWhatMatches) {
  Progress peer;
  peer.match = {3};
  peer.next = {6};
  EXPECT_TRUE(peer.step_back({5}, {9}));
  EXPECT_EQ(peer.next, Index{5});
  EXPECT_TRUE(peer.step_back({4}, {0}));
  EXPECT_EQ(peer.next, Index{4});
}

TEST(Progress, ARejectionWhileReplicatingMeansALostMessage) {
  Progress peer;
  peer.match = {3};
  peer.replicate();
  peer.next = {9};
  peer.inflight.add({8}, 1);
  EXPECT_FALSE(peer.step_back({3}, {0})) << "older than what is known to match";
  EXPECT_TRUE(peer.step_back({8}, {5}));
  EXPECT_EQ(peer.flow, Flow::kProbe);
  EXPECT_EQ(peer.next, Index{4});
  EXPECT_EQ(peer.inflight.count(), 0U);
}

TEST(Progress, AfterADeliveredSnapshotProbingStartsBehindIt) {
  Progress peer;
  peer.match = {2};
  peer.await_snapshot({8}, 0);
  EXPECT_TRUE(peer.blocked({}));
  EXPECT_FALSE(peer.step_back({8}, {2})) << "nothing was probed";
  peer.probe();
  EXPECT_EQ(peer.next, Index{9});
  peer.await_snapshot({8}, 0);
  peer.snapshot = {};
  peer.probe();
  EXPECT_EQ(peer.next, Index{3}) << "a lost one starts over";
}

TEST(Progress, ASnapshotThatIsNoLongerNeededLeavesNothingBehind) {
  Progress peer;
  peer.await_snapshot({8}, 0);
  EXPECT_TRUE(peer.advance({5}));
  peer.replicate();
  EXPECT_EQ(peer.next, Index{6});
  peer.probe();
  EXPECT_EQ(peer.next, Index{6}) << "it never said that it has the snapshot";
}

TEST(Progress, ProbingBeginsAtOnceAlsoAfterAProbeThatWasAnswered) {
  Progress peer;
  peer.match = {3};
  peer.paused = true;
  peer.replicate();
  peer.next = {9};
  EXPECT_TRUE(peer.step_back({8}, {5}));
  EXPECT_FALSE(peer.blocked({}));
}

TEST(Progress, OldAcknowledgementsChangeNothing) {
  Progress peer;
  peer.match = {5};
  peer.replicate();
  EXPECT_FALSE(peer.advance({5}));
  EXPECT_TRUE(peer.advance({7}));
  EXPECT_EQ(peer.next, Index{8});
}

}  // namespace
}  // namespace banyan::raft
