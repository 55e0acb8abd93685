// What the cells of a session have put out, for a front end that opens a notebook or has lost its connection.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/jupyter/message.h"
#include "core/session/answers.h"
#include "core/session/session.h"

namespace banyan::session {

/// The outputs so far of the cell that runs, as its executor has them. The messages are not owned.
struct OutputsSoFar {
  ExecutionId execution;
  std::uint64_t total = 0;
  /// Outputs by their number, ascending from 1. An output whose number is not here was cut.
  std::vector<std::pair<std::uint64_t, const jupyter::Message*>> kept;
};

/// What cells have put out that ended after `after`, in the order of their ends, then the one that runs.
///
/// For a cell that ran again later, and for a cell without an id, the answer has only the updates of
/// displays. Where `so_far` is nothing, this replica does not know what the running cell has put out, and the
/// cell is listed without `outputs`.
answer::Cells cells_of(const Session& session, CommitId after, const std::optional<OutputsSoFar>& so_far);

}  // namespace banyan::session
