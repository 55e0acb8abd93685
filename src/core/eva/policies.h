// The policies, a file each; policy_named() in fleet.h finds them.
#pragma once

#include <memory>

#include "core/eva/fleet.h"
#include "core/eva/groups.h"

namespace banyan::eva {

/// Eva: full or partial reconfiguration, whichever saves more until the next full one: S_F·D̂ − M_F > S_P·D̂ −
/// M_P (§4.5).
std::unique_ptr<const Policy> ensemble(Awareness awareness);
/// Full reconfiguration at every round.
std::unique_ptr<const Policy> full_only();
/// Never a full reconfiguration.
std::unique_ptr<const Policy> partial_only();

/// Local search from both of Eva's plans.
std::unique_ptr<const Policy> improved();
/// The same, told how long tasks will run.
std::unique_ptr<const Policy> lookahead();

/// Each task on the cheapest type that fits it; nothing moves.
std::unique_ptr<const Policy> no_packing();
/// Stratus (SoCC'18) as Eva's evaluation adapts it: packs by remaining run time, which it is told.
std::unique_ptr<const Policy> stratus();
/// Synergy (OSDI'22) as Eva's evaluation adapts it: the best existing instance, nothing moves.
std::unique_ptr<const Policy> synergy();
/// Owl (SoCC'22) as Eva's evaluation adapts it: pairs only, with profiled interference.
std::unique_ptr<const Policy> owl();

}  // namespace banyan::eva
