#include "core/eva/reconfigure.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/eva/packing.h"

namespace banyan::eva {

namespace {

/// Takes the tasks of the bins off the counts.
void subtract(const std::vector<Bin>& bins, std::vector<std::uint32_t>& left) {
  for (const Bin& bin : bins)
    for (const GroupCount& member : bin.members) left[member.group] -= member.count;
}

Plan place(const Groups& groups, std::vector<Bin> kept) {
  std::vector<std::uint32_t> left = groups.counts();
  subtract(kept, left);
  fill(groups, kept, left);
  std::vector<Bin> packed = pack(groups, std::move(left));
  kept.insert(kept.end(), std::make_move_iterator(packed.begin()), std::make_move_iterator(packed.end()));
  return settle(groups, std::move(kept));
}

std::vector<std::uint32_t> pinned_on(const Groups& groups, std::uint32_t instance) {
  std::vector<std::uint32_t> pinned;
  for (const std::uint32_t task : groups.on(instance))
    if (groups.snapshot().tasks[task].pinned) pinned.push_back(task);
  return pinned;
}

}  // namespace

Plan full_reconfiguration(const Groups& groups) {
  std::vector<Bin> kept;
  for (std::uint32_t i = 0; i < groups.snapshot().instances.size(); ++i)
    if (const auto pinned = pinned_on(groups, i); !pinned.empty()) kept.push_back(bin_of(groups, i, pinned));
  Plan plan = place(groups, std::move(kept));
  plan.full = true;
  return plan;
}

Plan partial_reconfiguration(const Groups& groups) {
  const Snapshot& snapshot = groups.snapshot();
  std::vector<Bin> kept;
  for (std::uint32_t i = 0; i < snapshot.instances.size(); ++i) {
    if (groups.on(i).empty()) continue;
    Bin bin = bin_of(groups, i, groups.on(i));
    const double value = Colocation(groups, bin.type, bin.members).value();
    if (!pinned_on(groups, i).empty() || covers(value, snapshot.catalog.types[bin.type].usd_h))
      kept.push_back(std::move(bin));
  }
  return place(groups, std::move(kept));
}

double saving_usd_h(const Groups& groups, const Plan& plan) {
  double saving = 0;
  for (const PlannedInstance& instance : plan.instances) {
    Colocation here(groups, instance.type);
    for (const std::uint32_t task : plan.tasks_of(instance)) here.add(groups.of_task(task));
    saving += here.value() - groups.snapshot().catalog.types[instance.type].usd_h;
  }
  return saving;
}

double migration_usd(const Snapshot& snapshot, const Plan& plan) {
  double usd = 0;
  for (const PlannedInstance& instance : plan.instances) {
    if (instance.existing == kNone)
      usd += snapshot.catalog.types[instance.type].usd_h * snapshot.new_instance_s / 3600;
    for (const std::uint32_t task : plan.tasks_of(instance)) {
      const Task& moved = snapshot.tasks[task];
      if (moved.instance != kNone && moved.instance != instance.existing) usd += moved.move_usd;
    }
  }
  return usd;
}

double expected_duration_s(const History& history, double now_s) {
  const double span = history.last_event_s - history.first_event_s;
  if (history.full_reconfigurations == 0 || history.events < 2 || span <= 0) return now_s;
  const double events_a_second = static_cast<double>(history.events - 1) / span;
  const double p = static_cast<double>(history.full_reconfigurations) / static_cast<double>(history.events);
  return p >= 1 ? 0 : -1 / (events_a_second * std::log1p(-p));
}

}  // namespace banyan::eva
