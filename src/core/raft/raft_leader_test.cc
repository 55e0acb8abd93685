// What a leader owes its followers and its driver, one call at a time.
#include <gtest/gtest.h>

#include "core/raft/test_replica.h"

namespace banyan::raft {
namespace {

/// A leader of three in term 2 whose first entry, at 2, is committed by replica 2 and known to replica 3.
TestReplica working_leader(Config config) {
  config.id = {1};
  TestReplica replica = leader_by_vote_of_two(config);
  (void)replica.settle();
  replica.hear(2, AppendAccepted{{2}});
  replica.hear(3, AppendAccepted{{2}});
  (void)replica.settle();
  return replica;
}

void propose_words(TestReplica& replica, int count) {
  for (int word = 0; word < count; ++word) ASSERT_TRUE(replica.raft.propose(Blob("x")).has_value());
}

void pass_ticks(TestReplica& replica, int count) {
  for (int tick = 0; tick < count; ++tick) replica.raft.tick();
}

Flow flow_to(const TestReplica& replica, std::uint64_t id) {
  return replica.raft.status().peers.at({id}).flow;
}

constexpr Config kPatient{.id = {1}, .check_quorum = CheckQuorum::kOff};

TEST(LeaderProposals, TakeTheWholeUncommittedLimitAndGiveItBackWhenTheyCommit) {
  TestReplica replica = working_leader({.max_uncommitted_bytes = 10});
  const auto fits = [&](std::size_t size) {
    return replica.raft.propose(Blob(std::string(size, 'x'))).has_value();
  };
  EXPECT_TRUE(fits(1));
  EXPECT_FALSE(fits(10));
  EXPECT_TRUE(fits(9));
  EXPECT_FALSE(fits(1));
  (void)replica.settle();
  replica.hear(2, AppendAccepted{{4}});  // both at once
  EXPECT_TRUE(fits(6));
  EXPECT_TRUE(fits(4));
}

TEST(LeaderProposals, OfAFollowerMayOnlyBeWhatCanBeApplied) {
  TestReplica replica = working_leader({.change_check = ChangeCheck::kByDriver});
  replica.hear(2, Forward{EntryType::kNoop, {}});
  replica.hear(2, Forward{EntryType::kChange, Blob("\xff no change")});
  EXPECT_EQ(replica.raft.log().last(), Index{2});
}

TEST(LeaderProposals, AreTakenFromWhoIsNoMember) {
  TestReplica replica = working_leader({});
  replica.hear(9, Forward{EntryType::kCommand, Blob("x")});
  EXPECT_EQ(replica.raft.log().last(), Index{3}) << "a replica that was removed may not know it yet";
}

TEST(LeaderProposals, OnlyTheCommitOfAForwardedOneIsToldAtOnceUnderQuietCommits) {
  TestReplica replica =
      working_leader({.commit_notice = CommitNotice::kWithNext, .max_uncommitted_bytes = 4});
  const auto appends_after_commit = [&](std::uint64_t index) {
    (void)replica.settle();
    replica.hear(2, AppendAccepted{{index}});
    return count_sent<Append>(replica.settle(), 2);
  };
  ASSERT_TRUE(replica.raft.propose(Blob("abcd")).has_value());
  replica.hear(2, Forward{EntryType::kCommand, Blob("refused")});
  EXPECT_EQ(appends_after_commit(3), 0U) << "nobody waits there";
  replica.hear(2, Forward{EntryType::kCommand, Blob("e")});
  EXPECT_EQ(appends_after_commit(4), 1U);
  ASSERT_TRUE(replica.raft.propose(Blob("f")).has_value());
  EXPECT_EQ(appends_after_commit(5), 0U) << "what it waited for it knows";
}

TEST(LeaderTransfer, IsGivenUpAnElectionTimeoutAfterItBegan) {
  TestReplica replica = leader_by_vote_of_two(kPatient);
  pass_ticks(replica, 7);
  ASSERT_TRUE(replica.raft.transfer_leadership({3}).has_value());
  pass_ticks(replica, 9);
  EXPECT_EQ(replica.raft.status().transfer_to, ReplicaId{3});
  EXPECT_FALSE(replica.raft.propose(Blob("x")).has_value());
  pass_ticks(replica, 1);
  EXPECT_EQ(replica.raft.status().transfer_to, kNobody);
  EXPECT_TRUE(replica.raft.propose(Blob("x")).has_value());
}

TEST(LeaderTransfer, EndsWhenTheSuccessorIsRemovedAndOnlyThen) {
  for (const std::uint64_t successor : {2U, 3U}) {
    TestReplica replica = working_leader({});
    ASSERT_TRUE(
        replica.raft.propose_change({Transition::kAuto, {{ChangeKind::kRemove, {3}}}, {}}).has_value());
    (void)replica.settle();
    replica.hear(2, AppendAccepted{{3}});
    ASSERT_TRUE(replica.raft.transfer_leadership({successor}).has_value());
    (void)replica.settle();
    ASSERT_FALSE(is_voter(replica.raft.membership(), {3}));
    EXPECT_EQ(replica.raft.status().transfer_to, successor == 3 ? kNobody : ReplicaId{2});
  }
}

TEST(LeaderTransfer, ARepeatedAnswerDoesNotCallTheSuccessorAgain) {
  TestReplica replica = working_leader({});
  ASSERT_TRUE(replica.raft.transfer_leadership({2}).has_value());
  EXPECT_EQ(count_sent<TimeoutNow>(replica.settle(), 2), 1U);
  replica.hear(2, AppendAccepted{{2}});
  EXPECT_EQ(count_sent<TimeoutNow>(replica.settle(), 2), 0U);
}

TEST(LeaderMembership, ANewMemberCountsAsAliveAtFirst) {
  TestReplica replica = leader_of_one({.id = {1}});
  pass_ticks(replica, 30);
  ASSERT_TRUE(
      replica.raft.propose_change({Transition::kAuto, {{ChangeKind::kAddVoter, {2}}}, {}}).has_value());
  (void)replica.settle();
  EXPECT_TRUE(replica.raft.status().peers.at({2}).recently_active);
  pass_ticks(replica, 9);
  EXPECT_EQ(replica.raft.role(), Role::kLeader) << "its first answer may take as long as anybody's";
  pass_ticks(replica, 1);
  EXPECT_EQ(replica.raft.role(), Role::kFollower);
}

TEST(LeaderMembership, ASmallerQuorumCommitsAndConfirmsWhatItHasReached) {
  TestReplica replica = leader_by_vote_of_two({.id = {1}}, {{1}, {2}});
  (void)replica.settle();
  replica.hear(2, AppendAccepted{{2}});
  (void)replica.settle();
  ASSERT_TRUE(replica.raft.propose_change({Transition::kAuto, {{ChangeKind::kRemove, {2}}}, {}}).has_value());
  (void)replica.settle();
  replica.hear(2, AppendAccepted{{3}});
  propose_words(replica, 1);
  ASSERT_TRUE(replica.raft.read_index(7).has_value());
  for (int round = 0; round < 2; ++round) {
    (void)replica.take();
    while (!replica.writes.empty()) replica.finish_write();
  }
  ASSERT_EQ(replica.raft.log().commit(), Index{3}) << "replica 2 has not the last entry";
  ASSERT_EQ(replica.tasks.size(), 1U);
  (void)replica.finish_task();
  EXPECT_EQ(replica.raft.log().commit(), Index{4});
  EXPECT_EQ(replica.take().reads, (std::vector<ReadState>{{7, {3}}}));
}

TEST(LeaderMembership, AJointPhaseIsLeftOnce) {
  TestReplica replica = leader_of_one({.id = {1}, .max_apply_bytes = 1});
  const Change change{
      Transition::kAuto, {{ChangeKind::kAddLearner, {2}}, {ChangeKind::kAddLearner, {3}}}, {}};
  ASSERT_TRUE(replica.raft.propose_change(change).has_value());
  propose_words(replica, 2);  // they are applied one by one between the change and its end
  (void)replica.settle();
  EXPECT_FALSE(is_joint(replica.raft.membership()));
  int changes = 0;
  for (auto at = replica.raft.log().change_after({0}); at; at = replica.raft.log().change_after(*at))
    ++changes;
  EXPECT_EQ(changes, 2);
}

TEST(LeaderReads, OfAGroupOfOneAreAnsweredAtOnce) {
  TestReplica replica = leader_of_one({.id = {1}});
  ASSERT_TRUE(replica.raft.read_index(7).has_value());
  EXPECT_EQ(replica.take().reads, (std::vector<ReadState>{{7, {2}}}));
}

TEST(LeaderReads, ANewLeaderHasNoLeaseBeforeAQuorumAnswersARound) {
  TestReplica replica({.id = {1}, .read_mode = ReadMode::kLease}, Restored::birth({{1}, {2}, {3}}));
  replica.raft.step({{2}, {1}, {2}, Heartbeat{{1}, 1}});
  replica.hear(2, TimeoutNow{});
  (void)replica.settle();
  replica.hear(2, VoteReply{Ballot::kElection, true});
  (void)replica.settle();
  replica.hear(2, AppendAccepted{{2}});
  ASSERT_EQ(replica.raft.log().commit(), Index{2});
  ASSERT_TRUE(replica.raft.read_index(7).has_value());
  EXPECT_TRUE(replica.take().reads.empty());
  replica.hear(2, HeartbeatReply{1});
  EXPECT_EQ(replica.take().reads, (std::vector<ReadState>{{7, {2}}}));
}

TEST(LeaderSending, AHeartbeatGoesEveryHeartbeatInterval) {
  Config config = kPatient;
  config.heartbeat_ticks = 3;
  TestReplica replica = leader_by_vote_of_two(config);
  std::vector<int> beats;
  for (int tick = 1; tick <= 9; ++tick) {
    pass_ticks(replica, 1);
    if (count_sent<Heartbeat>(replica.settle(), 2) > 0) beats.push_back(tick);
  }
  EXPECT_EQ(beats, (std::vector<int>{3, 6, 9}));
}

TEST(LeaderSending, UnansweredAppendsStayWithinTheLimitInBytes) {
  const std::uint64_t one = cost({{2}, {3}, EntryType::kCommand, Blob("x")});
  TestReplica replica = working_leader({.max_append_bytes = 1, .max_inflight_bytes = 2 * one + 1});
  propose_words(replica, 9);
  EXPECT_EQ(count_sent<Append>(replica.settle(), 2), 3U);
  replica.hear(2, AppendAccepted{{3}});
  (void)replica.settle();
  EXPECT_EQ(replica.raft.status().peers.at({2}).next, Index{7}) << "one was answered, so one more went";
}

TEST(LeaderSending, StopsForWhoIsUnreachableUntilItAnswersAgain) {
  TestReplica replica = working_leader({});
  propose_words(replica, 1);
  (void)replica.settle();
  replica.hear(2, HeartbeatReply{0});  // it lacks an entry, so one Append is due
  replica.raft.report_unreachable({2});
  EXPECT_EQ(count_sent<Append>(replica.settle(), 2), 0U);
  replica.hear(2, HeartbeatReply{0});
  EXPECT_EQ(count_sent<Append>(replica.settle(), 2), 1U);
}

TEST(LeaderSending, ReportsAboutWhoIsNoMemberChangeNothing) {
  TestReplica replica = working_leader({});
  const Status before = replica.raft.status();
  replica.raft.report_unreachable({9});
  replica.raft.report_snapshot({9}, Delivery::kFailed);
  EXPECT_EQ(replica.raft.status().peers, before.peers);
  EXPECT_TRUE(replica.take().empty());
}

TEST(LeaderAnswers, OfMoreThanTheLogHasAreIgnored) {
  TestReplica replica = working_leader({});
  replica.hear(2, AppendAccepted{{1000}});
  EXPECT_EQ(replica.raft.status().peers.at({2}).match, Index{2});
}

TEST(LeaderAnswers, OnlyTheAnswerToTheProbeEndsProbing) {
  TestReplica replica = working_leader({});
  propose_words(replica, 2);
  (void)replica.settle();
  replica.hear(2, AppendAccepted{{4}});
  replica.raft.report_unreachable({2});
  replica.hear(2, AppendAccepted{{3}});
  EXPECT_EQ(flow_to(replica, 2), Flow::kProbe) << "an answer from before";
  replica.hear(2, AppendAccepted{{4}});
  EXPECT_EQ(flow_to(replica, 2), Flow::kReplicate);
}

/// A leader with entries up to 10, compacted up to 6 with a snapshot at 8, which it has just sent to
/// replica 3.
TestReplica leader_that_sent_a_snapshot() {
  Config config = kPatient;
  config.snapshot_retry_ticks = 10;
  TestReplica replica = working_leader(config);
  replica.raft.report_unreachable({3});
  propose_words(replica, 8);
  (void)replica.settle();
  replica.hear(2, AppendAccepted{{10}});
  (void)replica.settle();
  EXPECT_TRUE(replica.raft.compact({8}, Blob("state"), 2).has_value());
  replica.hear(3, HeartbeatReply{0});
  EXPECT_EQ(count_sent<InstallSnapshot>(replica.settle(), 3), 1U);
  return replica;
}

TEST(LeaderAnswers, ASnapshotIsAwaitedUntilTheLogReachesTheMember) {
  TestReplica replica = leader_that_sent_a_snapshot();
  for (const std::uint64_t match : {3U, 5U}) {
    replica.hear(3, AppendAccepted{{match}});
    EXPECT_EQ(flow_to(replica, 3), Flow::kSnapshot) << "entry " << match + 1 << " is compacted";
  }
  replica.hear(3, AppendAccepted{{6}});
  EXPECT_EQ(flow_to(replica, 3), Flow::kReplicate);
}

TEST(LeaderSending, ASnapshotIsNotSentAgainToWhoIsSilentForAnElectionTimeout) {
  TestReplica silent = leader_that_sent_a_snapshot();
  pass_ticks(silent, 10);
  EXPECT_EQ(count_sent<InstallSnapshot>(silent.settle(), 3), 0U);
  silent.hear(3, HeartbeatReply{0});
  EXPECT_EQ(count_sent<InstallSnapshot>(silent.settle(), 3), 1U);

  TestReplica alive = leader_that_sent_a_snapshot();
  pass_ticks(alive, 1);
  alive.hear(3, HeartbeatReply{0});
  pass_ticks(alive, 9);
  EXPECT_EQ(count_sent<InstallSnapshot>(alive.settle(), 3), 1U);
}

}  // namespace
}  // namespace banyan::raft
