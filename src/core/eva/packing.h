// Packing groups of tasks onto instances: Algorithm 1, and filling the room that instances have.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/eva/colocation.h"
#include "core/eva/groups.h"

namespace banyan::eva {

/// One or more instances with equal contents.
struct Bin {
  std::uint32_t type = 0;
  std::uint32_t existing = kNone;  ///< an index into Snapshot::instances; if it is set, `times` is 1
  std::uint32_t times = 1;
  std::vector<GroupCount> members;
};

/// Full reconfiguration (Eva §4.2, Algorithm 1): types from the dearest to the cheapest; on each, add the
/// task that brings the greatest TNRP until none fits or each would lower it; keep the instance while it
/// earns its price. Ties go by Colocation::suitability(), then by the order of the groups. An instance is
/// then replaced by the cheapest type that holds its tasks, or by several cheaper instances where these gain
/// more from them: the paper's rule keeps whatever earns its price (ADR 12). Places all of `left`.
///
/// An instance is chosen once and repeated for as long as its groups last, so the time does not grow with the
/// number of tasks: O(types · groups² · members²).
std::vector<Bin> pack(const Groups& groups, std::vector<std::uint32_t> left);

/// Puts tasks into the room of `bins` (each has `existing` set) for as long as a task raises a bin's TNRP.
/// The bin that gets the greatest TNRP goes first. Placed tasks are taken off `left`.
void fill(const Groups& groups, std::vector<Bin>& bins, std::vector<std::uint32_t>& left);

/// The bin of an existing instance with these tasks.
Bin bin_of(const Groups& groups, std::uint32_t instance, std::span<const std::uint32_t> tasks);

/// Says which task goes where. Each bin takes over the instance of its type that already has most of its
/// tasks (by what moving them costs); tasks that are where a bin wants one of their group stay. O((tasks +
/// instances · bins) · log).
Plan settle(const Groups& groups, std::vector<Bin> bins);

}  // namespace banyan::eva
