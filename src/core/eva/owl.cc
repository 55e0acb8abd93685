#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "core/eva/draft.h"
#include "core/eva/groups.h"
#include "core/eva/policies.h"

namespace banyan::eva {

namespace {

/// One or two groups, and the cheapest type that holds a task of each.
struct Pairing {
  std::array<std::uint32_t, 2> groups{kNone, kNone};
  std::uint32_t type = kNone;
  double value_for_price = 0;

  [[nodiscard]] std::size_t size() const { return groups[1] == kNone ? 1 : 2; }
};

Pairing pairing(const Groups& groups, std::uint32_t a, std::uint32_t b) {
  const Catalog& catalog = groups.snapshot().catalog;
  Pairing made{.groups = {a, b}};
  for (std::uint32_t t = 0; t < catalog.types.size(); ++t) {
    const InstanceType& type = catalog.types[t];
    Resources demand;
    bool runs = true;
    for (const std::uint32_t group : std::span(made.groups).first(made.size())) {
      const Profile* profile = groups.profile(group, type.family);
      if (profile == nullptr) runs = false;
      if (profile != nullptr) demand += profile->demand;
    }
    if (runs && fits(demand, type.capacity) &&
        (made.type == kNone || type.usd_h < catalog.types[made.type].usd_h))
      made.type = t;
  }
  if (made.type == kNone) return made;
  double value = groups[a].reservation.usd_h;
  if (b != kNone) {
    const ThroughputTable& table = groups.throughputs();
    const std::uint32_t x = groups[a].kind, y = groups[b].kind;
    value = groups[a].reservation.usd_h * table.pair(x, y) + groups[b].reservation.usd_h * table.pair(y, x);
  }
  made.value_for_price = value / catalog.types[made.type].usd_h;
  return made;
}

std::vector<Pairing> pairings(const Groups& groups) {
  std::vector<Pairing> all;
  const auto add = [&](const Pairing& made) {
    if (made.type != kNone) all.push_back(made);
  };
  for (std::uint32_t a = 0; a < groups.size(); ++a) {
    add(pairing(groups, a, kNone));
    for (std::uint32_t b = a; b < groups.size(); ++b) add(pairing(groups, a, b));
  }
  std::sort(all.begin(), all.end(), [](const Pairing& a, const Pairing& b) {
    return std::tuple(-a.value_for_price, a.groups) < std::tuple(-b.value_for_price, b.groups);
  });
  return all;
}

class Owl final : public Policy {
 public:
  Plan plan(const Snapshot& snapshot) const override {
    const Groups groups(snapshot, {.jobs = false, .profiled = snapshot.profiled != nullptr});
    Draft draft = Draft::as_it_is(snapshot);
    // Tasks that look for a partner: those without an instance, and those that are alone on theirs.
    std::vector<std::vector<std::uint32_t>> single(
        groups.size());  // by group; the next in line is at the back
    for (std::uint32_t task = 0; task < snapshot.tasks.size(); ++task)
      if (snapshot.tasks[task].instance == kNone) single[groups.of_task(task)].push_back(task);
    for (Draft::Place& place : draft.places()) {
      if (place.tasks.size() != 1 || snapshot.tasks[place.tasks[0]].pinned) continue;
      single[groups.of_task(place.tasks[0])].push_back(place.tasks[0]);
      place.tasks.clear();
    }
    for (auto& tasks : single) std::ranges::reverse(tasks);
    for (const Pairing& made : pairings(groups)) {
      const auto [a, b] = made.groups;
      while (!single[a].empty() && (b == kNone || single[b].size() > (a == b ? 1U : 0U))) {
        const std::uint32_t first = single[a].back();
        single[a].pop_back();
        const std::uint32_t instance = snapshot.tasks[first].instance;
        const bool stays = b == kNone && instance != kNone && snapshot.instances[instance].type == made.type;
        const std::size_t place = draft.open(made.type, stays ? instance : kNone);
        draft.put(draft.places()[place], first);
        if (b == kNone) continue;
        draft.put(draft.places()[place], single[b].back());
        single[b].pop_back();
      }
    }
    return draft.plan();
  }
};

}  // namespace

std::unique_ptr<const Policy> owl() { return std::make_unique<Owl>(); }

}  // namespace banyan::eva
