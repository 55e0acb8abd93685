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

/// For lineage_of(): the host on which cells would run again is not known yet.
constexpr std::uint64_t kAnyGpus = std::numeric_limits<std::uint64_t>::max();

/// For lineage_of(): cells would run again in a process in which no cell of the session has run.
constexpr CommitId kNoCell{std::numeric_limits<std::uint64_t>::max()};

/// The lineage of a session, which must outlive it. Every version that was serialised counts as loadable,
/// wherever its bytes are. With `repeats` every cell counts as allowed to run again. `gpus` is how many the
/// host has on which cells would run again: a cell that used one does not run where there is none, unless its
/// author wants it to. `since` is the first cell that has run in the process in which they would run again: a
/// cell that has begun work in the background runs again only in its own process, which ends that work first.
planner::Lineage lineage_of(const Session& session, bool repeats = false, std::uint64_t gpus = kAnyGpus,
                            CommitId since = kNoCell);

/// The lineage as one process sees it: `loadable` says which versions load there, and the cells of
/// `cannot_repeat` do not run again, for the reasons given.
planner::Lineage lineage_of(const Session& session, std::function<bool(const CoVariableId&)> loadable,
                            const std::map<CommitId, std::string>& cannot_repeat, std::uint64_t gpus,
                            CommitId since);

/// A change without what the session keeps of shown values (checkpoint::kShown), of which people are not
/// told.
checkpoint::Change variables_of(checkpoint::Change change);

/// Whether a value that only cells bring back may wait until something reads it. It must share no objects, or
/// a cell could change it through another variable; and it must be a variable, for the surroundings (names
/// that begin with '<') are read by every cell.
bool may_wait(const Session& session, const std::string& name, const CoVariableId& version);

/// What a commit's cell made, as far as the session keeps it.
std::vector<CoVariable> made_by(const Session& session, CommitId commit);

}  // namespace banyan::session
