#include "core/eva/draft.h"

#include <algorithm>

#include "base/check.h"

namespace banyan::eva {

Draft Draft::as_it_is(const Snapshot& snapshot) {
  Draft draft(snapshot);
  std::vector<std::size_t> place_of(snapshot.instances.size(), kNone);
  for (std::uint32_t task = 0; task < snapshot.tasks.size(); ++task) {
    const std::uint32_t instance = snapshot.tasks[task].instance;
    if (instance == kNone) continue;
    if (place_of[instance] == kNone)
      place_of[instance] = draft.open(snapshot.instances[instance].type, instance);
    draft.put(draft.places_[place_of[instance]], task);
  }
  return draft;
}

std::size_t Draft::open(std::uint32_t type, std::uint32_t existing) {
  places_.push_back({type, existing, {}, snapshot_.catalog.types[type].capacity});
  return places_.size() - 1;
}

std::optional<Resources> Draft::demand(std::uint32_t task, std::uint32_t type) const {
  const Workload& workload = snapshot_.workloads[snapshot_.tasks[task].workload];
  const auto& profile = workload.on[snapshot_.catalog.types[type].family];
  return profile ? std::optional(profile->demand) : std::nullopt;
}

bool Draft::has_room(const Place& place, std::uint32_t task) const {
  const auto needs = demand(task, place.type);
  return needs && fits(*needs, place.free);
}

void Draft::put(Place& place, std::uint32_t task) const {
  CHECK(has_room(place, task), "a task is put where it does not fit");
  place.free -= *demand(task, place.type);
  place.tasks.push_back(task);
}

void Draft::remove(Place& place, std::uint32_t task) const {
  place.free += *demand(task, place.type);
  std::erase(place.tasks, task);
}

Plan Draft::plan() const {
  Plan plan;
  for (const Place& place : places_) {
    if (!place.tasks.empty()) plan.add(place.type, place.existing, place.tasks);
  }
  return plan;
}

}  // namespace banyan::eva
