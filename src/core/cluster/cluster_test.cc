#include "core/cluster/cluster.h"

#include <gtest/gtest.h>

namespace banyan::cluster {
namespace {

/// Three hosts hold the session; their Python is 3.11.
class ClusterTest : public testing::Test {
 protected:
  ClusterTest() {
    for (const char* host : {"h1", "h2", "h3"}) add(host, "3.11.2");
    cluster.hold({"s"}, {.kernel = "python3", .demand = {}}, {{"h1"}, {"h2"}, {"h3"}});
  }
  void add(const char* host, const std::string& python) {
    cluster.add({host});
    cluster.report({host}, {}, {{"python3", KernelState::kRuns, python, {}}}, {});
    cluster.set_state({host}, HostState::kUp);
  }

  Cluster cluster{"python3"};
};

TEST_F(ClusterTest, AnotherPythonIsRefusedAlsoWhenAMemberIsNotKnownAnyMore) {
  add("h4", "3.12.1");
  add("h5", "3.11.7");
  cluster.remove({"h1"});
  EXPECT_TRUE(cluster.why_not_on({"h4"}, {"s"}).has_value());
  EXPECT_FALSE(cluster.why_not_on({"h5"}, {"s"}).has_value());
}

TEST_F(ClusterTest, AHostThatIsDrainedTakesNoReplicasUntilItTakesPartAgain) {
  EXPECT_TRUE(cluster.takes_replicas({"h1"}));
  cluster.set_draining({"h1"}, true);
  EXPECT_FALSE(cluster.takes_replicas({"h1"}));
  EXPECT_TRUE(cluster.usable({"h1"})) << "cells run there meanwhile";
  cluster.set_draining({"h1"}, false);
  EXPECT_TRUE(cluster.takes_replicas({"h1"}));
}

TEST_F(ClusterTest, AHostWithTooFewGpusThatWorkIsRefused) {
  cluster.hold({"s"}, {.kernel = "python3", .demand = {.gpus = 2}}, {{"h1"}, {"h2"}, {"h3"}});
  EXPECT_EQ(cluster.why_not_on({"h1"}, {"s"}), "it has 0 GPUs that work, and each cell needs 2");
  const auto report = [&](bool healthy) {
    return cluster.report({"h1"}, {.devices = {{{"0"}}, {{"1"}, "", 0, healthy}}},
                          {{"python3", KernelState::kRuns, "3.11.2", {}}}, {});
  };
  EXPECT_TRUE(report(false));
  EXPECT_FALSE(report(false)) << "nothing has changed";
  EXPECT_EQ(cluster.why_not_on({"h1"}, {"s"}), "it has 1 GPUs that work, and each cell needs 2");
  EXPECT_TRUE(report(true));
  EXPECT_EQ(cluster.why_not_on({"h1"}, {"s"}), std::nullopt);
  cluster.run({"t"}, Binding{{"h1"}, {{"0"}, {"1"}}});
  EXPECT_EQ(cluster.why_not_on({"h1"}, {"s"}), std::nullopt) << "they will be idle again";
  cluster.remove({"h1"});
  cluster.add({"h1"});
  EXPECT_EQ(cluster.ledger().device_counts({"h1"}).all(), 0U) << "it has not said what it has";
}

}  // namespace
}  // namespace banyan::cluster
