#include "core/cluster/cluster.h"

#include <gtest/gtest.h>

namespace banyan::cluster {
namespace {

/// Three hosts hold the session; their Python is 3.11.
class ClusterTest : public testing::Test {
 protected:
  ClusterTest() {
    for (const char* host : {"h1", "h2", "h3"}) add(host, "3.11.2");
    cluster.hold({"s"}, "python3", {{"h1"}, {"h2"}, {"h3"}});
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

}  // namespace
}  // namespace banyan::cluster
