// The notebook that a session's cells make: what a front end would show at a commit.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/session/session.h"

namespace banyan::session {

/// As nbformat 4.5. The cells that led to the commit, in the order of their first run, each as it ran last,
/// with its outputs as far as they are kept. Cells of clients that give no cell ids are one cell each.
nlohmann::json document_at(const Session& session, CommitId commit);

}  // namespace banyan::session
