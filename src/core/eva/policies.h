// The policies; each has a file, and policy_named() in fleet.h finds them.
#pragma once

#include <memory>

#include "core/eva/fleet.h"
#include "core/eva/groups.h"

namespace banyan::eva {

/// Eva: full or partial reconfiguration, whichever saves more until the next full one: S_F·D̂ − M_F > S_P·D̂ −
/// M_P (§4.5).
std::unique_ptr<const Policy> ensemble(Awareness awareness);
/// Reconfigures in full at every round.
std::unique_ptr<const Policy> full_only();
/// Never reconfigures in full.
std::unique_ptr<const Policy> partial_only();

/// Takes the better of two local searches, which start from Eva's full and partial plan.
std::unique_ptr<const Policy> improved();
/// The same, but it is told how long tasks will run.
std::unique_ptr<const Policy> lookahead();

/// Puts each task on an instance of its own of the cheapest type; nothing moves.
std::unique_ptr<const Policy> no_packing();
/// Stratus (SoCC'18) as Eva's evaluation adapts it: it packs by remaining run times, which it is told.
std::unique_ptr<const Policy> stratus();
/// Synergy (OSDI'22) as Eva's evaluation adapts it: a task goes to the best existing instance, and nothing
/// moves.
std::unique_ptr<const Policy> synergy();
/// Owl (SoCC'22) as Eva's evaluation adapts it: at most two tasks share an instance, by profiled
/// interference.
std::unique_ptr<const Policy> owl();

}  // namespace banyan::eva
