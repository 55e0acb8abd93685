// How the values of a session's commits came about, for plans that run cells again.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/planner/plan.h"
#include "core/session/session.h"

namespace banyan::session {

/// Of a session that outlives it. Loadable are versions that were serialised, wherever their bytes are.
/// `repeats`: as if every cell had been allowed to run again.
planner::Lineage lineage_of(const Session& session, bool repeats = false);

/// The same for one process, where some versions do not load and some cells have not come out as they did.
planner::Lineage lineage_of(const Session& session, std::function<bool(const CoVariableId&)> loadable,
                            const std::map<CommitId, std::string>& cannot_repeat);

/// What a commit's cell made, as far as it is kept.
std::vector<CoVariable> made_by(const Session& session, CommitId commit);

}  // namespace banyan::session
