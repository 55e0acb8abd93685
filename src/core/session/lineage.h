// How the values of a session's commits came about, for plans that run cells again.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/planner/plan.h"
#include "core/session/session.h"

namespace banyan::session {

/// Nobody knows the host yet.
constexpr std::uint64_t kAnyGpus = std::numeric_limits<std::uint64_t>::max();

/// In another process than any cell has run in.
constexpr CommitId kNoCell{std::numeric_limits<std::uint64_t>::max()};

/// Of a session that outlives it. Loadable are versions that were serialised, wherever their bytes are.
/// `repeats`: as if every cell had been allowed to run again. `gpus`: of the host where they would run: a
/// cell that used one does not run where there is none, unless its author wants it to. `since`: the first
/// cell that has run in the process where they would. A cell that has begun work in the background runs again
/// in its own process only, which ends that work before.
planner::Lineage lineage_of(const Session& session, bool repeats = false, std::uint64_t gpus = kAnyGpus,
                            CommitId since = kNoCell);

/// The same for one process, where some versions do not load and some cells have not come out as they did.
planner::Lineage lineage_of(const Session& session, std::function<bool(const CoVariableId&)> loadable,
                            const std::map<CommitId, std::string>& cannot_repeat, std::uint64_t gpus,
                            CommitId since);

/// A change without what cells have shown: people are not told of that.
checkpoint::Change variables_of(checkpoint::Change change);

/// Whether what only cells bring back may wait until something reads it. It shares no objects, so that no
/// cell changes it through other variables; what is beside the variables is read by any cell.
bool may_wait(const Session& session, const std::string& name, const CoVariableId& version);

/// What a commit's cell made, as far as it is kept.
std::vector<CoVariable> made_by(const Session& session, CommitId commit);

}  // namespace banyan::session
