// What becomes of members that are gone.
#include <gmock/gmock.h>

#include "node/test_members.h"

namespace banyan::node {
namespace {

using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_F(MembersTest, AHostThatIsSilentForEightSecondsIsReplaced) {
  lose(h3);
  pass(7999ms, {h3});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3}));
  pass(1ms, {h3});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h4}));
  EXPECT_TRUE(record.members.at(kFour).joining);
  EXPECT_TRUE(members.leaves(h3));
}

TEST_F(MembersTest, AReplicaThatLostItsDataIsReplacedAtOnce) {
  gateway.hosts().at(h3).replicas.clear();
  members.on_new_life(h3);
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h4}));
}

TEST_F(MembersTest, WithoutAMajorityNobodyIsReplaced) {
  lose(h2);
  lose(h3);
  pass(20s, {h2, h3});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3}));
}

TEST_F(MembersTest, TheOldOneIsClosedWhenTheNewOneHasTheValues) {
  lose(h3);
  pass(8s, {h3});
  (void)watch();
  note();
  open(h4, kFour);
  note();
  (void)take<CloseReplica>(h3);
  EXPECT_THAT(agree(h1), Optional(UnorderedElementsAre(h3))) << "it starts no cell any more";
  EXPECT_FALSE(members.settled());
  EXPECT_THAT(agree(h1), Optional(IsEmpty())) << "that is said once";
  report_of(h4).complete = true;
  EXPECT_THAT(agree(h4), Optional(UnorderedElementsAre(h3)));
  EXPECT_TRUE(members.settled());
  EXPECT_FALSE(members.leaves(h3));
  find(h3);
  EXPECT_THAT(take<CloseReplica>(h3), SizeIs(1));
}

TEST_F(MembersTest, ValuesOfAHostThatIsGoneAreWaitedForAMinute) {
  lose(h3);
  pass(8s, {h3});
  (void)watch();
  note();
  open(h4, kFour);
  note();
  (void)agree(h1);
  lose(h2);
  find(h3);
  pass(60s - 1ms, {h2});
  EXPECT_THAT(watch(), IsEmpty());
  EXPECT_FALSE(members.settled());
  pass(1ms, {h2});
  EXPECT_THAT(watch(), UnorderedElementsAre(h3));
  EXPECT_TRUE(members.settled());
}

TEST_F(MembersTest, ValuesOfHostsThatAreThereAreWaitedForAsLongAsItTakes) {
  lose(h3);
  pass(8s, {h3});
  (void)watch();
  note();
  open(h4, kFour);
  note();
  (void)agree(h1);
  pass(10min);
  (void)watch();
  EXPECT_FALSE(members.settled());
}

TEST_F(MembersTest, AHostThatCannotRunTheKernelIsReplacedUnlessACellRuns) {
  const auto cannot = [&] {
    schedule::HostReported said{.host = h3};
    said.kernels = {{"python3", cluster::KernelState::kCannot, {}, "no module ipykernel"}};
    gateway.tell(std::move(said));
  };
  cannot();
  pass(8s);
  activity.runs_cell = true;
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3}));
  activity.runs_cell = false;
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h4}));
}

TEST_F(MembersTest, APlaceThatIsNotRightAnyMoreIsNotTaken) {
  members.on_place(h4, activity);
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3})) << "nobody is gone";
  gateway.hosts().at(h3).replicas.clear();
  members.on_new_life(h3);
  members.on_place(h2, activity);
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3})) << "that host has one";
  lose(h4);
  members.on_place(h4, activity);
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3})) << "that host does not answer";
}

TEST_F(MembersTest, ASilentReplicaStaysWhereNoOtherHostIs) {
  lose(h4);
  lose(h3);
  pass(20s, {h3, h4});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3}));
}

TEST_F(MembersTest, ALostReplicaLeavesWhereNoOtherHostIs) {
  lose(h4);
  gateway.hosts().at(h3).replicas.clear();
  members.on_new_life(h3);
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2})) << "its host may hold a new one then";
}

TEST_F(MembersTest, ALostReplicaThatMayHaveHadAValueStaysAMinute) {
  lose(h4);
  report_of(h2).complete = false;
  gateway.hosts().at(h3).replicas.clear();
  members.on_new_life(h3);
  (void)watch();
  EXPECT_EQ(wanted().size(), 3U);
  pass(60s - 1ms);
  (void)watch();
  EXPECT_EQ(wanted().size(), 3U);
  pass(1ms);
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2}));
}

TEST_F(MembersTest, ANewReplicaThatItsHostNeverOpensIsTakenBackWhereNoOtherHostIs) {
  lose(h3);
  pass(8s, {h3});
  (void)watch();
  note();
  ASSERT_EQ(wanted(), (std::set<HostId>{h1, h2, h4}));
  find(h3);
  lose(h4);
  pass(8s, {h4});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3}));
  EXPECT_TRUE(record.members.at(kThree).open) << "it must not be founded again";
  EXPECT_TRUE(members.leaves(h4));
  EXPECT_FALSE(members.leaves(h3));
}

TEST_F(MembersTest, ANewReplicaThatLostItsDataIsTakenBackWhereNoOtherHostIs) {
  lose(h3);
  pass(8s, {h3});
  (void)watch();
  note();
  open(h4, kFour);
  note();
  gateway.hosts().at(h4).replicas.clear();
  members.on_new_life(h4);
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3}));
  EXPECT_EQ(record.given_up.at(kFour), h4) << "the group may have taken it";
  note();
  (void)take<ChangeMembers>(h1);
  (void)agree(h1);
  EXPECT_TRUE(members.settled());
}

TEST_F(MembersTest, OneThatCameBackEmptyWhileItWasNotWantedIsLostAllTheSame) {
  lose(h3);
  pass(8s, {h3});
  (void)watch();
  note();
  open(h4, kFour);
  note();
  gateway.hosts().at(h3).replicas.clear();
  find(h3);
  members.on_new_life(h3);
  gateway.hosts().at(h4).replicas.clear();
  members.on_new_life(h4);
  (void)watch();
  ASSERT_EQ(wanted(), (std::set<HostId>{h1, h2, h3}));
  EXPECT_TRUE(members.voters().is_lost(kThree));
  note();
  (void)agree(h1);
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h4})) << "it is replaced, and h4 may hold another one now";
}

TEST_F(MembersTest, ASessionWithTooFewReplicasGetsOneMore) {
  record.members.erase(kThree);
  record.committed.erase(kThree);
  gateway.hosts().at(h3).replicas.clear();
  members.tell_holds();
  (void)watch();
  EXPECT_EQ(wanted().size(), 3U);
}

TEST_F(MembersTest, ASessionGrowsOnlyWhenAllOthersHaveItsValues) {
  record.members.erase(kThree);
  record.committed.erase(kThree);
  gateway.hosts().at(h3).replicas.clear();
  members.tell_holds();
  report_of(h2).complete = false;
  (void)watch();
  EXPECT_EQ(wanted().size(), 2U);
}

TEST_F(MembersTest, WhoMayHoldTheSessionIsKnownWhenItEnds) {
  lose(h3);
  pass(8s, {h3});
  (void)watch();
  find(h3);
  EXPECT_EQ(members.holders(), (std::set<HostId>{h1, h2, h3, h4}));
}

/// Two of three that are wanted are away, and two of the three that there are: h3 is in both.
TEST_F(MembersTest, AChangeThatTooFewAreLeftForIsTakenBack) {
  lose(h2);
  pass(8s, {h2});
  (void)watch();
  note();
  open(h4, kFour);
  note();
  ASSERT_EQ(wanted(), (std::set<HostId>{h1, h3, h4}));
  gateway.hosts().at(h3).replicas.clear();
  members.on_new_life(h3);
  lose(h4);
  pass(8s, {h2, h4});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h3, h4})) << "nothing can be changed while h1 is alone";
  find(h2);
  pass(0s, {h4});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3})) << "h1 and h2 are a majority of these";
  EXPECT_EQ(record.given_up.at(kFour), h4);
  note();
  (void)agree(h2);
  ASSERT_TRUE(members.settled());
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2})) << "and h3 may hold another replica now";
}

/// Five are to become four, and of these only two are left; of the five it is three.
TEST_F(MembersTest, ARemovalThatTooFewAreLeftForIsTakenBack) {
  const HostId h5{"h5"};
  add(h5);
  decide();
  for (const HostId& host : {h4, h5}) {
    const ReplicaId replica{record.next_replica++};
    record.members[replica] = {.host = host, .open = true};
    record.committed[replica] = host;
    open(host, replica, true);
  }
  (void)watch();
  note();
  ASSERT_EQ(wanted(), (std::set<HostId>{h1, h3, h4, h5}));
  lose(h4);
  lose(h5);
  pass(7999ms, {h4, h5});
  (void)watch();
  EXPECT_EQ(wanted().size(), 4U);
  pass(1ms, {h4, h5});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3, h4, h5}));
  EXPECT_FALSE(members.leaves(h2));
}

TEST_F(MembersTest, TheOneThatJoinsTakesThePlaceOfOneThatIsGoneMeanwhile) {
  members.move_to(h4, kOne);
  note();
  open(h4, kFour);
  note();
  lose(h2);
  pass(7999ms, {h2});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3, h4}));
  pass(1ms, {h2});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h3, h4})) << "the group could not grow without it";
  EXPECT_TRUE(members.leaves(h2));
  note();
  (void)take<ChangeMembers>(h3);
  (void)members.on_report(h4, report_of(h4));
  pass(3s, {h2});
  (void)watch();
  const auto asked = take<ChangeMembers>(h3);
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked.front().members, record.wanted());
  report_of(h4).complete = true;
  (void)agree(h4);
  EXPECT_TRUE(members.settled());
}

TEST_F(MembersTest, OneThatIsGoneWhileItJoinsMakesNoRoomForItself) {
  const HostId h5{"h5"};
  add(h5);
  decide();
  members.move_to(h4, kOne);
  note();
  open(h4, kFour);
  note();
  lose(h4);
  pass(10s, {h4});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3, h5}));
}

/// The group does not grow by it, and waited for it for ever.
TEST_F(MembersTest, OneThatIsGoneWhileItJoinsIsGivenUpWhereNoOtherHostIsLeft) {
  members.move_to(h4, kOne);
  note();
  open(h4, kFour);
  note();
  lose(h4);
  pass(10s, {h4});
  (void)watch();
  EXPECT_EQ(wanted(), (std::set<HostId>{h1, h2, h3}));
}

}  // namespace
}  // namespace banyan::node
