// The most valuable contents of one instance: a bounded knapsack with a capacity for each resource.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/eva/catalog.h"
#include "core/eva/groups.h"

namespace banyan::eva {

/// A group of tasks of which some may be put in.
struct Item {
  std::uint32_t group = 0;
  std::uint32_t count = 0;  ///< at most so many may be put in
  Resources demand;
  double value = 0;  ///< the value of one, above 0
};

/// The best contents that were found, and a bound that none exceed.
struct Filling {
  std::vector<GroupCount> members;
  double value = 0;
  double at_most = 0;  ///< no contents are worth more; equals `value` when the search was exhaustive
};

/// Finds valuable contents by depth-first branch and bound over at most `nodes_max` nodes.
Filling fill_best(std::span<const Item> items, const Resources& capacity, std::uint32_t nodes_max = 4000);

/// All contents worth at least `at_least` to which no item can be added; nullopt when there are more than
/// `count_max`.
std::optional<std::vector<std::vector<GroupCount>>> all_fillings(std::span<const Item> items,
                                                                 const Resources& capacity, double at_least,
                                                                 std::size_t count_max);

}  // namespace banyan::eva
