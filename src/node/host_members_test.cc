// Replicas that join and leave a session, as its hosts see it.

#include <gtest/gtest.h>

#include "node/test_hosts.h"

namespace banyan::node {
namespace {

TEST(HostMembers, NewMembersAreReportedOnceAMajorityOfThemHasTheLog) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 200ms);  // the members answer their leader
  cluster.cut_ = {{"h3"}, {"h4"}};
  const session::Members members{{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, members, Origin::kJoining});
  for (const char* host : {"h1", "h2"}) cluster.send({host}, ChangeMembers{kSession, members, 1});
  const auto reported = [&] { return cluster.reports_[{"h1"}][kSession].members == members; };
  EXPECT_FALSE(cluster.run_until(reported, 5s)) << "only h1 and h2, who leaves, have the cell";
  cluster.cut_ = {{"h3"}};
  EXPECT_TRUE(cluster.run_until(reported));
}

TEST(HostMembers, OnlyTheGatewayGivesOrders) {
  for (const HostId& from : {HostId{"h2"}, kGateway}) {
    const HostConfig config{.id = {"h1"}, .timing = {}, .sizes = {}};
    HostNode node(config, Incarnation{1}, 1);
    Link peer(Incarnation{2}, config.timing, config.sizes);
    peer.send(OpenReplica{kSession, {1}, {.kernel_name = "python3"}, {{{1}, {"h1"}}}, Origin::kFounding});
    bool opened = false;
    Now now{};
    for (int i = 0; i < 20; ++i) {
      now.mono += 50ms;
      std::vector<HostEffect> effects = node.step(now, Tick{});
      while (const auto frame = peer.poll(now.mono))
        for (HostEffect& effect : node.step(now, FrameArrived{from, *frame})) effects.push_back(effect);
      for (HostEffect& effect : effects) {
        if (const auto* const sent = std::get_if<SendFrame>(&effect); sent != nullptr && sent->to == from)
          if (const auto* const frame = std::get_if<LinkFrame>(&sent->frame)) peer.receive(*frame, now.mono);
        opened = opened || std::holds_alternative<Persist>(effect);
      }
    }
    EXPECT_EQ(opened, from == kGateway) << from.value;
  }
}

TEST(HostMembers, AnOrderToCloseOneReplicaLeavesALaterOne) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.send({"h3"}, CloseReplica{kSession, {9}});
  EXPECT_FALSE(cluster.run_until([&] { return cluster.hosts_[{"h3"}].workers.empty(); }, 2s));
  cluster.send({"h3"}, CloseReplica{kSession, {3}});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.hosts_[{"h3"}].workers.empty(); }, 2s));
}

TEST(HostMembers, AReplicaThatMissedAChangeOfTheMembersAnswersANewLeader) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 200ms);  // the members answer their leader
  cluster.cut_ = {{"h3"}};
  const session::Members members{{{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, members, Origin::kJoining});
  for (const char* host : {"h1", "h2"}) cluster.send({host}, ChangeMembers{kSession, members, 1});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].members == members; }));
  cluster.kill({"h1"});
  cluster.execute("c2", "y=6", {4}, {"h4"});
  ASSERT_TRUE(cluster.run_until(
      [&] { return cluster.ended("c2") && cluster.reports_[{"h4"}][kSession].leader == ReplicaId{4}; }));
  cluster.cut_.clear();
  EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h3"}][kSession].members == members; }));
  cluster.kill({"h2"});
  cluster.execute("c3", "z=7", {4}, {"h4"});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c3"); }));
}

TEST(HostMembers, AnOldWishForOtherMembersUndoesNoLaterChange) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  const session::Members never = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{4}, {"h4"}}};
  const session::Members later = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{5}, {"h4"}}};
  cluster.send({"h2"}, ChangeMembers{kSession, never, 1});
  cluster.send({"h4"}, OpenReplica{kSession, {5}, {.kernel_name = "python3"}, later, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, later, 2});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h2"}][kSession].members == later; }));
  cluster.execute("c2", "x=6", {2}, {"h2"});  // and the lead follows
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h1"}][kSession].leader == ReplicaId{2}; }));
  cluster.run_until([] { return false; }, 3s);
  EXPECT_EQ(cluster.reports_[{"h1"}][kSession].members, later);
}

TEST(HostMembers, TheNewestReplicaCanLeaveAndWhoWishedForItLongAgoDoesNotBringItBack) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  const session::Members three = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}};
  session::Members four = three;
  four[{4}] = {"h4"};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, four, Origin::kJoining});
  for (const char* host : {"h1", "h2"}) cluster.send({host}, ChangeMembers{kSession, four, 1});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h2"}][kSession].members == four; }));
  cluster.cut_ = {{"h2"}};
  cluster.send({"h2"}, ChangeMembers{kSession, four, 1});
  cluster.send({"h1"}, ChangeMembers{kSession, three, 2});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h1"}][kSession].members == three; }));
  EXPECT_EQ((cluster.reports_[{"h1"}][kSession].members_wish), 2U);
  cluster.cut_.clear();
  cluster.execute("c2", "x=6", {2}, {"h2"});  // and the lead follows
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h1"}][kSession].leader == ReplicaId{2}; }));
  cluster.run_until([] { return false; }, 3s);
  EXPECT_EQ(cluster.reports_[{"h1"}][kSession].members, three);
}

TEST(HostMembers, AWishForTheMembersOfTodayIsNotedAsFulfilled) {
  TestHosts cluster;
  cluster.open();
  cluster.send({"h1"}, ChangeMembers{kSession, {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}}, 1});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h2"}][kSession].members_wish == 1; }));
}

TEST(HostMembers, AReplicaIsReportedWhenWhatItBeginsWithIsDurable) {
  TestHosts cluster;
  cluster.slow_disk_ = HostId{"h2"};
  cluster.open();
  EXPECT_FALSE(cluster.run_until([&] { return cluster.reports_[{"h2"}].contains(kSession); }, 2s));
  cluster.restart_gateway();
  EXPECT_FALSE(cluster.run_until([&] { return cluster.reports_[{"h2"}].contains(kSession); }, 2s))
      << "a whole report names it no sooner";
  EXPECT_TRUE(cluster.reports_[{"h1"}].contains(kSession));
  cluster.finish_writes();
  EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h2"}].contains(kSession); }));
}

TEST(HostMembers, OneThatIsOpenedWhereAnotherWasClosedIsReportedAfterThat) {
  TestHosts cluster;
  cluster.open();
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h3"}].contains(kSession); }));
  session::Members members{{{1}, {"h1"}}, {{2}, {"h2"}}, {{4}, {"h3"}}};
  cluster.ticks_ = false;
  cluster.send({"h3"}, CloseReplica{kSession});
  cluster.send({"h3"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, members, Origin::kJoining});
  cluster.run_until([] { return false; }, 10ms);
  cluster.ticks_ = true;
  cluster.run_until([] { return false; }, 1s);
  EXPECT_EQ((cluster.reports_[{"h3"}][kSession].replica), ReplicaId{4});
}

}  // namespace
}  // namespace banyan::node
