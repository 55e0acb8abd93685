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

}  // namespace
}  // namespace banyan::node
