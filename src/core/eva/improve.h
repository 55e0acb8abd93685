// Local search: a plan that is better than where it starts, with what it costs to get there counted in.
#pragma once

#include "core/eva/fleet.h"
#include "core/eva/groups.h"

namespace banyan::eva {

/// What a plan is weighed by.
struct Weighing {
  /// What a lost $ of TNRP costs: slowed work stays longer at the price that work pays here, which is below
  /// its reservation price.
  double loss = 0.6;
  /// Hours over which a move must pay for itself; tasks whose remaining time is known: at most that.
  double horizon_h = 1;
  bool remaining = false;  ///< use Task::remaining_s
};

/// Instances' prices + what interference loses + moves and new instances spread over the horizon, $/h.
double weight_usd_h(const Groups& groups, const Plan& plan, const Weighing& weighing);

/// Moves and swaps tasks, merges and retypes instances for as long as the weight falls. Never above the
/// start's weight; pinned tasks stay. O(passes · tasks · instances).
Plan improve(const Groups& groups, const Plan& start, const Weighing& weighing);

/// For a fleet that is hired anew: the best of local searches from the full reconfiguration and from
/// roundings of the relaxation (columns.h).
Plan cheapest_fleet(const Groups& groups, const Weighing& weighing);

}  // namespace banyan::eva
