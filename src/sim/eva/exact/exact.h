// The cheapest fleet exactly, as an integer program that CBC solves. The heuristics are compared with it.
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
  bool optimal = false;    ///< the plan is proven to be the cheapest
};

/// Solves it without interference. The program has a variable for each content of an instance that a plan
/// better than the improver's can have: those whose reduced cost is within the gap between the improver's
/// price and the bound of the relaxation. So its optimum is the optimum. It stops after `limit_s`.
ExactPlan exact_plan(const banyan::eva::Groups& groups, double limit_s);

/// A policy that does the same at every round, as a full reconfiguration.
std::unique_ptr<const banyan::eva::Policy> exact(double limit_s);

}  // namespace banyan::sim::eva
