// Full and partial reconfiguration, and what a plan saves and costs to reach (Eva §4.5).
#pragma once

#include "core/eva/fleet.h"
#include "core/eva/groups.h"

namespace banyan::eva {

/// Packs every task that can move anew. Tasks that cannot move stay, and others may join them.
Plan full_reconfiguration(const Groups& groups);

/// Leaves instances that earn their price as they are. Tasks without an instance, and those of instances that
/// no longer earn it, first fill what room there is, then are packed.
Plan partial_reconfiguration(const Groups& groups);

/// S: what the plan's tasks are worth less what its instances cost, in $/h.
double saving_usd_h(const Groups& groups, const Plan& plan);

/// M: what the moves cost, and what new instances cost before they earn anything, in $.
double migration_usd(const Snapshot& snapshot, const Plan& plan);

/// D̂ = −1/(λ ln(1 − p)): the expected seconds until the next full reconfiguration, where λ is the rate of
/// events and p the share of events so far at which the fleet was reconfigured in full. While p is 0, the
/// time that has passed.
double expected_duration_s(const History& history, double now_s);

}  // namespace banyan::eva
