// When a replica says that nothing is unfinished: whoever stops it then, and starts it again from its disk,
// loses nothing.
#include <gtest/gtest.h>

#include "core/raft/test_replica.h"

namespace banyan::raft {
namespace {

/// Replica 1 of three, led by replica 2 in term 2, with everything done.
TestReplica follower_at_rest() {
  TestReplica replica({.id = {1}}, Restored::birth({{1}, {2}, {3}}));
  replica.raft.step({{2}, {1}, {2}, Heartbeat{{1}, 1}});
  (void)replica.settle();
  EXPECT_TRUE(replica.raft.at_rest());
  return replica;
}

/// A leader whose two followers have everything.
TestReplica leader_at_rest() {
  TestReplica replica = leader_by_vote_of_two({.id = {1}, .check_quorum = CheckQuorum::kOff});
  (void)replica.settle();
  replica.hear(2, AppendAccepted{{2}});
  replica.hear(3, AppendAccepted{{2}});
  replica.raft.tick();  // the commit index is stored with the next tick
  (void)replica.settle();
  EXPECT_TRUE(replica.raft.at_rest());
  return replica;
}

TEST(AtRest, ALeaderIsNotAtRestWhileAFollowerLacksEntriesOrMessagesWait) {
  TestReplica replica = leader_by_vote_of_two({.id = {1}});
  (void)replica.settle();
  const Index last = replica.raft.log().last();
  replica.raft.step({{2}, {1}, {2}, AppendAccepted{last}});
  replica.raft.step({{3}, {1}, {2}, HeartbeatReply{}});
  replica.raft.tick();  // the commit index is stored with the next tick
  (void)replica.settle();
  EXPECT_FALSE(replica.raft.at_rest()) << "replica 3 was heard, and has not the last entry";
  replica.raft.step({{3}, {1}, {2}, AppendAccepted{last}});
  (void)replica.settle();
  EXPECT_TRUE(replica.raft.at_rest());
  replica.raft.step({{3}, {1}, {1}, Heartbeat{}});
  EXPECT_FALSE(replica.raft.at_rest()) << "an answer to a leader of before is to be sent";
  (void)replica.take();
  EXPECT_TRUE(replica.raft.at_rest());
}

TEST(AtRest, NotWhileAnAnswerToAReadIsToBeHandedOut) {
  TestReplica replica = follower_at_rest();
  replica.hear(2, ReadReply{7, {1}});
  EXPECT_FALSE(replica.raft.at_rest());
  (void)replica.take();
  EXPECT_TRUE(replica.raft.at_rest());
}

TEST(AtRest, NotWhileAMessageHasWaitedForAWriteAndIsNotSent) {
  TestReplica replica = follower_at_rest();
  replica.raft.step({{3}, {1}, {3}, Append{{1}, {1}, {1}, {}}});
  (void)replica.take();
  replica.finish_write();
  EXPECT_FALSE(replica.raft.at_rest()) << "the leader waits for the answer";
  EXPECT_EQ(count_sent<AppendAccepted>(replica.take().messages, 3), 1U);
  EXPECT_TRUE(replica.raft.at_rest());
}

TEST(AtRest, NotBeforeWhatIsCommittedIsApplied) {
  TestReplica replica = follower_at_rest();
  replica.hear(2, Append{{1}, {1}, {2}, {{{2}, {2}, EntryType::kCommand, Blob("x")}}});
  for (int round = 0; round < 2; ++round) {
    (void)replica.take();
    while (!replica.writes.empty()) replica.finish_write();
  }
  ASSERT_EQ(replica.tasks.size(), 1U);
  EXPECT_FALSE(replica.raft.at_rest());
  (void)replica.finish_task();
  EXPECT_TRUE(replica.raft.at_rest());
}

TEST(AtRest, NotBeforeTheDiskKnowsTheCommitIndex) {
  TestReplica replica = follower_at_rest();
  replica.hear(2, Append{{1}, {1}, {1}, {{{2}, {2}, EntryType::kCommand, Blob("x")}}});
  (void)replica.settle();
  EXPECT_FALSE(replica.raft.at_rest()) << "the entry may still be replaced";
  replica.hear(2, Heartbeat{{2}, 2});
  (void)replica.settle();
  EXPECT_FALSE(replica.raft.at_rest()) << "a restart would not know that the entry is committed";
  replica.raft.tick();
  (void)replica.settle();
  EXPECT_TRUE(replica.raft.at_rest());
}

TEST(AtRest, NotWithoutALeader) {
  TestReplica replica = follower_at_rest();
  replica.raft.forget_leader();
  (void)replica.settle();
  EXPECT_FALSE(replica.raft.at_rest());
}

TEST(AtRest, NotInAJointPhase) {
  TestReplica replica = leader_of_one({.id = {1}});
  const auto change = [&](const Change& what) {
    ASSERT_TRUE(replica.raft.propose_change(what).has_value());
    (void)replica.settle();
    replica.raft.tick();
    (void)replica.settle();
  };
  change({Transition::kJointExplicit, {{ChangeKind::kAddVoter, {1}}}, {}});
  EXPECT_FALSE(replica.raft.at_rest());
  change({});
  EXPECT_TRUE(replica.raft.at_rest());
}

TEST(AtRest, NotWhileAReadWaitsForAQuorum) {
  TestReplica replica = leader_at_rest();
  ASSERT_TRUE(replica.raft.read_index(7).has_value());
  (void)replica.settle();
  EXPECT_FALSE(replica.raft.at_rest());
  replica.hear(2, HeartbeatReply{2});
  EXPECT_EQ(replica.take().reads.size(), 1U);
  EXPECT_TRUE(replica.raft.at_rest());
}

TEST(AtRest, NotWhileTheLeadIsHandedOver) {
  TestReplica replica = leader_at_rest();
  ASSERT_TRUE(replica.raft.transfer_leadership({2}).has_value());
  (void)replica.settle();
  EXPECT_FALSE(replica.raft.at_rest());
}

TEST(AtRest, NotWhenAFollowerWasNotHeardForAnElectionTimeout) {
  TestReplica replica = leader_at_rest();
  for (int tick = 0; tick < 12; ++tick) replica.raft.tick();
  replica.hear(2, HeartbeatReply{1});
  replica.hear(3, HeartbeatReply{1});
  (void)replica.settle();
  EXPECT_TRUE(replica.raft.at_rest());
  for (int tick = 0; tick < 9; ++tick) replica.raft.tick();
  replica.hear(3, HeartbeatReply{1});
  (void)replica.settle();
  EXPECT_TRUE(replica.raft.at_rest());
  replica.raft.tick();
  (void)replica.settle();
  EXPECT_FALSE(replica.raft.at_rest()) << "replica 2 may have lost what it had, or be gone";
}

}  // namespace
}  // namespace banyan::raft
