// Local search: finds a plan that is better than the one it starts from, with what it costs to get there
// counted in.
#pragma once

#include "core/eva/fleet.h"
#include "core/eva/groups.h"

namespace banyan::eva {

/// How a plan is weighed.
struct Weighing {
  /// What a lost $ of TNRP costs. Work that is slowed stays longer, at the price that work pays in this
  /// fleet, which is below its reservation price.
  double loss = 0.6;
  /// Within so many hours a move must pay for itself; for a task whose remaining time is known, within that
  /// at most.
  double horizon_h = 1;
  bool remaining = false;  ///< use Task::remaining_s
};

/// The weight of a plan in $/h: the prices of its instances, what interference loses, and the cost of moves
/// and new instances spread over the horizon.
double weight_usd_h(const Groups& groups, const Plan& plan, const Weighing& weighing);

/// Moves and swaps tasks, merges and retypes instances for as long as the weight falls. Never above the
/// start's weight; pinned tasks stay. O(passes · tasks · instances).
Plan improve(const Groups& groups, const Plan& start, const Weighing& weighing);

/// The plan for a fleet that is hired anew: the best of local searches that start from the full
/// reconfiguration and from roundings of the relaxation (columns.h).
Plan cheapest_fleet(const Groups& groups, const Weighing& weighing);

}  // namespace banyan::eva
