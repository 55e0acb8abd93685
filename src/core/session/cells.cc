#include "core/session/cells.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace banyan::session {

namespace {

using nlohmann::json;

constexpr std::string_view kUpdate = "update_display_data";

/// Whether a message of this type changes the outputs that a front end shows.
bool is_output(std::string_view type) {
  for (const std::string_view known :
       {"stream", "display_data", "execute_result", "error", "clear_output", "update_display_data"}) {
    if (type == known) return true;
  }
  return false;
}

json object_in(std::string_view text) {
  json parsed = jupyter::object_of(text);
  return parsed.is_object() ? std::move(parsed) : json::object();
}

void add_missing(answer::Outputs& outputs, std::uint64_t count) {
  if (count > 0) outputs.emplace_back(answer::MissingOutputs{count});
}

/// Adds the message if a front end shows it and, where `only` is given, if it has that type.
void add(answer::Outputs& outputs, const jupyter::Message& message, std::string_view only = {}) {
  auto header = jupyter::parse_header(message.header);
  if (!header || !is_output(header->msg_type) || (!only.empty() && header->msg_type != only)) return;
  json content = jupyter::object_of(message.content.view());
  if (!content.is_object()) return;  // a front end could not show it either
  outputs.emplace_back(answer::Output{.msg_id = std::move(header->msg_id),
                                      .msg_type = std::move(header->msg_type),
                                      .content = {std::move(content)},
                                      .metadata = {object_in(message.metadata)}});
}

answer::Outputs updates_of(const Ended& cell) {
  answer::Outputs updates;
  for (const jupyter::Message& message : cell.outputs) add(updates, message, kUpdate);
  return updates;
}

/// Adds what a help call of the cell (`name?`) shows: it comes with the reply, in its payload.
void add_page(answer::Outputs& outputs, const Ended& cell) {
  const json reply = object_in(cell.reply);
  const auto payload = reply.find("payload");
  if (payload == reply.end() || !payload->is_array()) return;
  for (const json& item : *payload) {
    if (!item.is_object() || item.value("source", json()) != "page") continue;
    outputs.emplace_back(answer::Output{
        .msg_id = cell.execution.value,
        .msg_type = "display_data",
        .content = {{{"data", item.value("data", json::object())}, {"metadata", json::object()}}}});
    return;  // front ends show the first page only
  }
}

answer::Outputs outputs_with_ids(const Ended& cell) {
  answer::Outputs outputs;
  for (const jupyter::Message& message : cell.outputs) add(outputs, message);
  add_missing(outputs, cell.outputs_total - std::min<std::uint64_t>(cell.outputs_total, cell.outputs.size()));
  add_page(outputs, cell);
  return outputs;
}

answer::Outputs outputs_with_ids(const OutputsSoFar& so_far) {
  answer::Outputs outputs;
  std::uint64_t next = 1;
  for (const auto& [number, message] : so_far.kept) {
    add_missing(outputs, number - next);
    add(outputs, *message);
    next = number + 1;
  }
  add_missing(outputs, so_far.total + 1 - next);
  return outputs;
}

answer::Cell ended_cell(const Ended& cell) {
  answer::Cell shown{.cell_id = cell.cell_id,
                     .execution = cell.execution.value,
                     .status = {std::string(name_of(cell.status))},
                     .execution_count = {},
                     .outputs = outputs_with_ids(cell)};
  if (cell.execution_count > 0) shown.execution_count.value = cell.execution_count;
  if (cell.ended_at_us > 0) {
    shown.started_at = jupyter::iso8601({cell.ended_at_us - cell.runtime_us});
    shown.ended_at = jupyter::iso8601({cell.ended_at_us});
  }
  if (!cell.reason.empty()) shown.reason = cell.reason;
  return shown;
}

}  // namespace

answer::Cells cells_of(const Session& session, CommitId after, const std::optional<OutputsSoFar>& so_far) {
  const std::optional<Running>& running = session.running();
  std::map<std::string, CommitId> latest;  // the last execution of each cell id
  for (const auto& [commit, cell] : session.history()) latest[cell.cell_id] = commit;
  answer::Cells said{.last = session.last().value, .cells = {}};
  for (auto it = session.history().upper_bound(after); it != session.history().end(); ++it) {
    const Ended& cell = it->second;
    if (cell.execution.value.empty()) continue;  // the commit of a restart
    const bool runs_again = running && running->cell_id == cell.cell_id;
    if (!cell.cell_id.empty() && latest.at(cell.cell_id) == it->first && !runs_again) {
      said.cells.emplace_back(ended_cell(cell));
    } else if (answer::Outputs updates = updates_of(cell); !updates.empty()) {
      said.cells.emplace_back(
          answer::ReplacedExecution{.execution = cell.execution.value, .outputs = std::move(updates)});
    }
  }
  if (running) {
    answer::Cell shown{.cell_id = running->cell_id,
                       .execution = running->execution.value,
                       .status = {"running"},
                       .execution_count = {session.execution_count() + 1}};
    if (so_far && so_far->execution == running->execution) shown.outputs = outputs_with_ids(*so_far);
    said.cells.emplace_back(std::move(shown));
  }
  return said;
}

}  // namespace banyan::session
