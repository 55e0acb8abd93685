// The notebook that a session's cells make: what a front end would show at a commit.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/session/session.h"

namespace banyan::session {

/// A notebook of nbformat 4.5 with the cells that led to the commit, in the order of their first run. Each
/// cell is as it ran last, with its outputs as far as they are kept. An execution without a cell id is a cell
/// by itself.
nlohmann::json document_at(const Session& session, CommitId commit);

}  // namespace banyan::session
