// A plan that is made task by task, for policies that do not think in groups.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/eva/fleet.h"

namespace banyan::eva {

/// Instances with their tasks, and the room that they have.
class Draft {
 public:
  /// An instance of the plan.
  struct Place {
    std::uint32_t type = 0;
    std::uint32_t existing = kNone;
    std::vector<std::uint32_t> tasks;
    Resources free;
  };

  /// Begins without instances. `snapshot` must outlive it.
  explicit Draft(const Snapshot& snapshot) : snapshot_(snapshot) {}

  /// Begins with every instance that has tasks, and these tasks on it.
  static Draft as_it_is(const Snapshot& snapshot);

  [[nodiscard]] std::vector<Place>& places() { return places_; }
  /// Opens a new instance, or takes the existing one; returns its index in places().
  std::size_t open(std::uint32_t type, std::uint32_t existing = kNone);
  /// What the task needs on instances of this type; nullopt when it cannot run there.
  [[nodiscard]] std::optional<Resources> demand(std::uint32_t task, std::uint32_t type) const;
  [[nodiscard]] bool has_room(const Place& place, std::uint32_t task) const;
  /// Puts a task on a place; it must fit.
  void put(Place& place, std::uint32_t task) const;
  void remove(Place& place, std::uint32_t task) const;
  /// The finished plan. Places without tasks are left out.
  [[nodiscard]] Plan plan() const;

 private:
  const Snapshot& snapshot_;
  std::vector<Place> places_;
};

}  // namespace banyan::eva
