// What it costs a host to load the values of a view.
#pragma once

#include <functional>
#include <set>

#include "core/planner/choice.h"
#include "core/planner/speeds.h"
#include "core/session/session.h"
#include "node/chunk_sync.h"

namespace banyan::node {

/// For the planner: the costs of loading each version on this host now and of running each cell again.
/// `speeds`, `chunks` and the session outlive them; they hold while nothing of these changes. What `shown`
/// has costs nothing; what `loads` denies cannot be loaded.
planner::Costs view_costs(const planner::Speeds& speeds, const ChunkSync& chunks,
                          const ChunkSync::Standing& standing, const session::View& shown,
                          std::function<bool(const session::CoVariableId&)> loads, planner::Take how);

/// Whether these cells may run again for values that can be loaded: those that nobody has allowed run no more
/// and no longer than a plan would let them.
bool may_run_unasked(const std::set<CommitId>& cells, const session::Session& session);

}  // namespace banyan::node
