// A cell that is not to run any more, though an earlier life of the gateway may have had it started.

#include <gtest/gtest.h>

#include "node/test_hosts.h"

namespace banyan::node {
namespace {

TEST(HostAborts, ACellThatIsToBeAbortedNeverStartsOnAnyHost) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.execute("c2", "x=6", {2}, {"h2"}, 0, true);
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  EXPECT_EQ(cluster.ended_[{"c2"}].status, session::Status::kAborted);
  EXPECT_EQ((cluster.reports_[{"h1"}][kSession].executor), ReplicaId{1}) << "where cells run stays as it was";
  cluster.ended_.clear();
  cluster.execute("c2", "x=6", {1}, {"h1"});  // as an earlier life of the gateway has asked for it
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  EXPECT_EQ(cluster.ended_[{"c2"}].status, session::Status::kAborted);
  EXPECT_FALSE(cluster.starts_.contains({"c2"}));
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

TEST(HostAborts, NoWorkerIsNeededForIt) {
  TestHosts cluster;
  cluster.workers_start_ = false;
  cluster.open();
  cluster.execute("c1", "x=5", {}, {"h1"}, 0, true);
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  EXPECT_EQ(cluster.ended_[{"c1"}].status, session::Status::kAborted);
}

}  // namespace
}  // namespace banyan::node
