// How the values of a session's commits came about, for plans that run cells again.
#pragma once

#include "core/planner/plan.h"
#include "core/session/session.h"

namespace banyan::session {

/// Of a session that outlives it. Loadable are versions that were serialised, wherever their bytes are.
/// `repeats`: as if every cell had been allowed to run again.
planner::Lineage lineage_of(const Session& session, bool repeats = false);

}  // namespace banyan::session
