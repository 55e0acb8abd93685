// A cell that is not to run any more, though an earlier life of the gateway may have had it started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/test_hosts.h"

namespace banyan::node {
namespace {

TEST(HostAborts, ACellThatIsToBeAbortedNeverStartsOnAnyHost) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  cluster.execute("c2", "x=6", {1}, {"h1"}, 0, true);
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  EXPECT_EQ(cluster.ended_[{"c2"}].status, session::Status::kAborted);
  cluster.ended_.clear();
  cluster.execute("c2", "x=6", {2}, {"h2"});  // as an earlier life of the gateway has asked for it
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  EXPECT_EQ(cluster.ended_[{"c2"}].status, session::Status::kAborted);
  ASSERT_EQ(cluster.hosts_[{"h1"}].workers.size(), 1U);
  EXPECT_EQ(cluster.hosts_[{"h1"}].workers.begin()->second.variables["x"], "5");
}

TEST(HostAborts, ACellThatIsToBeAbortedEndsAsItEndedIfItRan) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.restart_gateway();
  cluster.execute("c1", "x=5", {2}, {"h2"}, 0, true);
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  EXPECT_EQ(cluster.ended_[{"c1"}].status, session::Status::kOk);
}

}  // namespace
}  // namespace banyan::node
