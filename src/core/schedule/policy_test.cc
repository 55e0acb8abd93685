#include "core/schedule/policy.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/schedule/session_policy.h"

namespace banyan::schedule {
namespace {

std::vector<HostId> place(std::vector<HostLoad> hosts, std::uint64_t wanted,
                          const std::string& policy = "least_loaded", std::uint64_t draw = 0) {
  return (*placement_named(policy))->place({std::move(hosts), wanted, draw});
}

Candidate candidate(std::uint64_t replica, const std::string& host) {
  return {.eligible = {.replica = {replica}, .host = {host}, .worker_ready = true}, .load = {.host = {host}}};
}

TEST(Placement, TakesTheHostsWithTheFewestReplicas) {
  EXPECT_EQ(place({{{"a"}, 5}, {{"b"}, 1}, {{"c"}, 3}, {{"d"}, 2}}, 3),
            (std::vector<HostId>{{"b"}, {"d"}, {"c"}}));
}

TEST(Placement, CountsReplicasForEachCpu) {
  EXPECT_EQ(
      place({{.host = {"small"}, .replicas = 2, .cpus = 2}, {.host = {"large"}, .replicas = 4, .cpus = 8}},
            1),
      (std::vector<HostId>{{"large"}}));
}

TEST(Placement, EqualHostsAreTakenByNameSoThatRunsRepeat) {
  EXPECT_EQ(place({{{"c"}, 1}, {{"a"}, 1}, {{"b"}, 1}}, 2), (std::vector<HostId>{{"a"}, {"b"}}));
}

TEST(Placement, GivesWhatThereIsWhenHostsAreFew) {
  EXPECT_EQ(place({{{"a"}, 0}}, 3).size(), 1U);
  EXPECT_TRUE(place({}, 3).empty());
}

TEST(Placement, OtherPoliciesLookAtGpusOrAtReplicasAlone) {
  const HostLoad large{.host = {"large"}, .replicas = 4, .cpus = 8, .busy_gpus = 1};
  const HostLoad small{.host = {"small"}, .replicas = 2, .cpus = 2, .busy_gpus = 0};
  const HostLoad empty{.host = {"empty"}, .replicas = 0, .cpus = 2, .busy_gpus = 1};
  using Hosts = std::vector<HostId>;
  EXPECT_EQ(place({large, small, empty}, 3, "fewest_busy_gpus"), (Hosts{{"small"}, {"empty"}, {"large"}}));
  EXPECT_EQ(place({large, small, empty}, 3, "packed"), (Hosts{{"small"}, {"large"}, {"empty"}}));
  EXPECT_EQ(place({large, small, empty}, 3, "spread"), (Hosts{{"empty"}, {"small"}, {"large"}}));
}

TEST(Placement, ByLotEachSessionGetsHostsOfItsOwnAndEachHostItsShare) {
  std::map<HostId, int> taken;
  for (std::uint64_t n = 0; n < 3000; ++n) {
    const std::uint64_t draw = draw_of({"s" + std::to_string(n)});
    const auto hosts = place({{{"a"}}, {{"b"}}, {{"c"}}, {{"d"}}}, 2, "random", draw);
    ASSERT_EQ(hosts.size(), 2U);
    ASSERT_NE(hosts[0], hosts[1]);
    ASSERT_EQ(hosts, place({{{"a"}}, {{"b"}}, {{"c"}}, {{"d"}}}, 2, "random", draw));
    for (const HostId& host : hosts) ++taken[host];
  }
  for (const auto& [host, count] : taken) EXPECT_NEAR(count, 1500, 150) << host.value;
}

TEST(ExecutorChoice, TheLastExecutorGoesFirstEvenWhenItsHostIsBusier) {
  auto a = candidate(1, "a"), b = candidate(2, "b"), c = candidate(3, "c");
  c.eligible.executed_last = true;
  c.load.cells = 4;
  b.load.cells = 1;
  const auto policy = executor_choice_named("last_executor");
  EXPECT_EQ((*policy)->order({}, {a, b, c}), (std::vector<ReplicaId>{{3}, {1}, {2}}));
}

TEST(ExecutorChoice, WithoutALastExecutorReadyWorkersGoFirstThenTheLeastLoad) {
  auto a = candidate(1, "a"), b = candidate(2, "b"), c = candidate(3, "c");
  a.eligible.worker_ready = false;
  b.load.cells = 2;
  const auto policy = executor_choice_named("last_executor");
  EXPECT_EQ((*policy)->order({}, {a, b, c}), (std::vector<ReplicaId>{{3}, {2}, {1}}));
}

TEST(ExecutorChoice, ByLoadAloneTheLastExecutorHasNoPrivilege) {
  auto a = candidate(1, "a"), b = candidate(2, "b");
  a.eligible.executed_last = true;
  a.load.cells = 1;
  const auto policy = executor_choice_named("least_loaded");
  EXPECT_EQ((*policy)->order({}, {a, b}), (std::vector<ReplicaId>{{2}, {1}}));
}

TEST(ExecutorChoice, ACellThatNeedsGpusGoesWhereMostAreIdle) {
  auto a = candidate(1, "a"), b = candidate(2, "b"), c = candidate(3, "c");
  a.load.idle_gpus = 2;
  b.load.idle_gpus = 7;
  b.load.cells = 4;
  b.eligible.worker_ready = false;
  c.load.idle_gpus = 7;
  c.eligible.worker_ready = false;
  const auto policy = executor_choice_named("last_executor");
  EXPECT_EQ((*policy)->order({.gpus = 1}, {a, b, c}), (std::vector<ReplicaId>{{3}, {2}, {1}}));
  EXPECT_EQ((*policy)->order({}, {a, b, c}), (std::vector<ReplicaId>{{1}, {3}, {2}}));
  a.eligible.executed_last = true;
  EXPECT_EQ((*policy)->order({.gpus = 1}, {a, b, c}), (std::vector<ReplicaId>{{1}, {3}, {2}}));
}

TEST(Policies, AnUnknownNameIsAnErrorThatNamesTheKnownOnes) {
  EXPECT_EQ(placement_named("best").error().message,
            "no placement policy 'best'; there are: least_loaded, fewest_busy_gpus, packed, spread, random");
  EXPECT_EQ(executor_choice_named("x").error().kind, ErrorKind::kNotFound);
}

TEST(Policies, OfSessionsTheFourOfNotebookOsHaveTheirNames) {
  const auto traits = [](const char* name) {
    const SessionPolicy policy = *SessionPolicy::parse(name);
    return std::vector<bool>{policy.reserves_devices, policy.rests_at_once, policy.begins_bare};
  };
  EXPECT_EQ(traits("replicated"), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(traits("reservation"), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(traits("batch"), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(traits("pool"), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(SessionPolicy::parse("batches").error().message,
            "there is no session policy 'batches'; there are: batch, pool, replicated, reservation");
}

TEST(ExecutorChoice, CountsCellsForEachCpuAndThenReplicas) {
  auto a = candidate(1, "a"), b = candidate(2, "b"), c = candidate(3, "c");
  a.load = {.host = {"a"}, .replicas = 9, .cells = 2, .cpus = 8};
  b.load = {.host = {"b"}, .replicas = 1, .cells = 1, .cpus = 2};
  c.load = {.host = {"c"}, .replicas = 4, .cells = 2, .cpus = 8};
  const auto policy = executor_choice_named("least_loaded");
  EXPECT_EQ((*policy)->order({}, {a, b, c}), (std::vector<ReplicaId>{{3}, {1}, {2}}));
}

TEST(HostLoad, OfAHostIsWhatItHasSaidAndOfAnotherNothing) {
  cluster::Cluster cluster("python3");
  cluster.add({"a"});
  cluster.report({"a"}, {.cpus = 4, .memory_bytes = 7}, {}, {});
  cluster.hold({"s"}, {}, {{"a"}});
  cluster.run({"s"}, cluster::Binding{{"a"}, {}});
  const HostLoad load = load_of(cluster, {"a"});
  EXPECT_EQ(load.host, HostId{"a"});
  EXPECT_EQ(load.replicas, 1U);
  EXPECT_EQ(load.cells, 1U);
  EXPECT_EQ(load.cpus, 4U);
  EXPECT_EQ(load.memory_bytes, 7U);
  EXPECT_EQ(load_of(cluster, {"b"}).cpus, 0U);
  EXPECT_FALSE(holds_less(load, load)) << "it is an order";
}

}  // namespace
}  // namespace banyan::schedule
