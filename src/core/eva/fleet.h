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

/// The index of nothing.
constexpr std::uint32_t kNone = 0xffffffff;

/// An instance that is up or on its way.
struct Instance {
  std::uint64_t id = 0;
  std::uint32_t type = 0;  ///< an index into Catalog::types
};

/// A task that has not ended.
struct Task {
  std::uint64_t id = 0;
  std::uint32_t workload = 0;      ///< an index into Snapshot::workloads
  std::uint32_t job_tasks = 1;     ///< how many tasks its job has; the job is as slow as the slowest of them
  std::uint32_t instance = kNone;  ///< an index into Snapshot::instances: where it runs or is going to
  bool pinned = false;             ///< it cannot move now, because it is being launched or moved
  float move_usd = 0;              ///< what moving it costs, as whoever knows its state says
  double remaining_s = -1;         ///< how long it would still run alone; negative when unknown
};

/// What has happened so far: arrivals and completions of jobs, and full reconfigurations.
struct History {
  std::uint64_t events = 0;
  double first_event_s = 0;
  double last_event_s = 0;
  std::uint64_t full_reconfigurations = 0;
};

/// A question. Everything to which it refers must outlive the call.
struct Snapshot {
  const Catalog& catalog;
  std::span<const Workload> workloads;  ///< each fits at least one type
  std::span<const Instance> instances;
  std::span<const Task> tasks;
  const ThroughputTable& throughputs;  ///< what was learned
  const ThroughputTable* profiled =
      nullptr;  ///< the truth, for policies that assume that it was measured (Owl)
  History history;
  double now_s = 0;
  double new_instance_s = 300;  ///< an instance earns nothing for so long after its request
};

/// An instance of the answer.
struct PlannedInstance {
  std::uint32_t type = 0;
  std::uint32_t existing = kNone;  ///< an index into Snapshot::instances; kNone: one is to be hired
  std::uint32_t begin = 0;         ///< its tasks are Plan::tasks[begin, end)
  std::uint32_t end = 0;
};

/// Every task of the snapshot on one instance. Instances that are not in the plan are to be released.
struct Plan {
  std::vector<PlannedInstance> instances;
  std::vector<std::uint32_t> tasks;  ///< indices into Snapshot::tasks
  bool full = false;                 ///< it is a full reconfiguration, which History counts

  /// Adds an instance with these tasks.
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

/// The policy of a name: "no_packing", "stratus", "synergy", "owl", "eva", "eva_rp" (blind to interference),
/// "eva_single" (blind to jobs), "full", "partial", "improved", "lookahead". kNotFound names the policies
/// that exist.
Result<std::unique_ptr<const Policy>> policy_named(std::string_view name);

/// The price of the plan's instances, in $/h.
double price_usd_h(const Catalog& catalog, const Plan& plan);

/// What is wrong with a plan: a task that is not placed exactly once, a demand above a capacity, a pinned
/// task that moves, or an index out of range. nullopt when nothing is.
std::optional<std::string> fault(const Snapshot& snapshot, const Plan& plan);

}  // namespace banyan::eva
