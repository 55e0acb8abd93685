#include "node/group_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/test_group.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

const ReplicaId kOne{1}, kTwo{2}, kThree{3}, kFour{4};
const HostId kH1{"h1"}, kH2{"h2"}, kH3{"h3"}, kH4{"h4"};

class GroupLogTest : public ::testing::Test {
 protected:
  GroupLogTest() { group_.tends = false; }

  GroupLog& log(std::uint64_t number) { return *group_.at(number).log; }

  TestGroup group_{3};
};

TEST_F(GroupLogTest, KnowsWhereMembersAreAlsoWhenTheyHaveLeft) {
  EXPECT_EQ(log(1).host_of(kTwo), kH2);
  EXPECT_EQ(log(1).host_of(kFour), HostId{});
  log(1).learn_hosts({{kOne, kH1}, {kTwo, kH2}, {kFour, kH4}});
  EXPECT_EQ(log(1).host_of(kThree), kH3);
  EXPECT_THAT(log(1).peers(), ElementsAre(kH2, kH3, kH4));
  group_.at(1).context.set_reachable(kH2, false);
  EXPECT_THAT(log(1).peers(), ElementsAre(kH3, kH4));
}

TEST_F(GroupLogTest, AMemberThatItHearsForTheFirstTimeIsWhereTheMessageCameFrom) {
  log(2).on_message(kH4, {.from = kFour, .to = kTwo, .term = log(2).term(), .body = raft::VoteReply{}});
  EXPECT_EQ(log(2).host_of(kFour), kH4);
  log(2).on_message(kH4, {.from = kOne, .to = kTwo, .term = log(2).term(), .body = raft::VoteReply{}});
  EXPECT_EQ(log(2).host_of(kOne), kH1) << "what the session says of it counts";
}

TEST_F(GroupLogTest, NoHostSpeaksForTheMemberOfAnotherOne) {
  const raft::Term term = log(2).term();
  log(2).on_message(kH4, {.from = kThree, .to = kTwo, .term = {term.value + 5}, .body = raft::VoteReply{}});
  EXPECT_EQ(log(2).term(), term);
  EXPECT_FALSE(log(2).heard_at(kThree).has_value());
  log(2).on_message(kH3, {.from = kThree, .to = kTwo, .term = term, .body = raft::VoteReply{}});
  EXPECT_TRUE(log(2).heard_at(kThree).has_value());
}

TEST_F(GroupLogTest, KnowsWhenItHeardAMember) {
  EXPECT_TRUE(log(1).heard_at(kTwo).has_value());
  EXPECT_FALSE(log(2).heard_at(kThree).has_value()) << "two followers do not talk";
  const Time before = *log(1).heard_at(kTwo);
  group_.advance(1s);
  EXPECT_GT(*log(1).heard_at(kTwo), before);
}

TEST_F(GroupLogTest, LeadsSinceABatchSaidSo) {
  EXPECT_TRUE(log(1).leads());
  EXPECT_TRUE(log(1).leading_since().has_value());
  EXPECT_FALSE(log(2).leading_since().has_value());
  ASSERT_TRUE(log(1).hand_lead_to(kTwo));
  group_.advance(200ms);
  EXPECT_FALSE(log(1).leading_since().has_value());
  EXPECT_TRUE(log(2).leading_since().has_value());
}

TEST_F(GroupLogTest, AFollowerWhoseLeadersConnectionBreaksAsksForTheLeadSoon) {
  EXPECT_FALSE(log(2).on_peer_down(kH3)) << "no leader is there";
  EXPECT_FALSE(log(1).on_peer_down(kH2)) << "it leads itself";
  group_.lose(1);
  EXPECT_TRUE(log(2).on_peer_down(kH1));
  EXPECT_EQ(log(2).leader(), raft::kNobody);
  group_.advance(150ms);  // sooner than the shortest silence after which one campaigns
  EXPECT_EQ(group_.leader(), 0U) << "the other one still hears its leader";
  EXPECT_TRUE(log(3).on_peer_down(kH1));
  group_.advance(250ms);
  EXPECT_NE(group_.leader(), 0U);
}

TEST_F(GroupLogTest, OnlyAFollowerWithoutALeaderAsksToBeElected) {
  const raft::Term term = log(2).term();
  log(2).campaign_if_lost();
  group_.settle();
  EXPECT_EQ(log(2).term(), term);
  group_.lose(1);
  ASSERT_TRUE(log(2).on_peer_down(kH1));
  ASSERT_TRUE(log(3).on_peer_down(kH1));
  log(2).campaign_if_lost();
  group_.settle();
  EXPECT_EQ(group_.leader(), 2U);
}

TEST_F(GroupLogTest, NobodyTakesWhatIsProposedWithoutALeader) {
  group_.lose(1);
  ASSERT_TRUE(log(2).on_peer_down(kH1));
  EXPECT_FALSE(log(2).propose(session::Clear{1}));
  EXPECT_FALSE(log(2).propose_members({{{kTwo, kH2}}, 1}));
  EXPECT_FALSE(log(2).read(5));
}

TEST_F(GroupLogTest, OneChangeOfTheMembersIsUnderWayAtATime) {
  const session::Members fewer{{kOne, kH1}, {kTwo, kH2}};
  group_.lose(2);
  group_.lose(3);
  EXPECT_TRUE(log(1).propose_members({fewer, 1}));
  EXPECT_FALSE(log(1).propose_members({fewer, 2}));
  group_.find(2);
  group_.find(3);
  group_.advance(500ms);
  EXPECT_TRUE(log(1).are_members_settled());
  EXPECT_EQ(group_.at(1).session->members(), fewer);
  EXPECT_TRUE(log(1).propose_members({fewer, 2})) << "the same members, by a later wish";
  group_.settle();
  EXPECT_EQ(group_.at(1).session->members_wish(), 2U);
}

TEST_F(GroupLogTest, ASnapshotIsDueAfterManyEntriesOrBytes) {
  EXPECT_FALSE(log(1).is_compaction_due());
  const std::uint64_t many = group_.at(1).context.sizes().compact_entries;
  for (std::uint64_t n = 0; n <= many; ++n) ASSERT_TRUE(log(1).propose(session::Clear{n}));
  group_.settle();
  EXPECT_TRUE(log(1).is_compaction_due());
  log(1).compact(group_.at(1).session->snapshot());
  EXPECT_FALSE(log(1).is_compaction_due());
  const std::uint64_t bytes = group_.at(1).context.sizes().compact_bytes;
  ASSERT_TRUE(log(1).propose(session::TakeOver{Epoch{99}, std::string(bytes, 'x')}));
  group_.settle();
  EXPECT_TRUE(log(1).is_compaction_due());
}

TEST_F(GroupLogTest, FollowersAgreeWithTheRestOfTheirLeaderOnly) {
  group_.advance(2s);
  EXPECT_TRUE(log(1).at_rest());
  const Hibernate rest = log(1).rest();
  EXPECT_TRUE(log(2).agrees(kH1, rest));
  EXPECT_FALSE(log(2).agrees(kH3, rest)) << "it does not lead";
  EXPECT_FALSE(log(1).agrees(kH1, rest)) << "it leads itself";
  EXPECT_FALSE(log(2).agrees(kH1, {rest.session, rest.term, {rest.last.value + 1}}));
  EXPECT_FALSE(log(2).agrees(kH1, {rest.session, {rest.term.value + 1}, rest.last}));
}

/// The log that a disk has kept of an earlier life.
StoredReplica stored(HostContext& host, TestGroup::Member& member) {
  member.log->keep_hosts();
  member.log->compact(member.session->snapshot());
  (void)member.log->take();
  StoredReplica kept{.session = {"s"}};
  for (HostEffect& effect : host.finish()) {
    auto* const batch = std::get_if<Persist>(&effect);
    if (batch == nullptr) continue;
    for (DiskWrite& write : batch->writes) {
      if (auto* const meta = std::get_if<PutMeta>(&write)) kept.meta = meta->meta;
      if (auto* const hard = std::get_if<PutHardState>(&write)) kept.hard_state = hard->hard_state;
      if (auto* const snapshot = std::get_if<PutSnapshot>(&write)) kept.snapshot = snapshot->snapshot;
    }
  }
  return kept;
}

TEST_F(GroupLogTest, ALogOfAnEarlierLifeHasCaughtUpOnceALeaderHasSpoken) {
  ASSERT_TRUE(log(2).caught_up()) << "a founder has nothing to catch up with";
  ASSERT_TRUE(log(1).propose(session::Clear{1}));
  group_.settle();
  HostContext host({.id = kH2, .timing = {}, .sizes = {}}, Incarnation{9}, 9);
  const StoredReplica kept = stored(group_.at(2).context, group_.at(2));
  const auto apply = [](GroupLog& log) {
    while (auto batch = log.take())
      if (batch->install) log.on_installed(batch->install->index);
  };
  const raft::Message heartbeat{.from = kOne, .to = kTwo, .term = log(1).term(), .body = raft::Heartbeat{}};
  auto again = GroupLog::recover(host, kept);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->id(), kTwo);
  EXPECT_EQ(again->host_of(kThree), kH3) << "it was kept";
  again->on_message(kH1, heartbeat);
  again->on_ticks(1);
  EXPECT_FALSE(again->caught_up()) << "nothing of it is applied";
  apply(*again);
  again->on_ticks(1);
  EXPECT_TRUE(again->caught_up());

  auto silent = GroupLog::recover(host, kept);
  ASSERT_TRUE(silent.has_value());
  apply(*silent);
  silent->on_ticks(1);
  EXPECT_FALSE(silent->caught_up()) << "no leader has spoken";
  silent->on_message(kH1, heartbeat);
  silent->on_ticks(1);
  EXPECT_TRUE(silent->caught_up());
}

TEST_F(GroupLogTest, WhatNoReplicaHasWrittenIsRefused) {
  HostContext host({.id = kH2, .timing = {}, .sizes = {}}, Incarnation{9}, 9);
  const auto refused = GroupLog::recover(host, {.session = {"s"}, .meta = std::string("nonsense")});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kCorrupt);
  EXPECT_THAT(refused.error().message, ::testing::StartsWith("session s: "));
}

TEST_F(GroupLogTest, WhatIsNotWholeOnTheDiskIsRefused) {
  ASSERT_TRUE(log(1).propose(session::Clear{1}));
  group_.settle();
  HostContext host({.id = kH2, .timing = {}, .sizes = {}}, Incarnation{9}, 9);
  const StoredReplica kept = stored(group_.at(2).context, group_.at(2));
  ASSERT_TRUE(GroupLog::recover(host, kept).has_value());
  StoredReplica state = kept;
  state.snapshot->data = Blob("nonsense");
  EXPECT_FALSE(GroupLog::recover(host, std::move(state)).has_value());
  StoredReplica log = kept;
  log.entries = {{.term = {1}, .index = {log.snapshot->index.value + 7}}};
  EXPECT_FALSE(GroupLog::recover(host, std::move(log)).has_value()) << "there is a gap";
}

TEST_F(GroupLogTest, ItsTimeoutsAreThoseOfTheHost) {
  const auto ticks_until_it_campaigns = [](int election_ticks) {
    Timing timing;
    timing.election_ticks = election_ticks;
    HostContext host({.id = kH1, .timing = timing, .sizes = {}}, Incarnation{9}, 9);
    auto log = GroupLog::open(host, {.session = {"s"},
                                     .replica = kOne,
                                     .spec = {.kernel_name = "python3"},
                                     .members = {{kOne, kH1}, {kTwo, kH2}}});
    for (int ticks = 1; ticks < 1000; ++ticks) {
      log->on_ticks(1);
      while (auto batch = log->take()) {
        if (batch->install) log->on_installed(batch->install->index);
        if (!batch->messages.empty()) return ticks;
      }
    }
    return 0;
  };
  EXPECT_LE(ticks_until_it_campaigns(5), 10);
  EXPECT_GE(ticks_until_it_campaigns(50), 50);
}

/// The writes that wait for the disk.
std::vector<DiskWrite> writes_of(HostContext& host) {
  std::vector<DiskWrite> writes;
  for (HostEffect& effect : host.finish())
    if (auto* const batch = std::get_if<Persist>(&effect))
      writes.insert(writes.end(), batch->writes.begin(), batch->writes.end());
  return writes;
}

TEST(GroupLogs, AFounderWritesItsBeginningToTheDisk) {
  HostContext host({.id = kH2, .timing = {}, .sizes = {}}, Incarnation{9}, 9);
  const session::Members members{{kOne, kH1}, {kTwo, kH2}};
  const auto log = GroupLog::open(host, {.session = {"s"},
                                         .replica = kTwo,
                                         .spec = {.kernel_name = "python3"},
                                         .members = members,
                                         .founding = {.life = 3, .number = 4}});
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(log->id(), kTwo);
  EXPECT_EQ(log->founding().number, 4U);
  StoredReplica kept{.session = {"s"}};
  for (DiskWrite& write : writes_of(host)) {
    if (auto* const meta = std::get_if<PutMeta>(&write)) kept.meta = meta->meta;
    if (auto* const hard = std::get_if<PutHardState>(&write)) kept.hard_state = hard->hard_state;
    if (auto* const snapshot = std::get_if<PutSnapshot>(&write)) kept.snapshot = snapshot->snapshot;
  }
  ASSERT_TRUE(kept.snapshot.has_value());
  const auto again = GroupLog::recover(host, std::move(kept));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->id(), kTwo);
  EXPECT_EQ(again->host_of(kOne), kH1);
  EXPECT_EQ(again->founding().life, 3U);
  EXPECT_EQ(again->founding().number, 4U);
}

TEST(GroupLogs, WhoJoinsBeginsWithNothing) {
  HostContext host({.id = kH4, .timing = {}, .sizes = {}}, Incarnation{9}, 9);
  auto log = GroupLog::open(host, {.session = {"s"},
                                   .replica = kFour,
                                   .spec = {.kernel_name = "python3"},
                                   .members = {{kOne, kH1}, {kFour, kH4}},
                                   .origin = Origin::kJoining});
  ASSERT_TRUE(log.has_value());
  EXPECT_FALSE(log->take().has_value());
  bool hard = false;
  for (const DiskWrite& write : writes_of(host)) {
    EXPECT_FALSE(std::holds_alternative<PutSnapshot>(write));
    hard |= std::holds_alternative<PutHardState>(write);
  }
  EXPECT_TRUE(hard) << "it is found again";
  log->campaign_if_lost();
  EXPECT_EQ(log->leader(), raft::kNobody) << "it is no voter";
}

TEST_F(GroupLogTest, AMessageForAMemberWhoseHostIsNotKnownIsDropped) {
  log(1).send({{.from = kOne, .to = kFour, .term = log(1).term(), .body = raft::Heartbeat{}}});
  for (const HostEffect& effect : group_.at(1).context.finish())
    EXPECT_FALSE(std::holds_alternative<SendFrame>(effect));
  log(1).send({{.from = kOne, .to = kTwo, .term = log(1).term(), .body = raft::Heartbeat{}}});
  EXPECT_EQ(group_.at(1).context.finish().size(), 1U);
}

TEST_F(GroupLogTest, AFollowerThatHearsItsLeaderAgainDoesNotAskForTheLead) {
  const raft::Term term = log(2).term();
  EXPECT_TRUE(log(2).on_peer_down(kH1));
  group_.advance(500ms);
  EXPECT_EQ(group_.leader(), 1U);
  EXPECT_EQ(log(2).term(), term);
  EXPECT_EQ(log(2).leader(), kOne);
}

TEST_F(GroupLogTest, ASnapshotIsDueAfterExactlySoManyEntries) {
  log(1).compact(group_.at(1).session->snapshot());
  const std::uint64_t many = group_.at(1).context.sizes().compact_entries;
  for (std::uint64_t n = 1; n <= many; ++n) {
    EXPECT_FALSE(log(1).is_compaction_due()) << n;
    ASSERT_TRUE(log(1).propose(session::Clear{n}));
    group_.settle();
  }
  EXPECT_TRUE(log(1).is_compaction_due());
}

TEST_F(GroupLogTest, EntriesCountFromTheSnapshotThatWasInstalled) {
  const std::uint64_t many = group_.at(1).context.sizes().compact_entries;
  for (std::uint64_t n = 1; n <= many + 100; ++n) ASSERT_TRUE(log(1).propose(session::Clear{n}));
  group_.settle();
  log(1).compact(group_.at(1).session->snapshot());
  session::Members more = group_.at(1).session->members();
  more[kFour] = kH4;
  group_.add(kFour, more, Origin::kJoining);
  for (const std::uint64_t n : {1U, 2U, 3U}) log(n).learn_hosts(more);
  ASSERT_TRUE(log(1).propose_members({more, 1}));
  group_.advance(1s);
  ASSERT_EQ(group_.at(4).session->members(), more);
  EXPECT_GT(log(4).applied().value, many);
  EXPECT_FALSE(log(4).is_compaction_due());
}

TEST_F(GroupLogTest, MembersThatJoinAndLeaveDoSoTogether) {
  session::Members next{{kOne, kH1}, {kTwo, kH2}, {kFour, kH4}};
  group_.add(kFour, next, Origin::kJoining);
  for (const std::uint64_t n : {1U, 2U, 3U}) log(n).learn_hosts(next);
  ASSERT_TRUE(log(1).propose_members({next, 9}));
  group_.advance(1s);
  EXPECT_EQ(group_.at(1).session->members(), next);
  EXPECT_EQ(group_.at(1).session->members_wish(), 9U);
  EXPECT_TRUE(log(1).are_members_settled());
  group_.lose(2);
  ASSERT_TRUE(log(1).propose(session::Clear{1}));
  group_.settle();
  EXPECT_EQ(group_.at(1).session->last_clear(), 1U) << "the new one counts";
}

TEST_F(GroupLogTest, AChangeIsTakenOnlyOnceWhatIsCommittedIsApplied) {
  const session::Members fewer{{kOne, kH1}, {kTwo, kH2}};
  group_.lose(2);
  group_.lose(3);
  ASSERT_TRUE(log(1).propose_members({fewer, 1}));
  EXPECT_FALSE(log(1).propose_members({{{kOne, kH1}}, 2}));
}

}  // namespace
}  // namespace banyan::node
