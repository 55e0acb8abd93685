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

TEST_F(ClusterTest, WhatIsSaidOfAHostThatWasNotAddedIsIgnored) {
  EXPECT_FALSE(cluster.report({"h9"}, {.cpus = 8, .devices = {{{"0"}}}}, {}, {}));
  cluster.set_state({"h9"}, HostState::kUp);
  cluster.set_draining({"h9"}, true);
  cluster.remove({"h9"});
  EXPECT_EQ(cluster.hosts().size(), 3U);
  EXPECT_FALSE(cluster.usable({"h9"}));
  EXPECT_FALSE(cluster.draining({"h9"}));
  EXPECT_FALSE(cluster.takes_replicas({"h9"}));
  EXPECT_EQ(cluster.gpus_of({"h9"}), 0U);
  EXPECT_EQ(cluster.ledger().device_counts({"h9"}).all(), 0U);
  EXPECT_EQ(cluster.kernel_on({"h9"}, "python3").state, KernelState::kChecking);
}

TEST_F(ClusterTest, AHostThatHasNotReportedSinceItStartedCountsAsChecking) {
  cluster.set_state({"h1"}, HostState::kUnheard);
  EXPECT_EQ(
      cluster.kernel_on({"h1"}, "python3"),
      (KernelReport{"python3", KernelState::kChecking, {}, "it has not said yet which kernels it can run"}));
  EXPECT_TRUE(cluster.is_trying({"h1"}, "python3"));
  EXPECT_EQ(cluster.why_not_on({"h1"}, {"s"}), "it has not said yet which kernels it can run");
  cluster.set_state({"h1"}, HostState::kSilent);
  EXPECT_EQ(cluster.kernel_on({"h1"}, "python3").state, KernelState::kRuns) << "what it said before holds";
  EXPECT_FALSE(cluster.is_trying({"h1"}, "python3"));
}

TEST_F(ClusterTest, AReportWithoutANameIsOfTheDefaultKernel) {
  cluster.report({"h1"}, {}, {{"", KernelState::kRuns, "3.11.2", {}}}, {});
  EXPECT_EQ(cluster.kernel_on({"h1"}, "python3"),
            (KernelReport{"python3", KernelState::kRuns, "3.11.2", {}}));
  EXPECT_EQ(cluster.kernel_on({"h1"}, "julia").state, KernelState::kCannot);
  EXPECT_EQ(cluster.kernel_on({"h1"}, "julia").reason, "its configuration does not name this kernel");
}

TEST_F(ClusterTest, AHostOfAnEarlierVersionRunsTheDefaultKernelOnly) {
  cluster.report({"h1"}, {.gpus = 3}, {}, {});
  EXPECT_EQ(cluster.kernel_on({"h1"}, "python3"), (KernelReport{"python3", KernelState::kRuns, {}, {}}));
  EXPECT_EQ(cluster.kernel_on({"h1"}, "julia").state, KernelState::kCannot);
  cluster.report({"h2"}, {}, {{"julia", KernelState::kRuns, "1", {}}}, {});
  EXPECT_EQ(cluster.kernel_on({"h2"}, "python3").state, KernelState::kCannot) << "it names its kernels";
  EXPECT_EQ(cluster.why_not_on({"h1"}, {"s"}), std::nullopt) << "its Python is not known";
  EXPECT_EQ(cluster.gpus_of({"h1"}), 3U);
}

TEST_F(ClusterTest, OnlyAPythonThatIsBeingTriedSaysSo) {
  cluster.report({"h1"}, {}, {{"python3", KernelState::kChecking, {}, {}}}, {});
  EXPECT_EQ(cluster.kernel_on({"h1"}, "python3").reason, "its Python is still being tried");
  EXPECT_EQ(cluster.kernel_on({"h2"}, "python3").reason, "");
  EXPECT_EQ(cluster.why_not_on({"h1"}, {"s"}), "its Python is still being tried");
}

TEST_F(ClusterTest, SinceWhenAHostCannotRunAKernelCountsFromItsReport) {
  const Time start{}, later = start + std::chrono::seconds(5), last = start + std::chrono::seconds(9);
  const std::vector<KernelReport> cannot = {{"python3", KernelState::kCannot, {}, "no package"}};
  EXPECT_EQ(cluster.unable_since({"h1"}, "python3"), std::nullopt) << "it can";
  EXPECT_EQ(cluster.unable_since({"h9"}, "python3"), std::nullopt) << "nobody knows that host";
  EXPECT_TRUE(cluster.report({"h1"}, {}, cannot, later));
  EXPECT_EQ(cluster.unable_since({"h1"}, "python3"), later);
  EXPECT_TRUE(cluster.is_unable({"h1"}, {"s"}));
  EXPECT_FALSE(cluster.is_unable({"h1"}, {"unknown"}));
  EXPECT_FALSE(cluster.report({"h1"}, {}, cannot, last));
  EXPECT_EQ(cluster.unable_since({"h1"}, "python3"), later) << "it has said the same again";
  cluster.set_state({"h1"}, HostState::kUnheard);
  cluster.report({"h1"}, {}, cannot, last);
  cluster.set_state({"h1"}, HostState::kUp);
  EXPECT_EQ(cluster.unable_since({"h1"}, "python3"), last) << "since it has started anew";
}

TEST_F(ClusterTest, ASessionThatIsDroppedIsNotKnownAnyMore) {
  cluster.drop({"s"});
  EXPECT_EQ(cluster.why_not_on({"h1"}, {"s"}), "its session is not known");
  EXPECT_TRUE(cluster.ledger().replicas_of({"s"}).empty());
}

TEST_F(ClusterTest, ValuesLoadInTheSameMinorVersionOfPython) {
  EXPECT_EQ(minor_version("3.11.2"), "3.11");
  EXPECT_EQ(minor_version("3.11"), "3.11");
  EXPECT_EQ(minor_version("3"), "3");
  EXPECT_EQ(minor_version(""), "");
  add("h4", "3.12.1");
  EXPECT_EQ(cluster.why_not_on({"h4"}, {"s"}),
            "its Python for this kernel is 3.12, and the session's values are of Python 3.11");
  cluster.hold({"s"}, {.kernel = "python3", .demand = {}}, {{"h4"}, {"unknown"}});
  EXPECT_EQ(cluster.why_not_on({"h1"}, {"s"}),
            "its Python for this kernel is 3.11, and the session's values are of Python 3.12")
      << "also when nobody knows a member's Python";
  cluster.hold({"s"}, {.kernel = "python3", .demand = {}}, {{"unknown"}});
  EXPECT_EQ(cluster.why_not_on({"h1"}, {"s"}), std::nullopt);
}

TEST_F(ClusterTest, NoKernelIsMissingWhereThereIsNoHost) {
  const Cluster empty{"python3"};
  EXPECT_EQ(empty.no_host_runs("python3"), std::nullopt) << "hosts may come";
  EXPECT_EQ(
      cluster.no_host_runs("julia"),
      "No host can run the kernel \"julia\". h1, h2, h3 cannot run it: its configuration does not name this "
      "kernel.");
}

TEST_F(ClusterTest, WhatAHostSaidIsBoundHoldsUntilItIsGoneOrStartsAnew) {
  const auto bound = [&] {
    cluster.report({"h1"}, {.devices = {{{"0"}}}}, {}, {});
    return cluster.ledger().device_counts({"h1"}).bound;
  };
  const auto bind = [&] { cluster.report_bound({"h1"}, {"s"}, {{"0"}}); };
  bind();
  cluster.set_state({"h1"}, HostState::kSilent);
  EXPECT_EQ(bound(), 1U);
  cluster.set_state({"h1"}, HostState::kUp);
  EXPECT_EQ(bound(), 1U);
  cluster.set_state({"h1"}, HostState::kUnheard);
  EXPECT_EQ(bound(), 0U);
  bind();
  cluster.remove({"h1"});
  cluster.add({"h1"});
  EXPECT_EQ(bound(), 0U);
}

TEST_F(ClusterTest, AHostOfWhichNobodyKnowsThePythonIsNotRefused) {
  add("h4", "");
  EXPECT_EQ(cluster.why_not_on({"h4"}, {"s"}), std::nullopt);
}

}  // namespace
}  // namespace banyan::cluster
