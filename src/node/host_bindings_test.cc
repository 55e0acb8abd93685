// Devices that cells hold on a host.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/test_hosts.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Hosts with one device each, and two sessions whose cells need one.
class HostBindings : public testing::Test {
 protected:
  HostBindings() {
    const session::Members members = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}};
    for (const SessionId& session : {kSession, other_}) {
      for (const auto& [id, host] : members)
        cluster.send(host, OpenReplica{session, id, {.kernel_name = "python3"}, members});
      EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h1"}][session].worker_pid != 0; }));
    }
  }
  /// h1 is asked to run the cell with its device; no lead: all are.
  void ask(const SessionId& session, const std::string& cell, ReplicaId lead = {1}) {
    for (const char* host : {"h1", "h2", "h3"}) {
      if (lead != ReplicaId{} && HostId{host} != HostId{"h1"}) continue;
      Execute order{session, {cell}, TestHosts::request(cell, "a=1"), lead};
      order.gpus = 1;
      if (lead != ReplicaId{}) order.devices = {{"0"}};
      cluster.send({host}, std::move(order));
    }
  }
  std::set<DeviceId> bound(const SessionId& session) { return cluster.reports_[{"h1"}][session].devices; }

  const SessionId other_{"1b5c4b46-7a4c-4f0e-9d57-1f6a9b3d2a11"};
  TestHosts cluster;
};

TEST_F(HostBindings, ADeviceIsNotGivenToASecondCellWhileTheFirstHasIt) {
  cluster.cells_ask_ = true;
  ask(kSession, "c1");
  ASSERT_TRUE(cluster.run_until([&] { return cluster.starts_.contains({"c1"}); }));
  cluster.run_until([] { return false; }, 100ms);
  EXPECT_THAT(bound(kSession), ElementsAre(DeviceId{"0"}));
  ask(other_, "d1");
  ASSERT_TRUE(cluster.run_until([&] { return !cluster.declined_.empty(); }));
  EXPECT_EQ(cluster.declined_[0].session, other_);
  EXPECT_THAT(cluster.declined_[0].reason, HasSubstr("0 that no other cell has"));
  EXPECT_TRUE(cluster.declined_[0].busy);
  EXPECT_FALSE(cluster.starts_.contains({"d1"}));
}

TEST_F(HostBindings, WhatDevicesThereAreIsKnownAnewEachTimeThatTheyAreLookedAt) {
  cluster.deliver({"h1"}, HostFigures{.devices = {{.id = {"0"}, .healthy = false}}});
  ask(kSession, "c1");
  ASSERT_TRUE(cluster.run_until([&] { return !cluster.declined_.empty(); }));
  EXPECT_FALSE(cluster.declined_[0].busy) << "it does not come free by itself";
}

/// A process of another session uses the device, as the host has found.
TEST_F(HostBindings, ACellBeginsWhenNobodyElseUsesWhatItHas) {
  const WorkerId user = cluster.worker_of({"h1"}, other_);
  cluster.deliver({"h1"}, HostFigures{.devices = {{.id = {"0"}}}, .uses = {{user, {{"0"}}}}});
  EXPECT_EQ(cluster.worker_of({"h1"}, other_), user) << "nobody wants it";
  cluster.workers_linger_ = true;
  ask(kSession, "c1");
  ASSERT_TRUE(cluster.run_until([&] { return cluster.worker_of({"h1"}, other_) != user; }));
  cluster.run_until([] { return false; }, 100ms);
  EXPECT_FALSE(cluster.starts_.contains({"c1"})) << "the process is not gone yet";
  cluster.workers_linger_ = false;
  cluster.bury_workers();
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
}

/// The other way round: the cell was there first.
TEST_F(HostBindings, AProcessThatBeginsToUseWhatACellHasEnds) {
  cluster.cells_ask_ = true;
  ask(kSession, "c1");
  ASSERT_TRUE(cluster.run_until([&] { return cluster.starts_.contains({"c1"}); }));
  const WorkerId user = cluster.worker_of({"h1"}, other_);
  cluster.deliver({"h1"}, HostFigures{.devices = {{.id = {"0"}}}, .uses = {{user, {{"0"}}}}});
  EXPECT_NE(cluster.worker_of({"h1"}, other_), user);
}

TEST_F(HostBindings, ItIsFreeWhenTheCellHasEnded) {
  for (const char* cell : {"c1", "c2"}) {
    ask(kSession, cell);
    ASSERT_TRUE(cluster.run_until([&] { return cluster.ended(cell); }));
  }
  cluster.run_until([] { return false; }, 100ms);
  EXPECT_THAT(bound(kSession), IsEmpty());
  ask(other_, "d1");
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("d1"); }));
  EXPECT_THAT(cluster.declined_, IsEmpty());
}

TEST_F(HostBindings, ItIsFreeWhenTheSessionIsClosedInTheMidstOfItsCell) {
  cluster.cells_ask_ = true;
  ask(kSession, "c1");
  ASSERT_TRUE(cluster.run_until([&] { return cluster.starts_.contains({"c1"}); }));
  for (const char* host : {"h1", "h2", "h3"}) cluster.send({host}, CloseReplica{kSession});
  cluster.run_until([] { return false; }, 100ms);
  ask(other_, "d1");
  EXPECT_TRUE(cluster.run_until([&] { return cluster.starts_.contains({"d1"}); }));
}

/// The session is restarted, or closed, in the midst of its cell.
class HostBindingsOfTheDying : public HostBindings, public testing::WithParamInterface<bool> {};

TEST_P(HostBindingsOfTheDying, AreFreeWhenTheProcessIsGone) {
  cluster.cells_ask_ = true;
  ask(kSession, "c1");
  ASSERT_TRUE(cluster.run_until([&] { return cluster.starts_.contains({"c1"}); }));
  cluster.workers_linger_ = true;
  for (const char* host : {"h1", "h2", "h3"}) {
    if (GetParam()) {
      cluster.send({host}, CloseReplica{kSession});
    } else {
      cluster.send({host}, Restart{kSession, 42});
    }
  }
  cluster.run_until([] { return false; }, 500ms);
  ask(other_, "d1");
  ASSERT_TRUE(cluster.run_until([&] { return !cluster.declined_.empty(); }));
  EXPECT_TRUE(cluster.declined_[0].busy);
  cluster.bury_workers();
  ask(other_, "d1");
  EXPECT_TRUE(cluster.run_until([&] { return cluster.starts_.contains({"d1"}); }));
}

INSTANTIATE_TEST_SUITE_P(Ways, HostBindingsOfTheDying, testing::Bool());

TEST_F(HostBindings, WhoeverIsOnlyAskedHowACellEndedAnswersAndRunsNothing) {
  ask(kSession, "c1");
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 100ms);
  cluster.ended_.clear();
  for (const char* cell : {"c1", "c2"})
    cluster.send({"h2"}, Execute{kSession, {cell}, TestHosts::request(cell, "a=1"), kNoLead});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 1s);
  EXPECT_FALSE(cluster.starts_.contains({"c2"}));
  EXPECT_THAT(cluster.declined_, IsEmpty());
}

TEST_F(HostBindings, InAnElectionAHostWithoutAFreeDeviceYields) {
  cluster.cells_ask_ = true;
  ask(kSession, "c1");
  ASSERT_TRUE(cluster.run_until([&] { return cluster.starts_.contains({"c1"}); }));
  for (const char* host : {"h2", "h3"})
    cluster.deliver({host}, HostFigures{.devices = {{.id = {"0"}, .healthy = false}}});
  ask(other_, "d1", {});
  EXPECT_TRUE(cluster.run_until([&] { return !cluster.declined_.empty(); })) << "all have yielded";
  EXPECT_FALSE(cluster.starts_.contains({"d1"}));
}

/// No replica of a suspended session has a process, and none wants one.
TEST_F(HostBindings, InAnElectionTheExecutorOfASuspendedSessionBids) {
  ask(kSession, "c1");
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.send({"h1"}, AskSession{kSession, "r1", R"({"do":"suspend"})"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h1"}][kSession].suspended; }));
  cluster.run_until([] { return false; }, 500ms);
  ask(kSession, "c2", {});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  EXPECT_THAT(cluster.declined_, IsEmpty());
}

}  // namespace
}  // namespace banyan::node
