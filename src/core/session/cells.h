// What the session's cells have put out, for a front end that opens a notebook or has lost its connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/jupyter/message.h"
#include "core/session/session.h"

namespace banyan::session {

/// The outputs so far of the cell that runs, as its executor has them. The messages are not owned.
struct OutputsSoFar {
  ExecutionId execution;
  std::uint64_t total = 0;
  /// By number, from 1, ascending; numbers that are not here were cut.
  std::vector<std::pair<std::uint64_t, const jupyter::Message*>> kept;
};

/// The question for the cells that ended after a commit.
std::string cells_question(CommitId after);
/// That commit; nothing when it is another question.
std::optional<CommitId> cells_wanted(std::string_view question);

/// A JSON object: `last`, the newest commit, which is `after` of the next question, and `cells`, in the order
/// of their ends, the one that runs at last. A cell has its `cell_id`, `execution` (the msg_id of its
/// request), `status`, `execution_count`, and `outputs`: what it put out, as `msg_id`, `msg_type`, `content`
/// and `metadata` of each message, and `{"missing": n}` where n of them were not kept.
///
/// Of a cell that ran again later, and of one without a cell id, only the updates of displays are there
/// (`"replaced": true`): the displays may be another cell's. `so_far` is nothing where nobody knows what the
/// cell that runs has put out; it is listed without `outputs` then.
std::string cells_of(const Session& session, CommitId after, const std::optional<OutputsSoFar>& so_far);

}  // namespace banyan::session
