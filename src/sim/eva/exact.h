// The cheapest fleet exactly, as an integer program that CBC solves: what the heuristics are measured
// against.
#pragma once

#include <memory>

#include "core/eva/fleet.h"
#include "core/eva/groups.h"

namespace banyan::sim::eva {

/// A plan and what is known of it.
struct ExactPlan {
  banyan::eva::Plan plan;
  double price_usd_h = 0;
  double bound_usd_h = 0;  ///< no plan costs less
  bool optimal = false;    ///< proven
};

/// Interference is not regarded. The program has a variable for each content of an instance that a plan
/// better than the improver's can have: those whose reduced cost is within the gap between the improver's
/// price and the bound of the relaxation; so its optimum is the optimum. Stops after `limit_s`.
ExactPlan exact_plan(const banyan::eva::Groups& groups, double limit_s);

/// The same as a policy that reconfigures in full at every round.
std::unique_ptr<const banyan::eva::Policy> exact(double limit_s);

}  // namespace banyan::sim::eva
