// The contract of the public calls; the protocol itself is in tests/raft/scenarios/ and properties_test.cc.
#include "core/raft/raft.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/raft/test_replica.h"

namespace banyan::raft {
namespace {

Restored stored(std::vector<Entry> entries, HardState state) {
  Restored restored = Restored::birth({{1}, {2}, {3}});
  restored.entries = std::move(entries);
  restored.hard_state = state;
  return restored;
}

Entry entry(std::uint64_t term, std::uint64_t index) {
  return {{term}, {index}, EntryType::kCommand, Blob("x")};
}

TEST(RaftStep, IgnoresWhatIsSaidToAnotherReplica) {
  TestReplica replica({.id = {1}}, Restored::birth({{1}, {2}, {3}}));
  const Term before = replica.raft.term();
  replica.raft.step({{2}, {7}, {9}, Heartbeat{.commit = {30}}});
  EXPECT_EQ(replica.raft.term(), before);
  EXPECT_EQ(replica.raft.leader(), kNobody);
}

TEST(RaftOpen, RefusesWhatNoReplicaCanHaveStored) {
  const Config config{.id = {1}};
  const auto kind = [&](const Restored& restored) {
    const auto opened = Raft::open(config, restored);
    return opened ? "opened" : opened.error().kind == ErrorKind::kCorrupt ? "corrupt" : "other";
  };
  EXPECT_STREQ(kind(stored({entry(1, 2), entry(2, 3)}, {{2}, kNobody, {3}})), "opened");
  EXPECT_STREQ(kind(stored({entry(1, 3)}, {{1}, kNobody, {1}})), "corrupt") << "a gap";
  EXPECT_STREQ(kind(stored({entry(2, 2), entry(1, 3)}, {{2}, kNobody, {1}})), "corrupt") << "falling terms";
  EXPECT_STREQ(kind(stored({entry(1, 2)}, {{1}, kNobody, {3}})), "corrupt") << "a commit beyond the log";
  EXPECT_STREQ(kind(stored({entry(3, 2)}, {{2}, kNobody, {1}})), "corrupt") << "a term behind the log";
}

TEST(RaftOpen, RefusesAConfigurationThatCannotWork) {
  const auto opens = [](Config config) { return Raft::open(config, Restored::birth({{1}})).has_value(); };
  EXPECT_TRUE(opens({.id = {1}}));
  EXPECT_FALSE(opens({.id = kNobody}));
  EXPECT_FALSE(opens({.id = {1}, .election_ticks = 1, .heartbeat_ticks = 1}));
  EXPECT_FALSE(opens({.id = {1}, .heartbeat_ticks = 0}));
  EXPECT_FALSE(opens({.id = {1}, .max_inflight_messages = 0}));
  EXPECT_FALSE(opens({.id = {1}, .check_quorum = CheckQuorum::kOff, .read_mode = ReadMode::kLease}));
}

TEST(RaftOpen, IgnoresStoredEntriesThatTheSnapshotStandsFor) {
  Restored restored = stored({entry(1, 2), entry(1, 3), entry(1, 4)}, {{1}, kNobody, {3}});
  restored.snapshot.index = {3};
  const auto opened = Raft::open({.id = {1}}, restored);
  ASSERT_TRUE(opened.has_value()) << "a crash may come between storing a snapshot and dropping the entries";
  EXPECT_EQ(opened->log().first(), Index{4});
  EXPECT_EQ(opened->log().last(), Index{4});
}

TEST(RaftOpen, TheFirstOutputInstallsTheSnapshotAndWhatIsCommittedAfterIt) {
  Restored restored = stored({entry(1, 2), entry(1, 3)}, {{1}, kNobody, {2}});
  restored.snapshot.data = Blob("state");
  TestReplica replica({.id = {1}}, restored);
  const Output out = replica.take();
  ASSERT_TRUE(out.install.has_value());
  EXPECT_EQ(out.install->data, Blob("state"));
  ASSERT_EQ(out.committed.size(), 1U);
  EXPECT_EQ(out.committed[0].index, Index{2});
  EXPECT_FALSE(out.persist.has_value()) << "what was stored is not stored again";
}

TEST(Raft, ElectionTimeoutsAreRandomWithinBoundsAndRepeatWithTheSeed) {
  const auto ticks_to_campaign = [](std::uint64_t seed) {
    TestReplica replica({.id = {1}, .seed = seed}, Restored::birth({{1}, {2}, {3}}));
    int ticks = 0;
    for (; replica.raft.role() == Role::kFollower; ++ticks) replica.raft.tick();
    return ticks;
  };
  std::set<int> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const int ticks = ticks_to_campaign(seed);
    EXPECT_GE(ticks, 10);
    EXPECT_LT(ticks, 20);
    EXPECT_EQ(ticks, ticks_to_campaign(seed));
    seen.insert(ticks);
  }
  EXPECT_EQ(seen.size(), 10U);
}

TEST(Raft, AProposalIsNamedByItsTermAndIndex) {
  TestReplica replica = leader_of_one({.id = {1}});
  const auto proposed = replica.raft.propose(Blob("x"));
  ASSERT_TRUE(proposed.has_value());
  EXPECT_EQ(*proposed, (Proposed{{2}, {3}}));
}

TEST(Raft, ProposalsBeyondTheUncommittedLimitAreRefusedUntilEarlierOnesCommit) {
  TestReplica replica = leader_of_one({.id = {1}, .max_uncommitted_bytes = 10});
  EXPECT_TRUE(replica.raft.propose(Blob(std::string(50, 'x'))).has_value()) << "one always goes";
  const auto refused = replica.raft.propose(Blob("y"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnavailable);
  (void)replica.take();
  replica.finish_write();
  EXPECT_TRUE(replica.raft.propose(Blob("y")).has_value());
}

TEST(Raft, WaitingReadsAreBounded) {
  TestReplica replica({.id = {1}, .max_pending_reads = 2}, Restored::birth({{1}}));
  replica.raft.campaign();
  (void)replica.take();
  replica.finish_write();
  ASSERT_EQ(replica.raft.role(), Role::kLeader);
  EXPECT_TRUE(replica.raft.read_index(1).has_value());
  EXPECT_TRUE(replica.raft.read_index(2).has_value());
  EXPECT_FALSE(replica.raft.read_index(3).has_value());
}

TEST(Raft, CompactionNeedsAnAppliedIndexAndANewerOne) {
  TestReplica replica = leader_of_one({.id = {1}});
  EXPECT_EQ(replica.raft.compact({9}, {}, 0).error().kind, ErrorKind::kInvalid);
  EXPECT_TRUE(replica.raft.compact({2}, Blob("s"), 0).has_value());
  EXPECT_EQ(replica.raft.compact({2}, {}, 0).error().kind, ErrorKind::kConflict);
  const Output out = replica.take();
  ASSERT_TRUE(out.persist.has_value());
  EXPECT_EQ(out.persist->snapshot->data, Blob("s"));
  EXPECT_FALSE(out.install.has_value()) << "the driver has this state already";
}

TEST(Raft, MessagesForOthersAndFromStrangersChangeNothing) {
  TestReplica replica = leader_of_one({.id = {1}});
  const Term term = replica.raft.term();
  replica.raft.step({{2}, {7}, {99}, Heartbeat{}});
  replica.raft.step({{1}, {1}, {99}, Heartbeat{}});
  EXPECT_EQ(replica.raft.term(), term);
  replica.raft.step({{9}, {1}, term, AppendAccepted{{1000}}});
  EXPECT_EQ(replica.raft.role(), Role::kLeader);
}

TEST(Raft, AnAppendWithAGapInsideIsIgnored) {
  TestReplica replica({.id = {1}}, Restored::birth({{1}, {2}, {3}}));
  replica.raft.step({{2}, {1}, {2}, Append{{1}, {1}, {1}, {entry(2, 2), entry(2, 4)}}});
  EXPECT_EQ(replica.raft.log().last(), Index{1});
}

TEST(RaftDeathTest, StopsWhenAcknowledgedEntriesVanished) {
  TestReplica replica({.id = {1}}, Restored::birth({{1}, {2}, {3}}));
  EXPECT_DEATH(replica.raft.step({{2}, {1}, {2}, Heartbeat{{5}, 1}}), "entries were lost");
}

TEST(RaftDeathTest, StopsWhenADriverReportsWhatItWasNotGiven) {
  TestReplica replica({.id = {1}}, Restored::birth({{1}, {2}, {3}}));
  EXPECT_DEATH(replica.raft.persisted({1}), "never issued");
  EXPECT_DEATH(replica.raft.applied({5}), "never handed out");
}

/// A follower of replica 2 that has entries 2 to 6 of term 1, committed and applied up to `committed`.
TestReplica follower_of_six(std::uint64_t committed) {
  TestReplica replica({.id = {1}}, Restored::birth({{1}, {2}, {3}}));
  replica.raft.step(
      {{2},
       {1},
       {1},
       Append{{1}, {1}, {committed}, {entry(1, 2), entry(1, 3), entry(1, 4), entry(1, 5), entry(1, 6)}}});
  (void)replica.settle();
  return replica;
}

Snapshot snapshot_at(std::uint64_t index) {
  return {{index}, {1}, Restored::birth({{1}, {2}, {3}}).snapshot.membership, Blob("state")};
}

TEST(Raft, ASnapshotThatComesLateTakesNothingBack) {
  TestReplica replica = follower_of_six(6);
  ASSERT_TRUE(replica.raft.compact({5}, Blob("own"), 0).has_value());
  (void)replica.take();
  for (const std::uint64_t index : {3U, 5U, 6U}) {
    replica.raft.step({{2}, {1}, {1}, InstallSnapshot{snapshot_at(index)}});
    EXPECT_EQ(replica.raft.log().last(), Index{6}) << index;
    EXPECT_EQ(replica.raft.log().commit(), Index{6}) << index;
    EXPECT_FALSE(replica.take().install.has_value()) << index;
  }
}

TEST(Raft, AnAppendOfWhatIsCommittedIsAnsweredWithTheCommitIndex) {
  TestReplica replica = follower_of_six(6);
  ASSERT_TRUE(replica.raft.compact({5}, Blob("own"), 0).has_value());
  (void)replica.settle();
  replica.hear(2, Append{{2}, {1}, {6}, {entry(1, 3)}});
  const std::vector<Message> sent = replica.settle();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].body, Body(AppendAccepted{{6}})) << "whether or not the entries are still in memory";
}

TEST(Raft, ASnapshotOfWhatTheLogHasCommitsItAndKeepsWhatFollows) {
  TestReplica replica = follower_of_six(2);
  replica.raft.step({{2}, {1}, {1}, InstallSnapshot{snapshot_at(4)}});
  EXPECT_EQ(replica.raft.log().last(), Index{6});
  EXPECT_EQ(replica.raft.log().commit(), Index{4});
  EXPECT_FALSE(replica.take().install.has_value());
}

TEST(Raft, AVoteIsGivenOnceInATermAndToldAgain) {
  TestReplica replica({.id = {1}, .check_quorum = CheckQuorum::kOff}, Restored::birth({{1}, {2}, {3}}));
  const auto grants = [&](std::uint64_t candidate, std::uint64_t term, Ballot ballot = Ballot::kElection) {
    replica.raft.step({{candidate}, {1}, {term}, VoteRequest{ballot, {1}, {1}}});
    bool granted = false;
    for (Output out = replica.take(); !out.empty(); out = replica.take()) {
      for (const Message& message : out.messages) {
        const auto* reply = std::get_if<VoteReply>(&message.body);
        granted = granted || (reply != nullptr && reply->granted);
      }
      while (!replica.writes.empty()) replica.finish_write();
    }
    return granted;
  };
  EXPECT_TRUE(grants(2, 2));
  EXPECT_TRUE(grants(2, 2)) << "the first answer may be lost";
  EXPECT_FALSE(grants(3, 2));
  EXPECT_FALSE(grants(3, 2, Ballot::kPoll)) << "a poll for this term could not be won either";
  EXPECT_TRUE(grants(3, 3, Ballot::kPoll)) << "a poll promises nothing";
  EXPECT_EQ(replica.raft.term(), Term{2});
  replica.raft.step({{2}, {1}, {4}, Heartbeat{{1}, 1}});
  EXPECT_FALSE(grants(3, 4)) << "the term has a leader";
}

TEST(Raft, ATransferToWhoLeadsOrIsChosenAlreadyBeginsNothing) {
  TestReplica replica = leader_by_vote_of_two({.id = {1}});
  EXPECT_TRUE(replica.raft.transfer_leadership({1}).has_value());
  EXPECT_EQ(replica.raft.status().transfer_to, kNobody);
  (void)replica.take();
  const auto told = [&] {
    const Output out = replica.take();
    return std::ranges::count_if(out.messages, [](const Message& message) {
      return std::holds_alternative<TimeoutNow>(message.body);
    });
  };
  replica.raft.step({{2}, {1}, {2}, AppendAccepted{replica.raft.log().last()}});
  (void)replica.take();
  EXPECT_TRUE(replica.raft.transfer_leadership({2}).has_value());
  EXPECT_EQ(told(), 1);
  EXPECT_TRUE(replica.raft.transfer_leadership({2}).has_value());
  EXPECT_EQ(told(), 0) << "it knows";
}

TEST(Raft, AVoteForItselfCountsOnceItIsDurableInThisTerm) {
  TestReplica replica({.id = {1}, .pre_vote = PreVote::kOff}, Restored::birth({{1}, {2}, {3}}));
  replica.raft.campaign();
  (void)replica.take();
  replica.raft.campaign();
  (void)replica.take();
  ASSERT_EQ(replica.raft.term(), Term{3});
  replica.finish_write();
  replica.raft.step({{2}, {1}, {3}, VoteReply{Ballot::kElection, true}});
  EXPECT_EQ(replica.raft.role(), Role::kCandidate)
      << "a crash now would lose its vote, and it could give another";
  replica.finish_write();
  EXPECT_EQ(replica.raft.role(), Role::kLeader);
}

TEST(Raft, StatusTellsHowLongAgoAQuorumWasHeard) {
  TestReplica replica = leader_by_vote_of_two({.id = {1}, .check_quorum = CheckQuorum::kOff});
  for (int tick = 0; tick < 7; ++tick) replica.raft.tick();
  EXPECT_EQ(replica.raft.status().ticks_since_quorum, 7U);
  replica.raft.step({{3}, {1}, {2}, HeartbeatReply{1}});
  replica.raft.tick();
  const Status status = replica.raft.status();
  EXPECT_EQ(status.ticks_since_quorum, 1U);
  EXPECT_TRUE(status.peers.at({3}).recently_active);
  EXPECT_FALSE(status.peers.at({2}).recently_active);
}

TEST(Raft, StatusTellsTheVoteTheSuccessorAndWhatIsOnTheOwnDisk) {
  TestReplica replica = leader_by_vote_of_two({.id = {1}});
  EXPECT_EQ(replica.raft.status().peers.at({1}).match, replica.raft.status().durable);
  ASSERT_TRUE(replica.raft.transfer_leadership({3}).has_value());
  EXPECT_EQ(replica.raft.status().transfer_to, ReplicaId{3});
  EXPECT_EQ(replica.raft.status().vote, ReplicaId{1});
}

TEST(Output, IsEmptyWhenThereIsNothingToDoForTheDriver) {
  EXPECT_TRUE(Output{}.empty());
  const auto with = [](auto set) {
    Output out;
    set(out);
    return out.empty();
  };
  EXPECT_FALSE(with([](Output& out) { out.messages.push_back({}); }));
  EXPECT_FALSE(with([](Output& out) { out.persist = Persist{}; }));
  EXPECT_FALSE(with([](Output& out) { out.install = Snapshot{}; }));
  EXPECT_FALSE(with([](Output& out) { out.committed.push_back({}); }));
  EXPECT_FALSE(with([](Output& out) { out.reads.push_back({}); }));
  EXPECT_FALSE(with([](Output& out) { out.role = RoleChange{}; }));
}

}  // namespace
}  // namespace banyan::raft
