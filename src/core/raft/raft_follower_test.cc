// How a replica that does not lead waits, votes and follows, and which terms it believes.
#include <gtest/gtest.h>

#include "core/raft/test_replica.h"

namespace banyan::raft {
namespace {

TestReplica newborn(Config config = {}) {
  config.id = {1};
  TestReplica replica(config, Restored::birth({{1}, {2}, {3}}));
  (void)replica.settle();
  return replica;
}

/// How many ticks of silence make this follower campaign.
int patience(Raft follower) {
  int ticks = 0;
  for (; follower.role() == Role::kFollower; ++ticks) follower.tick();
  return ticks;
}

/// Whether it waits its whole timeout again after `event`, which comes in the last moment.
void expect_new_patience(TestReplica replica, std::uint64_t from, const Body& event) {
  const int ticks = patience(replica.raft);
  for (int tick = 1; tick < ticks; ++tick) replica.raft.tick();
  replica.hear(from, event);
  EXPECT_EQ(patience(replica.raft), ticks);
}

TEST(FollowerTimer, StartsAgainWithEveryWordOfTheLeader) {
  TestReplica replica = newborn();
  replica.raft.step({{3}, {1}, {2}, VoteRequest{Ballot::kElection, {0}, {0}}});  // the term begins
  expect_new_patience(replica, 2, Heartbeat{{1}, 2});
  expect_new_patience(replica, 2, Append{{1}, {1}, {1}, {}});
}

TEST(FollowerTimer, StartsAgainWithAVoteSoThatTheCandidateHasTimeToWin) {
  TestReplica replica = newborn();
  replica.raft.step({{2}, {1}, {2}, VoteRequest{Ballot::kElection, {0}, {0}}});  // its log is behind: no vote
  ASSERT_EQ(replica.raft.status().vote, kNobody);
  expect_new_patience(replica, 3, VoteRequest{Ballot::kElection, {1}, {1}});
}

TEST(Candidate, AsksVotersAndNoLearner) {
  Restored birth = Restored::birth({{1}, {2}, {3}});
  birth.snapshot.membership.learners = {{4}};
  TestReplica replica({.id = {1}}, birth);
  replica.raft.campaign();
  const std::vector<Message> sent = replica.settle();
  EXPECT_EQ(count_sent<VoteRequest>(sent, 2), 1U);
  EXPECT_EQ(count_sent<VoteRequest>(sent, 4), 0U);
}

TEST(Candidate, APollIsNotCutShortByTheCallOfALeaderThatItHasGivenUp) {
  TestReplica replica = newborn();
  replica.raft.step({{2}, {1}, {2}, Heartbeat{{1}, 1}});
  replica.raft.campaign();
  ASSERT_EQ(replica.raft.role(), Role::kPreCandidate);
  replica.hear(2, TimeoutNow{});
  EXPECT_EQ(replica.raft.role(), Role::kPreCandidate);
  EXPECT_EQ(replica.raft.term(), Term{2});
}

TEST(Candidate, FollowsWhoSendsASnapshotInItsTerm) {
  TestReplica replica = newborn({.pre_vote = PreVote::kOff});
  replica.raft.campaign();
  ASSERT_EQ(replica.raft.term(), Term{2});
  replica.hear(3, InstallSnapshot{{{1}, {1}, replica.raft.membership(), {}}});
  EXPECT_EQ(replica.raft.leader(), ReplicaId{3});
}

TEST(Leader, ThatWonLateIsInItsOwnLease) {
  TestReplica replica = newborn({.pre_vote = PreVote::kOff});
  Term term;
  do {  // until it is a candidate for longer than the shortest timeout
    replica.raft.campaign();
    term = replica.raft.term();
    for (int tick = 0; tick < 10; ++tick) replica.raft.tick();
  } while (replica.raft.term() != term);
  (void)replica.settle();
  replica.hear(2, VoteReply{Ballot::kElection, true});
  ASSERT_EQ(replica.raft.role(), Role::kLeader);
  replica.raft.step({{3}, {1}, term + 5, VoteRequest{Ballot::kElection, {9}, {9}}});
  EXPECT_EQ(replica.raft.term(), term) << "a replica that was cut off must not depose it";
  EXPECT_EQ(replica.raft.role(), Role::kLeader);
}

TEST(Leader, ThatStartsFromASnapshotMayChangeTheMembershipBeforeThatIsApplied) {
  TestReplica replica = newborn();
  const Snapshot snapshot{{9}, {2}, replica.raft.membership(), Blob("state")};
  replica.raft.step({{2}, {1}, {2}, InstallSnapshot{snapshot}});
  (void)replica.take();
  replica.finish_write();
  replica.hear(2, TimeoutNow{});
  (void)replica.take();
  replica.finish_write();
  replica.hear(2, VoteReply{Ballot::kElection, true});
  ASSERT_EQ(replica.raft.role(), Role::kLeader);
  ASSERT_EQ(replica.raft.status().applied, Index{1});
  EXPECT_TRUE(
      replica.raft.propose_change({Transition::kAuto, {{ChangeKind::kAddVoter, {4}}}, {}}).has_value())
      << "the membership of the snapshot is in effect";
}

TEST(Follower, CannotNameTheIndexOfAProposalThatItForwards) {
  TestReplica replica = newborn();
  replica.raft.step({{2}, {1}, {2}, Heartbeat{{1}, 1}});
  const auto proposed = replica.raft.propose(Blob("x"));
  ASSERT_TRUE(proposed.has_value());
  EXPECT_EQ(*proposed, (Proposed{{2}, {0}}));
}

TEST(Terms, RequestsToTheLeaderAndAnswersToReadsAreTakenFromAnyTerm) {
  TestReplica leader = leader_by_vote_of_two({.id = {1}});
  (void)leader.settle();
  leader.hear(2, AppendAccepted{{2}});
  (void)leader.settle();
  const auto hear_late = [](TestReplica& replica, Body body) {
    replica.raft.step({{2}, {1}, {1}, std::move(body)});
  };
  hear_late(leader, Forward{EntryType::kCommand, Blob("x")});
  EXPECT_EQ(leader.raft.log().last(), Index{3});
  hear_late(leader, ReadRequest{7});
  EXPECT_EQ(count_sent<Heartbeat>(leader.settle(), 2), 1U);
  leader.hear(2, HeartbeatReply{1});
  EXPECT_EQ(count_sent<ReadReply>(leader.settle(), 2), 1U);
  hear_late(leader, TransferRequest{{3}});
  EXPECT_EQ(leader.raft.status().transfer_to, ReplicaId{3});

  TestReplica follower = newborn();
  follower.raft.step({{3}, {1}, {2}, Heartbeat{{1}, 1}});
  hear_late(follower, ReadReply{8, {1}});
  EXPECT_EQ(follower.take().reads, (std::vector<ReadState>{{8, {1}}}));
}

TEST(Terms, EveryVoteReplyOfANewerTermTellsItButAGrantedPoll) {
  const auto term_after = [](Ballot ballot, bool granted) {
    TestReplica replica = newborn();
    replica.raft.step({{2}, {1}, {9}, VoteReply{ballot, granted}});
    return replica.raft.term();
  };
  EXPECT_EQ(term_after(Ballot::kPoll, true), Term{1}) << "nobody has begun the term of a poll";
  EXPECT_EQ(term_after(Ballot::kPoll, false), Term{9});
  EXPECT_EQ(term_after(Ballot::kElection, true), Term{9});
  EXPECT_EQ(term_after(Ballot::kElection, false), Term{9});
}

TEST(Terms, ALeaderOfBeforeLearnsTheTermAlsoFromItsSnapshot) {
  TestReplica replica = newborn();
  replica.raft.step({{2}, {1}, {2}, Heartbeat{{1}, 1}});
  (void)replica.settle();
  replica.raft.step({{3}, {1}, {1}, InstallSnapshot{{{5}, {1}, replica.raft.membership(), {}}}});
  EXPECT_EQ(count_sent<TermNotice>(replica.settle(), 3), 1U);
  EXPECT_EQ(replica.raft.log().last(), Index{1});
}

}  // namespace
}  // namespace banyan::raft
