// Tasks grouped by what a planner can tell apart: plans for a million tasks are plans for a few dozen groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/eva/fleet.h"

namespace banyan::eva {

/// What a valuation takes into account.
struct Awareness {
  bool interference = true;  ///< without it TNRP is RP (Eva-RP)
  bool jobs = true;          ///< without it a task's loss is its own only (Eva-Single)
  bool profiled = false;     ///< use Snapshot::profiled instead of what was learned
};

/// Tasks of one workload whose jobs have equally many tasks.
struct Group {
  std::uint32_t workload = 0;
  std::uint32_t kind = 0;  ///< the workload's, in the throughput table
  std::uint32_t job_tasks = 1;
  Reservation reservation;
};

/// A number of tasks of a group.
struct GroupCount {
  std::uint32_t group = 0;
  std::uint32_t count = 0;
  friend bool operator==(const GroupCount&, const GroupCount&) = default;
};

/// The tasks of a snapshot by group (groups are in the order of their first appearance) and by instance.
/// O(tasks + workloads · types).
class Groups {
 public:
  /// `snapshot` must outlive it.
  explicit Groups(const Snapshot& snapshot, Awareness awareness = {});

  [[nodiscard]] const Snapshot& snapshot() const { return snapshot_; }
  [[nodiscard]] const ThroughputTable& throughputs() const { return throughputs_; }
  [[nodiscard]] Awareness awareness() const { return awareness_; }
  [[nodiscard]] std::size_t size() const { return groups_.size(); }
  [[nodiscard]] const Group& operator[](std::uint32_t group) const { return groups_[group]; }
  [[nodiscard]] std::uint32_t of_task(std::uint32_t task) const { return of_task_[task]; }
  /// The tasks of a group, in the snapshot's order.
  [[nodiscard]] std::span<const std::uint32_t> tasks(std::uint32_t group) const;
  /// The tasks on an instance, in the snapshot's order.
  [[nodiscard]] std::span<const std::uint32_t> on(std::uint32_t instance) const;
  /// How the tasks of a group run on a family; null when they cannot.
  [[nodiscard]] const Profile* profile(std::uint32_t group, std::uint32_t family) const {
    return profiles_[group * snapshot_.catalog.families.size() + family];
  }
  /// How many tasks each group has.
  [[nodiscard]] std::vector<std::uint32_t> counts() const;

 private:
  const Snapshot& snapshot_;
  const ThroughputTable& throughputs_;
  Awareness awareness_;
  std::vector<Group> groups_;
  std::vector<const Profile*> profiles_;  ///< [group][family]
  std::vector<std::uint32_t> of_task_;
  std::vector<std::uint32_t> tasks_, tasks_begin_;  ///< by group
  std::vector<std::uint32_t> on_, on_begin_;        ///< by instance
};

}  // namespace banyan::eva
