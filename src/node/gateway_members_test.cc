// Who is a member of a session, which replicas are opened, and what a replica more goes through.
#include <gmock/gmock.h>

#include "node/test_members.h"

namespace banyan::node {
namespace {

using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_F(MembersTest, WhatIsNotOpenIsFounded) {
  record.members.at(kTwo).open = false;
  members.on_founded();
  EXPECT_THAT(take<OpenReplica>(h1), IsEmpty()) << "it would forget what it voted for";
  const auto opened = take<OpenReplica>(h2);
  ASSERT_EQ(opened.size(), 1U);
  EXPECT_EQ(opened[0].replica, kTwo);
  EXPECT_EQ(opened[0].origin, Origin::kFounding);
  EXPECT_EQ(opened[0].members, record.committed);
}

TEST_F(MembersTest, AHostThatComesBackWithoutItsReplicaHasLostIt) {
  gateway.hosts().at(h2).replicas.clear();
  members.on_new_life(h2);
  EXPECT_TRUE(members.voters().is_lost(kTwo));
  EXPECT_THAT(take<OpenReplica>(h2), IsEmpty());
  members.on_new_life(h1);
  EXPECT_FALSE(members.voters().is_lost(kOne));
}

TEST_F(MembersTest, AHostThatHasNotOpenedItsReplicaIsAskedAgain) {
  record.members.at(kTwo).open = false;
  gateway.hosts().at(h2).replicas.clear();
  members.on_new_life(h2);
  EXPECT_THAT(take<OpenReplica>(h2), SizeIs(1));
  EXPECT_THAT(take<CloseReplica>(h2), IsEmpty());
  report_of(h3).replica = {9};
  record.members.at(kThree).open = false;
  members.on_new_life(h3);
  EXPECT_THAT(take<CloseReplica>(h3), SizeIs(1)) << "that one is of an earlier membership";
  members.on_new_life(h3);
  EXPECT_THAT(take<OpenReplica>(h3), SizeIs(1));
  EXPECT_THAT(take<OpenReplica>(h2), IsEmpty()) << "only that host";
}

TEST_F(MembersTest, AHostThatIsNoMembersClosesWhatItHolds) {
  members.on_new_life(h4);
  EXPECT_THAT(take<CloseReplica>(h4), IsEmpty()) << "it holds nothing";
  gateway.hosts().at(h4).replicas[record.id] = {.session = record.id, .replica = {9}};
  members.on_new_life(h4);
  EXPECT_THAT(take<CloseReplica>(h4), SizeIs(1));
}

TEST_F(MembersTest, AReplicaThatTheLogStillCountsStaysUntilTheLogSaysOtherwise) {
  record.members.erase(kThree);
  ++record.wishes;
  members.on_new_life(h3);
  EXPECT_THAT(take<CloseReplica>(h3), IsEmpty());
  EXPECT_FALSE(members.on_report(h3, report_of(h3)).has_value());
  EXPECT_THAT(take<CloseReplica>(h3), IsEmpty());
}

TEST_F(MembersTest, AReplicaThatNobodyWantsIsClosedByItsName) {
  EXPECT_FALSE(members.on_report(h4, {.session = record.id, .replica = {9}}).has_value());
  const auto closed = take<CloseReplica>(h4);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].replica, ReplicaId{9});
  EXPECT_FALSE(members.on_report(h4, {.session = record.id, .replica = {9}}).has_value());
  EXPECT_THAT(take<CloseReplica>(h4), SizeIs(1));
}

TEST_F(MembersTest, ThatAFounderIsOpenIsWritten) {
  record.members.at(kTwo).open = false;
  EXPECT_THAT(members.on_report(h2, report_of(h2)), Optional(IsEmpty()));
  EXPECT_TRUE(record.members.at(kTwo).open);
  finish();
  EXPECT_THAT(writes, SizeIs(1));
  EXPECT_TRUE(members.noted()) << "nothing waits for that";
  (void)members.on_report(h2, report_of(h2));
  finish();
  EXPECT_THAT(writes, SizeIs(1)) << "once";
}

TEST_F(MembersTest, NoHostSpeaksForTheReplicaOfAnotherOne) {
  record.members.at(kOne).open = false;
  EXPECT_FALSE(members.on_report(h4, {.session = record.id, .replica = kOne}).has_value());
  EXPECT_FALSE(record.members.at(kOne).open);
}

TEST_F(MembersTest, ASessionIsWholeWhenNothingIsToChangeAndAllHaveAllValues) {
  EXPECT_TRUE(members.whole());
  report_of(h2).complete = false;
  EXPECT_FALSE(members.whole());
  report_of(h2).complete = true;
  report_of(h2).replica = {9};
  EXPECT_FALSE(members.whole()) << "that is another replica's report";
  report_of(h2).replica = kTwo;
  members.move_to(h4, kOne);
  EXPECT_FALSE(members.has_surplus()) << "one of them is not a member yet";
  EXPECT_FALSE(members.whole());
  note();
  open(h4, kFour, true);
  note();
  (void)agree(h1);
  EXPECT_TRUE(members.settled());
  EXPECT_FALSE(members.whole()) << "one is to leave";
}

TEST_F(MembersTest, ASessionThatWaitsForAPlaceIsNotWhole) {
  record.members.erase(kThree);
  record.committed.erase(kThree);
  gateway.hosts().at(h3).replicas.clear();
  lose(h3);
  lose(h4);
  members.tell_holds();
  EXPECT_TRUE(members.whole());
  (void)members.watch(activity);
  EXPECT_FALSE(members.whole());
  decide();
  EXPECT_TRUE(members.whole()) << "there is none";
}

TEST_F(MembersTest, WhatALaterLifeOfTheGatewayDoesNotRememberLeavesAllTheSame) {
  record.members.erase(kThree);
  ++record.wishes;
  Membership later(gateway, record);
  for (const HostId& host : {h1, h2}) {
    report_of(host).members = record.wanted();
    report_of(host).members_wish = record.wishes;
  }
  EXPECT_THAT(later.on_report(h1, report_of(h1)), Optional(UnorderedElementsAre(h3)));
  EXPECT_THAT(take<CloseReplica>(h3), SizeIs(1));
  EXPECT_EQ(writes.size(), 1U) << "that is written";
}

/// The leader may have taken it into the group and be gone: then the others count on it.
TEST_F(MembersTest, OneThatWasGivenUpWhileItJoinedIsKeptUntilTheLogSaysWhoTheMembersAre) {
  const HostId h5{"h5"};
  add(h5);
  members.move_to(h4, kOne);
  note();
  open(h4, kFour);
  note();
  lose(h4);
  pass(10s, {h4});
  (void)watch();
  ASSERT_EQ(wanted(), (std::set<HostId>{h1, h2, h3, h5})) << "another one is wanted in its place";
  find(h4);
  take<CloseReplica>(h4);
  EXPECT_FALSE(members.on_report(h4, report_of(h4)).has_value());
  members.on_new_life(h4);
  EXPECT_THAT(take<CloseReplica>(h4), IsEmpty());
  const StoredSessions stored = read_records({{session_key(record.id), to_record(record)}});
  SessionRecord again = stored.sessions.at(record.id).session;
  Membership later(gateway, again);
  EXPECT_FALSE(later.on_report(h4, report_of(h4)).has_value());
  later.on_new_life(h4);
  EXPECT_THAT(take<CloseReplica>(h4), IsEmpty()) << "also in a later life of the gateway";
  note();
  EXPECT_THAT(take<ChangeMembers>(h4), IsEmpty()) << "the new one is not open";
  open(h5, {5}, true);
  note();
  EXPECT_THAT(take<ChangeMembers>(h4), SizeIs(1)) << "it may be the one that leads";
  (void)agree(h1);
  ASSERT_TRUE(members.settled());
  EXPECT_THAT(take<CloseReplica>(h4), SizeIs(1));
  EXPECT_TRUE(record.given_up.empty());
}

/// Nobody has told the group of one that is not open.
TEST_F(MembersTest, OneThatWasGivenUpBeforeItWasOpenIsNobodysMember) {
  add({"h5"});
  members.move_to(h4, kOne);
  note();
  lose(h4);
  pass(10s, {h4});
  (void)watch();
  EXPECT_TRUE(record.given_up.empty());
}

TEST_F(MembersTest, OneThatWasGivenUpIsToldOfTheSessionsEnd) {
  record.given_up[kFour] = h4;
  EXPECT_TRUE(members.holders().contains(h4));
}

TEST_F(MembersTest, WhereOneWasGivenUpNoOtherBegins) {
  record.given_up[kFour] = h4;
  gateway.hosts().at(h3).replicas.clear();
  members.on_new_life(h3);
  (void)watch();
  EXPECT_FALSE(wanted().contains(h4)) << "a host has one replica of a session";
}

TEST_F(MembersTest, ALaterLifeOfTheGatewayEndsASessionAlsoWhereItOnlyCounts) {
  record.members.erase(kThree);
  ++record.wishes;
  Membership later(gateway, record);
  EXPECT_TRUE(later.holders().contains(h3));
}

// ---- a replica more

TEST_F(MembersTest, BeforeTheChangeIsDurableNobodyIsAskedForIt) {
  members.move_to(h4, kOne);
  for (const HostId& host : {h1, h4}) members.on_new_life(host);
  EXPECT_FALSE(members.on_report(h3, {.session = record.id, .replica = {9}}).has_value());
  EXPECT_THAT(take<OpenReplica>(h4), IsEmpty());
  members.on_new_life(h1);
  EXPECT_THAT(take<ChangeMembers>(h1), IsEmpty());
}

TEST_F(MembersTest, AReplicaThatTheLogNamesBeforeItIsOpenJoinsUntilItIs) {
  members.move_to(h4, {});
  note();
  (void)agree(h1);
  ASSERT_TRUE(members.settled());
  EXPECT_TRUE(record.members.at(kFour).joining);
  open(h4, kFour);
  EXPECT_FALSE(record.members.at(kFour).joining);
}

TEST_F(MembersTest, WhileOneIsReplacedNoOtherMemberIs) {
  const HostId h5{"h5"};
  add(h5);
  lose(h2);
  pass(10s, {h2});
  (void)watch();
  note();
  open(h4, kFour);
  note();
  ASSERT_EQ(wanted(), (std::set<HostId>{h1, h3, h4}));
  find(h2);
  lose(h3);
  pass(10s, {h3});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h3, h4}));
}

TEST_F(MembersTest, AReplicaThatWasLostAndReplacedDoesNotCountAnyMore) {
  gateway.hosts().at(h3).replicas.clear();
  members.on_new_life(h3);
  (void)watch();
  EXPECT_EQ(members.voters().lost(), 1U);
  note();
  open(h4, kFour, true);
  note();
  (void)agree(h4);
  ASSERT_TRUE(members.settled());
  EXPECT_EQ(members.voters().lost(), 0U);
}

TEST_F(MembersTest, ANewReplicaIsOpenedWhenItsIdIsDurable) {
  members.move_to(h4, kOne);
  EXPECT_EQ(record.leaves, kOne);
  EXPECT_EQ(record.members.at(kFour).host, h4);
  EXPECT_EQ(record.next_replica, 5U);
  EXPECT_EQ(record.wishes, 1U);
  EXPECT_FALSE(members.settled());
  EXPECT_FALSE(members.noted());
  EXPECT_FALSE(members.may_change());
  EXPECT_THAT(take<OpenReplica>(h4), IsEmpty());
  members.on_noted(0);
  EXPECT_THAT(take<OpenReplica>(h4), IsEmpty()) << "that was an earlier wish";
  note();
  const auto opened = take<OpenReplica>(h4);
  ASSERT_EQ(opened.size(), 1U);
  EXPECT_EQ(opened[0].origin, Origin::kJoining);
  EXPECT_EQ(opened[0].members, record.wanted());
}

TEST_F(MembersTest, TheLogIsAskedForTheChangeOnceTheNewReplicaIsOpenAndThatIsDurable) {
  members.move_to(h4, kOne);
  note();
  EXPECT_THAT(take<ChangeMembers>(h1), IsEmpty());
  open(h4, kFour);
  EXPECT_FALSE(members.noted());
  EXPECT_THAT(take<ChangeMembers>(h1), IsEmpty());
  note();
  for (const HostId& host : {h1, h2, h3, h4}) {
    const auto changes = take<ChangeMembers>(host);
    ASSERT_EQ(changes.size(), 1U) << host.value;
    EXPECT_EQ(changes[0].members, record.wanted());
    EXPECT_EQ(changes[0].wish, 1U);
  }
}

TEST_F(MembersTest, TheChangeIsAskedForAgainEveryThreeSecondsAndOfHostsThatComeBack) {
  members.move_to(h4, kOne);
  note();
  open(h4, kFour);
  note();
  (void)take<ChangeMembers>(h1);
  pass(2999ms);
  (void)watch();
  EXPECT_THAT(take<ChangeMembers>(h1), IsEmpty());
  pass(1ms);
  (void)watch();
  EXPECT_THAT(take<ChangeMembers>(h1), SizeIs(1));
  members.on_new_life(h2);
  EXPECT_THAT(take<ChangeMembers>(h2), SizeIs(3));
  lose(h2);
  pass(3s);
  (void)watch();
  EXPECT_THAT(take<ChangeMembers>(h2), IsEmpty()) << "it does not answer";
  EXPECT_THAT(take<ChangeMembers>(h1), SizeIs(2));
}

TEST_F(MembersTest, OneThatIsAddedBesideAllOthersIsAMemberBeforeItIsFilled) {
  members.move_to(h4, {});
  note();
  open(h4, kFour);
  note();
  EXPECT_THAT(agree(h1), Optional(IsEmpty()));
  EXPECT_TRUE(members.settled());
  EXPECT_EQ(record.committed, record.wanted());
  EXPECT_EQ(record.fulfilled, 1U);
  EXPECT_FALSE(record.members.at(kFour).joining);
  EXPECT_TRUE(members.has_surplus());
  EXPECT_FALSE(members.whole());
}

TEST_F(MembersTest, AReportOfAnotherWishOrOfOtherMembersSettlesNothing) {
  members.move_to(h4, {});
  note();
  open(h4, kFour);
  note();
  report_of(h1).members = record.wanted();
  report_of(h1).members_wish = 0;
  (void)members.on_report(h1, report_of(h1));
  EXPECT_FALSE(members.settled());
  report_of(h1).members = record.committed;
  report_of(h1).members_wish = 1;
  (void)members.on_report(h1, report_of(h1));
  EXPECT_FALSE(members.settled());
}

TEST_F(MembersTest, MoreThanHalfOfTheNewMembersHaveToSayThatTheChangeIsMade) {
  members.move_to(h4, {});
  note();
  open(h4, kFour);
  note();
  const auto agrees = [this](const HostId& host) {
    report_of(host).members = record.wanted();
    report_of(host).members_wish = record.wishes;
    return members.on_report(host, report_of(host));
  };
  (void)agrees(h1);
  (void)agrees(h2);
  EXPECT_FALSE(members.settled()) << "two of four";
  (void)agrees(h3);
  EXPECT_TRUE(members.settled());
}

TEST_F(MembersTest, AfterAMoveTheOneThatIsToLeaveLeavesWhenAllIsCopied) {
  members.move_to(h4, kTwo);
  note();
  open(h4, kFour);
  note();
  (void)agree(h1);
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3, h4})) << "h4 lacks values";
  report_of(h4).complete = true;
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h3, h4}));
  EXPECT_TRUE(members.leaves(h2));
}

TEST_F(MembersTest, WhileTheMoveGoesOnNobodyLeaves) {
  members.move_to(h4, kTwo);
  note();
  open(h4, kFour, true);
  note();
  (void)agree(h1);
  activity.moves_to = h4;
  (void)watch();
  EXPECT_EQ(wanted().size(), 4U);
  activity.moves_to.reset();
  activity.executor_known = false;
  (void)watch();
  EXPECT_EQ(wanted().size(), 4U) << "a cell may run on whoever leaves";
}

TEST_F(MembersTest, WhoRunsTheCellsDoesNotLeave) {
  members.move_to(h4, kOne);
  note();
  open(h4, kFour, true);
  note();
  (void)agree(h1);
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h3, h4})) << "another one leaves";
}

TEST_F(MembersTest, OneOnAHostThatIsDrainedLeavesBeforeOthers) {
  members.move_to(h4, {});
  note();
  open(h4, kFour, true);
  note();
  (void)agree(h1);
  gateway.tell(schedule::HostDraining{.host = h3});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h4}));
}

TEST_F(MembersTest, AMoveThatIsGivenUpTakesItsReplicaBack) {
  members.move_to(h4, kOne);
  note();
  open(h4, kFour, true);
  note();
  (void)agree(h1);
  members.move_back(h4);
  members.move_back({"h9"});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3}));
}

}  // namespace
}  // namespace banyan::node
