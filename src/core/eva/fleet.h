// What a planner of fleets is asked and what it answers; policies are chosen by name, baselines are policies
// too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/eva/catalog.h"
#include "core/eva/throughput.h"

namespace banyan::eva {

/// No index.
constexpr std::uint32_t kNone = 0xffffffff;

/// An instance that is up or on its way.
struct Instance {
  std::uint64_t id = 0;
  std::uint32_t type = 0;  ///< index into Catalog::types
};

/// A task that has not ended.
struct Task {
  std::uint64_t id = 0;
  std::uint32_t workload = 0;      ///< index into Snapshot::workloads
  std::uint32_t job_tasks = 1;     ///< how many tasks its job has; the job is as slow as the slowest
  std::uint32_t instance = kNone;  ///< index into Snapshot::instances: where it runs or is bound for
  bool pinned = false;             ///< cannot move now: it is being launched or moved
  float move_usd = 0;              ///< what moving it costs: who knows the state of the task names the price
  double remaining_s = -1;         ///< of running alone; negative: unknown
};

/// Events so far: arrivals and completions of jobs, and how many times the fleet was reconfigured in full.
struct History {
  std::uint64_t events = 0;
  double first_event_s = 0;
  double last_event_s = 0;
  std::uint64_t full_reconfigurations = 0;
};

/// A question. Everything it refers to outlives the call.
struct Snapshot {
  const Catalog& catalog;
  std::span<const Workload> workloads;  ///< each fits some type
  std::span<const Instance> instances;
  std::span<const Task> tasks;
  const ThroughputTable& throughputs;         ///< learned
  const ThroughputTable* profiled = nullptr;  ///< the truth, for policies that assume profiles (Owl)
  History history;
  double now_s = 0;
  double new_instance_s = 300;  ///< an instance earns nothing for so long after its request
};

/// An instance of the answer.
struct PlannedInstance {
  std::uint32_t type = 0;
  std::uint32_t existing = kNone;  ///< index into Snapshot::instances; kNone: hire one
  std::uint32_t begin = 0;         ///< its tasks: Plan::tasks[begin, end)
  std::uint32_t end = 0;
};

/// Every task of the snapshot on one instance. Instances that are not in the plan are to be released.
struct Plan {
  std::vector<PlannedInstance> instances;
  std::vector<std::uint32_t> tasks;  ///< indices into Snapshot::tasks
  bool full = false;                 ///< a full reconfiguration: counts in History

  /// One more instance, with these tasks.
  void add(std::uint32_t type, std::uint32_t existing, std::span<const std::uint32_t> its) {
    const auto begin = static_cast<std::uint32_t>(tasks.size());
    tasks.insert(tasks.end(), its.begin(), its.end());
    instances.push_back({type, existing, begin, static_cast<std::uint32_t>(tasks.size())});
  }
  [[nodiscard]] std::span<const std::uint32_t> tasks_of(const PlannedInstance& instance) const {
    return std::span(tasks).subspan(instance.begin, instance.end - instance.begin);
  }
};

/// Chooses instances and assignments. Pure: equal snapshots give equal plans.
class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual Plan plan(const Snapshot& snapshot) const = 0;
  /// True when a plan can change by the passing of time alone.
  [[nodiscard]] virtual bool watches_time() const { return false; }
};

/// "no_packing", "stratus", "synergy", "owl", "eva", "eva_rp" (blind to interference), "eva_single" (blind to
/// jobs), "full", "partial", "improved", "lookahead". kNotFound names the policies that exist.
Result<std::unique_ptr<const Policy>> policy_named(std::string_view name);

/// Hourly price of the plan's instances.
double price_usd_h(const Catalog& catalog, const Plan& plan);

/// What is wrong with a plan: a task that is not placed exactly once, a demand above a capacity, a pinned
/// task that moves, an index out of range. nullopt: nothing.
std::optional<std::string> fault(const Snapshot& snapshot, const Plan& plan);

}  // namespace banyan::eva
