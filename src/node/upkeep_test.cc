#include "node/upkeep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/test_group.h"

namespace banyan::node {
namespace {

using ::testing::Gt;
using ::testing::Optional;

const HostId kH4{"h4"};

/// Three members; the first leads.
class UpkeepTest : public ::testing::Test {
 protected:
  UpkeepTest() { EXPECT_EQ(group_.leader(), 1U); }

  const session::Session& session(std::uint64_t number = 1) { return *group_.at(number).session; }

  TestGroup group_{3};
};

TEST_F(UpkeepTest, ARestartIsProposedUntilTheSessionHasHadIt) {
  Upkeep& upkeep = *group_.at(2).upkeep;
  upkeep.want_restart(4);
  EXPECT_FALSE(upkeep.at_rest());
  group_.lose(1);  // what it proposes goes to nobody
  upkeep.propose_restart();
  group_.settle();
  EXPECT_EQ(session(2).last_clear(), 0U);
  group_.advance(3s);  // and another one leads
  EXPECT_EQ(session(2).last_clear(), 4U);
  EXPECT_TRUE(upkeep.at_rest());
}

TEST_F(UpkeepTest, WhatWasProposedIsNotProposedAgainAtOnce) {
  group_.tends = false;
  Upkeep& upkeep = *group_.at(1).upkeep;
  group_.lose(2);
  group_.lose(3);
  upkeep.want_restart(4);
  upkeep.propose_restart();
  const raft::Index last = group_.at(1).log->rest().last;
  upkeep.propose_restart();
  EXPECT_EQ(group_.at(1).log->rest().last, last);
  group_.advance(350ms);
  upkeep.propose_restart();
  EXPECT_EQ(group_.at(1).log->rest().last.value, last.value + 1);
}

TEST_F(UpkeepTest, ASecondRestartNeedNotWaitForTheFirst) {
  Upkeep& upkeep = *group_.at(1).upkeep;
  for (const std::uint64_t request : {4U, 5U}) {
    upkeep.want_restart(request);
    upkeep.propose_restart();
  }
  group_.settle();
  EXPECT_EQ(session().last_clear(), 5U);
}

TEST_F(UpkeepTest, ACellWhoseHostIsSilentEnds) {
  group_.begin_cell(3, "c", Incarnation{3});
  group_.here[ReplicaId{3}] = {"c"};
  ASSERT_TRUE(session().running().has_value());
  group_.advance(2s);
  EXPECT_TRUE(session().running().has_value()) << "its host is there";
  group_.lose(3);
  group_.advance(1s);
  EXPECT_TRUE(session().running().has_value()) << "it may be a pause";
  group_.advance(1s);
  EXPECT_FALSE(session().running().has_value());
}

TEST_F(UpkeepTest, ACellOfOneThatHasLeftTheGroupEndsWhateverThatOneSays) {
  group_.begin_cell(3, "c", Incarnation{3});
  group_.here[ReplicaId{3}] = {"c"};
  group_.hold(3);  // it does not learn that it has left
  const session::Members members{{ReplicaId{1}, {"h1"}}, {ReplicaId{2}, {"h2"}}};
  group_.at(1).upkeep->want_members({.session = {"s"}, .members = members, .wish = 7});
  group_.advance(1s);
  ASSERT_EQ(session().members(), members);
  EXPECT_TRUE(session().running().has_value()) << "its end may be on the way";
  group_.advance(3s);
  EXPECT_THAT(group_.at(1).log->heard_at(ReplicaId{3}), Optional(Gt(group_.at(1).context.now().mono - 1s)))
      << "it asks for votes";
  EXPECT_FALSE(session().running().has_value());
}

TEST(Upkeep, ANewLeaderWaitsBeforeItTakesACellForLost) {
  TestGroup group(5);
  group.begin_cell(3, "c", Incarnation{3});
  group.lose(3);
  group.advance(1s);
  group.lose(1);
  while (group.leader() == 0) group.advance(50ms);
  const session::Session& session = *group.at(group.leader()).session;
  group.advance(1s);
  EXPECT_TRUE(session.running().has_value()) << "it has not heard its host only because it is new";
  group.advance(1s);
  EXPECT_FALSE(session.running().has_value());
}

TEST_F(UpkeepTest, ACellOfAnEarlierLifeIsDisownedByItsOwnHost) {
  group_.begin_cell(2, "c", Incarnation{1} /* now it is 2 */);
  group_.here[ReplicaId{2}] = {"c"};
  group_.advance(400ms);
  EXPECT_FALSE(session().running().has_value());
}

TEST_F(UpkeepTest, ACellThatItsHostDoesNotHaveIsDisowned) {
  group_.begin_cell(2, "c", Incarnation{2});
  group_.here[ReplicaId{2}] = {"another"};
  group_.advance(400ms);
  EXPECT_FALSE(session().running().has_value());
}

TEST_F(UpkeepTest, ALeaderDoesNotTakeItsOwnCellForLost) {
  group_.begin_cell(1, "c", Incarnation{1});
  group_.here[ReplicaId{1}] = {"c"};
  group_.advance(3s);
  EXPECT_TRUE(session().running().has_value());
}

TEST_F(UpkeepTest, TheNextExecutorLeadsAtOnceWhenItIsNamed) {
  group_.begin_cell(1, "c", Incarnation{1});
  group_.end_cell(1, "c");
  group_.advance(500ms);
  group_.tends = false;
  ASSERT_EQ(group_.leader(), 1U);
  const session::Session& now = session();
  ASSERT_TRUE(group_.at(1).log->propose(
      session::Amend{"q", {checkpoint::HandOver{ReplicaId{2}}}, now.last(), now.amended()}));
  group_.settle();
  EXPECT_EQ(group_.leader(), 2U);
}

TEST_F(UpkeepTest, TheExecutorLeadsOnceItsCellHasEnded) {
  group_.begin_cell(2, "c", Incarnation{2});
  group_.here[ReplicaId{2}] = {"c"};
  group_.advance(500ms);
  EXPECT_EQ(group_.leader(), 1U) << "not while it runs";
  group_.end_cell(2, "c");
  group_.advance(500ms);
  EXPECT_EQ(group_.leader(), 2U);
}

TEST_F(UpkeepTest, TheLeadGoesToNobodyWhoIsSilent) {
  group_.begin_cell(2, "c", Incarnation{2});
  group_.here[ReplicaId{2}] = {"c"};
  group_.end_cell(2, "c");
  group_.tends = false;
  group_.lose(2);
  group_.advance(1s);
  group_.tends = true;
  group_.advance(1s);
  EXPECT_EQ(group_.leader(), 1U);
}

TEST_F(UpkeepTest, MembersAreReplacedByTheLeader) {
  session::Members members = session().members();
  members.erase(ReplicaId{3});
  members[ReplicaId{4}] = kH4;
  group_.add(ReplicaId{4}, members, Origin::kJoining);
  for (const std::uint64_t number : {1U, 2U}) {
    group_.at(number).log->learn_hosts(members);
    group_.at(number).upkeep->want_members({.session = {"s"}, .members = members, .wish = 7});
  }
  group_.advance(1s);
  EXPECT_EQ(session().members(), members);
  EXPECT_EQ(session().members_wish(), 7U);
  EXPECT_EQ(group_.at(4).session->members(), members);
  EXPECT_TRUE(group_.at(1).upkeep->at_rest());
  EXPECT_TRUE(group_.at(2).upkeep->at_rest()) << "it followed, and saw it come about";
}

/// With three members of which one is gone, and a fourth one that joins: when that is lost too, two of four
/// would be left.
TEST_F(UpkeepTest, AGroupGrowsOnlyWhileAllItsMembersAreThere) {
  session::Members members = session().members();
  members[ReplicaId{4}] = kH4;
  group_.add(ReplicaId{4}, members, Origin::kJoining);
  group_.lose(3);
  group_.advance(1550ms);
  for (const std::uint64_t number : {1U, 2U, 3U}) {
    group_.at(number).log->learn_hosts(members);
    group_.at(number).upkeep->want_members({.session = {"s"}, .members = members, .wish = 7});
  }
  group_.advance(5s);
  EXPECT_EQ(session().members().size(), 3U);
  group_.lose(4);
  group_.lose(1);
  group_.find(3);
  group_.advance(5s);
  EXPECT_NE(group_.leader(), 0U) << "two of three are left";
  group_.find(1);
  group_.find(4);
  group_.advance(5s);
  EXPECT_EQ(session().members(), members);
}

/// It would be the first of the two that a group of four cannot do without.
TEST_F(UpkeepTest, AGroupDoesNotGrowByOneThatIsGone) {
  session::Members members = session().members();
  members[ReplicaId{4}] = kH4;
  group_.add(ReplicaId{4}, members, Origin::kJoining);
  group_.lose(4);
  group_.advance(1550ms);
  group_.at(1).log->learn_hosts(members);
  group_.at(1).upkeep->want_members({.session = {"s"}, .members = members, .wish = 7});
  group_.advance(5s);
  EXPECT_TRUE(group_.at(1).log->are_members_settled());
  group_.lose(3);
  group_.advance(5s);
  group_.begin_cell(1, "c", Incarnation{1});
  group_.end_cell(1, "c");
  EXPECT_GT(session().last(), CommitId{}) << "two of three go on";
  group_.find(3);
  group_.find(4);
  group_.advance(1s);
  EXPECT_EQ(session().members(), members);
}

/// Its host answers, and holds nothing of the session any more.
TEST_F(UpkeepTest, AGroupDoesNotGrowByOneWhoseHostHasBegunAnotherLife) {
  session::Members members = session().members();
  members[ReplicaId{4}] = kH4;
  group_.add(ReplicaId{4}, members, Origin::kJoining);
  group_.advance(1550ms);
  group_.at(1).log->learn_hosts(members);
  const auto want = [&](Incarnation life) {
    group_.at(1).upkeep->want_members(
        {.session = {"s"}, .members = members, .wish = 7, .lives = {{kH4, life}}});
    group_.advance(5s);
    return session().members();
  };
  EXPECT_EQ(want(Incarnation{}).size(), 3U) << "the gateway does not hear it";
  EXPECT_EQ(want(TestGroup::kLife).size(), 4U);
}

/// A leader that was stopped for a while reads what a member had sent before that was lost.
TEST_F(UpkeepTest, WhatAMemberSaidLongAgoDoesNotShowThatItIsThere) {
  session::Members members = session().members();
  members[ReplicaId{4}] = kH4;
  group_.add(ReplicaId{4}, members, Origin::kJoining);
  group_.at(1).log->learn_hosts(members);
  group_.at(1).upkeep->want_members({.session = {"s"}, .members = members, .wish = 7});
  group_.hold(1);
  group_.at(1).log->on_ticks(2);  // it asks all of them once more
  group_.settle();
  group_.lose(1);
  group_.lose(3);
  group_.advance(2s);
  group_.find(1);
  group_.release(1);
  EXPECT_EQ(group_.leader(), 1U);
  group_.advance(5s);
  EXPECT_EQ(session().members().size(), 3U);
  group_.find(3);
  group_.advance(1s);
  EXPECT_EQ(session().members(), members);
}

TEST_F(UpkeepTest, OneThatIsGoneIsReplacedWithoutIt) {
  session::Members members = session().members();
  members.erase(ReplicaId{3});
  members[ReplicaId{4}] = kH4;
  group_.add(ReplicaId{4}, members, Origin::kJoining);
  group_.lose(3);
  group_.advance(5s);
  group_.at(1).log->learn_hosts(members);
  group_.at(1).upkeep->want_members({.session = {"s"}, .members = members, .wish = 7});
  group_.advance(1s);
  EXPECT_EQ(session().members(), members);
}

/// Of three members one is gone, and of the three that are wanted another one, too.
TEST_F(UpkeepTest, MembersAreReplacedOnlyWhileAMajorityOfTheNewOnesIsHeard) {
  session::Members members = session().members();
  members.erase(ReplicaId{2});
  members[ReplicaId{4}] = kH4;
  group_.add(ReplicaId{4}, members, Origin::kJoining);
  group_.lose(3);
  group_.lose(4);
  group_.advance(1550ms);
  group_.at(1).log->learn_hosts(members);
  group_.at(1).upkeep->want_members({.session = {"s"}, .members = members, .wish = 7});
  group_.advance(5s);
  EXPECT_TRUE(group_.at(1).log->are_members_settled());
  group_.begin_cell(1, "c", Incarnation{1});
  group_.end_cell(1, "c");
  EXPECT_GT(session().last(), CommitId{}) << "two of the three that there are go on";
  group_.find(4);
  group_.advance(1s);
  EXPECT_EQ(session().members(), members);
}

/// Two of two are needed from the moment in which the log names the second one.
TEST(Upkeep, ASessionOnOneHostGrowsOnlyWhenTheSecondOneAnswers) {
  TestGroup group(1);
  session::Members members = group.at(1).session->members();
  members[ReplicaId{2}] = {"h2"};
  group.add(ReplicaId{2}, members, Origin::kJoining);
  group.lose(2);
  group.at(1).log->learn_hosts(members);
  group.at(1).upkeep->want_members({.session = {"s"}, .members = members, .wish = 7});
  group.advance(5s);
  EXPECT_EQ(group.at(1).session->members().size(), 1U);
  EXPECT_EQ(group.leader(), 1U);
  group.find(2);
  group.advance(1s);
  EXPECT_EQ(group.at(1).session->members(), members);
}

TEST_F(UpkeepTest, AWishForMembersThatIsOlderThanTheirsIsDropped) {
  Upkeep& upkeep = *group_.at(1).upkeep;
  session::Members members = session().members();
  upkeep.want_members({.session = {"s"}, .members = members, .wish = 7});
  group_.advance(500ms);
  ASSERT_EQ(session().members_wish(), 7U);
  members.erase(ReplicaId{3});
  upkeep.want_members({.session = {"s"}, .members = members, .wish = 6});
  upkeep.look(session());
  EXPECT_TRUE(upkeep.at_rest());
}

}  // namespace
}  // namespace banyan::node
