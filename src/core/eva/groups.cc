#include "core/eva/groups.h"

#include <optional>
#include <utility>

#include "base/check.h"

namespace banyan::eva {

namespace {

/// Sorts the items 0, 1, 2, … by key, stably: those from `begin[k]` to `begin[k + 1]` have the key k. Items
/// with the key kNone are left out.
template <class Key>
std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> sorted_by(std::size_t items,
                                                                            std::size_t keys, Key key) {
  std::vector<std::uint32_t> begin(keys + 1);
  for (std::uint32_t i = 0; i < items; ++i)
    if (key(i) != kNone) ++begin[key(i) + 1];
  for (std::size_t k = 0; k < keys; ++k) begin[k + 1] += begin[k];
  std::vector<std::uint32_t> sorted(begin[keys]);
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::uint32_t i = 0; i < items; ++i)
    if (key(i) != kNone) sorted[next[key(i)]++] = i;
  return {std::move(sorted), std::move(begin)};
}

}  // namespace

Groups::Groups(const Snapshot& snapshot, Awareness awareness)
    : snapshot_(snapshot),
      throughputs_(awareness.profiled ? *snapshot.profiled : snapshot.throughputs),
      awareness_(awareness) {
  std::vector<std::vector<std::uint32_t>> of_workload(
      snapshot.workloads.size());  // few groups each, because jobs differ little in size
  of_task_.reserve(snapshot.tasks.size());
  for (const Task& task : snapshot.tasks) {
    const std::uint32_t job_tasks = awareness.jobs ? task.job_tasks : 1;
    std::vector<std::uint32_t>& known = of_workload[task.workload];
    std::uint32_t group = kNone;
    for (const std::uint32_t other : known)
      if (groups_[other].job_tasks == job_tasks) group = other;
    if (group == kNone) {
      const auto price = reservation(snapshot.catalog, snapshot.workloads[task.workload]);
      CHECK(price, "a task that fits no type must be refused before planning");
      group = static_cast<std::uint32_t>(groups_.size());
      groups_.push_back({task.workload, snapshot.workloads[task.workload].kind, job_tasks, *price});
      known.push_back(group);
      for (const auto& profile : snapshot.workloads[task.workload].on)
        profiles_.push_back(profile ? &*profile : nullptr);
    }
    of_task_.push_back(group);
  }
  std::tie(tasks_, tasks_begin_) =
      sorted_by(of_task_.size(), groups_.size(), [&](std::uint32_t task) { return of_task_[task]; });
  if (snapshot.instances.empty()) {
    on_begin_.assign(1, 0);
    return;
  }
  std::tie(on_, on_begin_) = sorted_by(snapshot.tasks.size(), snapshot.instances.size(),
                                       [&](std::uint32_t task) { return snapshot.tasks[task].instance; });
}

std::span<const std::uint32_t> Groups::tasks(std::uint32_t group) const {
  return std::span(tasks_).subspan(tasks_begin_[group], tasks_begin_[group + 1] - tasks_begin_[group]);
}

std::span<const std::uint32_t> Groups::on(std::uint32_t instance) const {
  return std::span(on_).subspan(on_begin_[instance], on_begin_[instance + 1] - on_begin_[instance]);
}

std::vector<std::uint32_t> Groups::counts() const {
  std::vector<std::uint32_t> counts(groups_.size());
  for (std::uint32_t g = 0; g < counts.size(); ++g) counts[g] = tasks_begin_[g + 1] - tasks_begin_[g];
  return counts;
}

}  // namespace banyan::eva
