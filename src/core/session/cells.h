// What the cells of a session have put out, for a front end that opens a notebook or has lost its connection.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/json.h"
#include "core/jupyter/message.h"
#include "core/session/session.h"

namespace banyan::session::answer {

/// A message of a cell's outputs, with the id that it had on the wire.
struct Output {
  static constexpr std::string_view kName = "output";
  std::string msg_id, msg_type;
  api::AnyObject content, metadata;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("msg_id", self.msg_id, "");
    visit("msg_type", self.msg_type, "");
    visit("content", self.content, "");
    visit("metadata", self.metadata, "");
  }
};

/// In the place of messages that were not kept.
struct MissingOutputs {
  static constexpr std::string_view kName = "missing_outputs";
  std::uint64_t missing = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("missing", self.missing, "how many");
  }
};

using Outputs = std::vector<std::variant<Output, MissingOutputs>>;

/// How a cell is, or how it ended.
struct CellStatus {
  static constexpr std::array<std::string_view, 5> kWords{"running", "ok", "error", "aborted", "lost"};
  std::string value;
};

/// The last execution of a cell.
struct Cell {
  static constexpr std::string_view kName = "cell";
  std::string cell_id, execution;
  CellStatus status;
  api::Nullable<std::uint64_t> execution_count;
  std::optional<Outputs> outputs;
  std::optional<std::string> started_at, ended_at, reason;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("cell_id", self.cell_id, "");
    visit("execution", self.execution, "the msg_id of its execute_request");
    visit("status", self.status, "");
    visit("execution_count", self.execution_count, "");
    visit("outputs", self.outputs, "left out when it is running and nobody who has its outputs can be asked");
    visit("started_at", self.started_at, "");
    visit("ended_at", self.ended_at, "");
    visit("reason", self.reason, "why it was lost or aborted, in words for the user");
  }
};

/// An execution whose cell ran again later, or which has no cell. Only its updates of displays are left,
/// because these displays may belong to another cell.
struct ReplacedExecution {
  static constexpr std::string_view kName = "replaced_execution";
  std::string execution;
  api::True replaced;
  Outputs outputs;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("execution", self.execution, "the msg_id of its execute_request");
    visit("replaced", self.replaced, "tells it from a cell");
    visit("outputs", self.outputs, "");
  }
};

/// What the cells have put out, as the log has it.
struct Cells {
  static constexpr std::string_view kName = "logged_cells";
  std::uint64_t last = 0;
  std::vector<std::variant<Cell, ReplacedExecution>> cells;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("last", self.last, "`after` of the question for what has ended since");
    visit("cells", self.cells, "in the order in which they ended; the running one is the last");
  }
};

/// A cell that was accepted and has not ended.
struct WaitingCell {
  static constexpr std::string_view kName = "waiting_cell";
  std::string cell_id, execution;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("cell_id", self.cell_id, "");
    visit("execution", self.execution, "the msg_id of its execute_request");
  }
};

/// The input_request of an input() that waits for an answer.
struct InputRequest {
  static constexpr std::string_view kName = "input_request";
  api::AnyObject header, parent_header, content;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("header", self.header, "");
    visit("parent_header", self.parent_header, "");
    visit("content", self.content, "");
  }
};

/// What the gateway alone knows of the cells.
struct WaitingCells {
  static constexpr std::string_view kName = "waiting_cells";
  std::vector<WaitingCell> waiting;
  api::Nullable<InputRequest> input;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("waiting", self.waiting,
          "cells that were accepted and have not ended; the running one is the first");
    visit("input", self.input, "the request of an input() that waits for an answer; null when none waits");
  }
};

/// What a front end needs that opens the notebook.
struct SessionCells : Cells, WaitingCells {
  static constexpr std::string_view kName = "cells_answer";
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    Cells::fields(self, visit);
    WaitingCells::fields(self, visit);
  }
};

}  // namespace banyan::session::answer

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
