// Small fleets for tests, and random ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/eva/fleet.h"

namespace banyan::eva {

/// Owns what a snapshot refers to.
struct TestFleet {
  Catalog catalog{.families = {"any"}, .types = {}};
  std::vector<Workload> workloads;
  std::vector<Instance> instances;
  std::vector<Task> tasks;
  ThroughputTable throughputs{1};
  History history;
  double now_s = 0;

  [[nodiscard]] Snapshot snapshot() const {
    return {.catalog = catalog,
            .workloads = workloads,
            .instances = instances,
            .tasks = tasks,
            .throughputs = throughputs,
            .profiled = &throughputs,
            .history = history,
            .now_s = now_s};
  }
  /// Adds a workload that is a kind by itself.
  void add_workload(const Resources& demand) {
    workloads.push_back({"w" + std::to_string(workloads.size()),
                         static_cast<std::uint32_t>(workloads.size()),
                         {Profile{demand}}});
    throughputs = ThroughputTable(static_cast<std::uint32_t>(workloads.size()));
  }
  void add_task(std::uint32_t workload, std::uint32_t instance = kNone) {
    tasks.push_back({.id = tasks.size(), .workload = workload, .instance = instance});
  }
};

/// Eva, EuroSys'25, Table 3: four types, four tasks.
inline TestFleet table3() {
  TestFleet fleet;
  fleet.catalog.types = {{"it1", 0, resources(4, 16, 244), 12},
                         {"it2", 0, resources(1, 4, 61), 3},
                         {"it3", 0, resources(0, 8, 32), 0.8},
                         {"it4", 0, resources(0, 4, 16), 0.4}};
  for (const Resources& demand :
       {resources(2, 8, 24), resources(1, 4, 10), resources(0, 6, 20), resources(0, 4, 12)})
    fleet.add_workload(demand);
  for (std::uint32_t i = 0; i < 4; ++i) fleet.add_task(i);
  return fleet;
}

/// A random fleet: types of up to three families, workloads that each fit one of them, learned throughputs,
/// and instances that run some of the tasks.
inline TestFleet random_fleet(std::uint64_t seed) {
  Rng rng(seed);
  const auto below = [&](std::uint64_t bound) { return static_cast<std::uint32_t>(rng.below(bound)); };
  TestFleet fleet;
  fleet.catalog.families = {"a", "b", "c"};
  const std::uint32_t types = 1 + below(6);
  for (std::uint32_t t = 0; t < types; ++t)
    fleet.catalog.types.push_back({"t" + std::to_string(t), below(3),
                                   resources(below(5), 1 + below(16), 1 + below(64)),
                                   0.1 + static_cast<double>(below(200)) / 10});
  const std::uint32_t workloads = 1 + below(6);
  for (std::uint32_t w = 0; w < workloads; ++w) {
    const InstanceType& room = fleet.catalog.types[below(types)];
    const auto share = [&](std::size_t r) {
      return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(room.capacity.milli[r]) + 1));
    };
    Workload workload{"w" + std::to_string(w), w, {std::nullopt, std::nullopt, std::nullopt}};
    workload.on[room.family] = Profile{{{share(0), share(1), share(2)}}, 1};
    if (rng.chance(0.5))
      workload.on[below(3)] =
          Profile{{{share(0), share(1), share(2)}}, rng.chance(0.5) ? 1 : 0.5 + rng.uniform()};
    if (!reservation(fleet.catalog, workload)) workload.on[room.family] = Profile{{}, 1};
    fleet.workloads.push_back(std::move(workload));
  }
  fleet.throughputs = ThroughputTable(workloads, 0.8 + 0.2 * rng.uniform());
  for (std::uint32_t i = 0; i < 2 * workloads; ++i) {
    std::vector<std::uint32_t> neighbours(1 + below(3));
    for (auto& neighbour : neighbours) neighbour = below(workloads);
    std::sort(neighbours.begin(), neighbours.end());
    fleet.throughputs.record(below(workloads), neighbours, 0.3 + 0.7 * rng.uniform());
  }
  const std::uint32_t tasks = below(20);
  std::vector<Resources> free;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    Task task{.id = i,
              .workload = below(workloads),
              .job_tasks = rng.chance(0.2) ? 2U : 1U,
              .move_usd = static_cast<float>(rng.uniform()),
              .remaining_s = rng.uniform() * 1e5};
    if (rng.chance(0.6)) {
      for (std::uint32_t at = 0; at < fleet.instances.size() && task.instance == kNone; ++at) {
        const auto& profile =
            fleet.workloads[task.workload].on[fleet.catalog.types[fleet.instances[at].type].family];
        if (profile && fits(profile->demand, free[at]) && rng.chance(0.7)) task.instance = at;
      }
      if (task.instance == kNone) {
        const std::uint32_t type = reservation(fleet.catalog, fleet.workloads[task.workload])->type;
        task.instance = static_cast<std::uint32_t>(fleet.instances.size());
        fleet.instances.push_back({task.instance, type});
        free.push_back(fleet.catalog.types[type].capacity);
      }
      free[task.instance] -= fleet.workloads[task.workload]
                                 .on[fleet.catalog.types[fleet.instances[task.instance].type].family]
                                 ->demand;
      task.pinned = rng.chance(0.2);
    }
    fleet.tasks.push_back(task);
  }
  fleet.history = {
      .events = below(50), .first_event_s = 0, .last_event_s = 1e4, .full_reconfigurations = below(5)};
  fleet.now_s = 1e4;
  return fleet;
}

}  // namespace banyan::eva
