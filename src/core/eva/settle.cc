// From bins to a plan: which instance becomes which bin, which task fills which place.

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/eva/packing.h"

namespace banyan::eva {

namespace {

/// An instance, a bin of its type, and what is saved when the instance becomes that bin.
struct Match {
  double kept_usd;
  std::uint32_t instance;
  std::uint32_t bin;
};

/// What it would cost to move those tasks of `instance` that may stay when it becomes `bin`.
double kept_usd(const Groups& groups, std::uint32_t instance, const Bin& bin,
                std::vector<std::uint32_t>& places) {
  for (const GroupCount& member : bin.members) places[member.group] = member.count;
  double usd = 0;
  for (const std::uint32_t task : groups.on(instance)) {
    std::uint32_t& free = places[groups.of_task(task)];
    if (free == 0) continue;
    --free;
    usd += 1e-6 + groups.snapshot().tasks[task].move_usd;  // a move without a price still counts as a move
  }
  for (const GroupCount& member : bin.members) places[member.group] = 0;
  return usd;
}

/// Decides which instances become which bins, the best matches first, and splits a bin off for each of them.
void take_over(const Groups& groups, std::vector<Bin>& bins) {
  const Snapshot& snapshot = groups.snapshot();
  std::vector<bool> taken(snapshot.instances.size());
  for (const Bin& bin : bins)
    if (bin.existing != kNone) taken[bin.existing] = true;
  std::vector<Match> matches;
  std::vector<std::uint32_t> places(groups.size());
  for (std::uint32_t instance = 0; instance < snapshot.instances.size(); ++instance) {
    if (taken[instance]) continue;
    for (std::uint32_t b = 0; b < bins.size(); ++b)
      if (bins[b].existing == kNone && bins[b].type == snapshot.instances[instance].type)
        matches.push_back({kept_usd(groups, instance, bins[b], places), instance, b});
  }
  std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return std::tuple(-a.kept_usd, a.instance, a.bin) < std::tuple(-b.kept_usd, b.instance, b.bin);
  });
  for (const Match& match : matches) {
    if (taken[match.instance] || bins[match.bin].times == 0) continue;
    taken[match.instance] = true;
    Bin own = bins[match.bin];
    own.existing = match.instance;
    own.times = 1;
    --bins[match.bin].times;
    bins.push_back(std::move(own));
  }
}

}  // namespace

Plan settle(const Groups& groups, std::vector<Bin> bins) {
  const Snapshot& snapshot = groups.snapshot();
  if (!snapshot.instances.empty()) take_over(groups, bins);

  // Tasks that stay come first, and of these the pinned ones.
  std::vector<bool> placed(snapshot.tasks.size());
  std::vector<std::vector<std::uint32_t>> staying(bins.size());
  for (std::size_t b = 0; b < bins.size(); ++b) {
    if (bins[b].existing == kNone) continue;
    for (const bool pinned : {true, false}) {
      for (const std::uint32_t task : groups.on(bins[b].existing)) {
        if (snapshot.tasks[task].pinned != pinned) continue;
        for (GroupCount& member : bins[b].members) {
          if (member.group != groups.of_task(task) || member.count == 0) continue;
          --member.count;
          placed[task] = true;
          staying[b].push_back(task);
        }
      }
    }
  }

  Plan plan;
  plan.tasks.reserve(snapshot.tasks.size());
  std::size_t instances = 0;
  for (const Bin& bin : bins) instances += bin.times;
  plan.instances.reserve(instances);
  std::vector<std::uint32_t> next(groups.size());
  const auto take = [&](std::uint32_t group) {
    const auto tasks = groups.tasks(group);
    while (placed[tasks[next[group]]]) ++next[group];
    return tasks[next[group]++];
  };
  for (std::size_t b = 0; b < bins.size(); ++b) {
    for (std::uint32_t time = 0; time < bins[b].times; ++time) {
      const auto begin = static_cast<std::uint32_t>(plan.tasks.size());
      plan.tasks.insert(plan.tasks.end(), staying[b].begin(), staying[b].end());
      for (const GroupCount& member : bins[b].members)
        for (std::uint32_t i = 0; i < member.count; ++i) plan.tasks.push_back(take(member.group));
      plan.instances.push_back(
          {bins[b].type, bins[b].existing, begin, static_cast<std::uint32_t>(plan.tasks.size())});
    }
  }
  return plan;
}

}  // namespace banyan::eva
