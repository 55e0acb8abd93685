// A cell at the gateway: accepted and journaled, its outputs, its end (P4: exactly one for each).

#include <algorithm>
#include <utility>

#include "node/gateway_messages.h"
#include "node/gateway_session.h"

namespace banyan::node {

namespace {

constexpr std::size_t kQueueMax = 4096;     // cells
constexpr std::size_t kEndedMax = 256;      // cells whose end is remembered after it was delivered
constexpr Duration kProgressAfter = 200ms;  // shorter cells are not worth a write for each output

std::string parent_id(const jupyter::Message& message) {
  return text_member(message.parent_header, "msg_id");
}

}  // namespace

GatewaySession::Cell* GatewaySession::running() {
  return !queue_.empty() && queue_.front().asked ? &queue_.front() : nullptr;
}
const GatewaySession::Cell* GatewaySession::running() const {
  return !queue_.empty() && queue_.front().asked ? &queue_.front() : nullptr;
}

bool GatewaySession::knows_cell(const ExecutionId& execution) const {
  const auto same = [&](const auto& item) { return item.second.execution == execution; };
  return std::any_of(queue_.begin(), queue_.end(), [&](const Cell& c) { return c.execution == execution; }) ||
         std::any_of(judged_.begin(), judged_.end(), same) ||
         std::any_of(endings_.begin(), endings_.end(), same);
}

/// An earlier life of the gateway may have sent a cell and died before its note of it was durable. When the
/// client says it again, the log has the answer.
void GatewaySession::hosts_know(const ExecutionId& execution) {
  if (execution.value.empty()) return;
  const auto waits =
      std::ranges::find_if(queue_, [&](const Cell& cell) { return cell.execution == execution; });
  if (waits != queue_.end()) {
    waits->may_have_started = true;
  } else if (!knows_cell(execution)) {
    remember_ended(execution);
  }
}

void GatewaySession::remember_ended(const ExecutionId& execution) {
  if (std::ranges::find(ended_before_, execution) != ended_before_.end()) return;
  ended_before_.push_back(execution);
  if (ended_before_.size() > kEndedMax) ended_before_.pop_front();
}

void GatewaySession::accept_cell(const ClientId& client, jupyter::Message request,
                                 const std::string& msg_id) {
  const ExecutionId execution{msg_id};
  if (knows_cell(execution)) return;  // the client says it twice
  note_activity();
  if (outage()) return tell_error(client, request, outage_verdict(), {}, 0);
  if (queue_.size() >= kQueueMax || queued_bytes_ + request.size() > gateway_.config().sizes.message_max) {
    return tell_error(client, request,
                      {"QueueFull", "Too many cells wait already (" + std::to_string(queue_.size()) +
                                        "). The cell was not run. Interrupt the kernel, or wait."},
                      {}, 0);
  }
  Cell cell;
  const std::uint64_t number = next_cell_++;
  cell.record = {.number = number,
                 .client = client,
                 .request = std::move(request),
                 .restarts = record_.restarts,
                 .behind = queue_.empty() ? number : queue_.front().record.number};
  cell.execution = execution;
  // A client that did not hear the end in time says it again: the log has the answer, whatever happens here.
  cell.may_have_started = std::ranges::find(ended_before_, execution) != ended_before_.end();
  cell.stop_on_error = !is_literal(cell.record.request.content.view(), "stop_on_error", "false");
  queued_bytes_ += cell.record.request.size();
  gateway_.store(cell_key(record_.id, cell.record.number), to_record(cell.record));
  queue_.push_back(std::move(cell));
  dispatch();
}

void GatewaySession::take_output(const HostId& host, FromKernel message) {
  Cell* const cell = running();
  if (cell == nullptr || cell->execution != message.execution) return;  // it has ended
  if (cell->executor != host) {
    cell->executor = host;
    gateway_.tell(schedule::CellRuns{record_.id, host});
  }
  if (message.seq <= cell->seen) return;
  if (message.seq > cell->seen + 1) {
    const std::uint64_t missing = message.seq - cell->seen - 1;
    clients_.publish(note("[banyan: " + std::to_string(missing) +
                              " messages of output are missing here: more came than a replica keeps]\n",
                          cell->record.request.header, gateway_.author(record_.id)));
  }
  cell->seen = message.seq;
  note_activity();
  clients_.publish(std::move(message.message), {cell->record.number, message.seq, false});
  note_delivered();
}

void GatewaySession::ended(const HostId& host, const ExecutionEnded& end) {
  Cell* const current = running();
  if (current == nullptr || current->execution != end.execution) return;  // told before
  Cell cell = std::move(*current);
  queue_.pop_front();
  queued_bytes_ -= cell.record.request.size();
  gateway_.tell(schedule::CellEnded{record_.id});
  note_activity();
  if (end.commit > last_commit_) ended_by_ = host;
  last_commit_ = std::max(last_commit_, end.commit);
  requests_.on_cell_ended();
  if (input_ && parent_id(input_->message) == cell.execution.value) input_.reset();
  if (end.outputs > cell.seen) {
    clients_.publish(note("[banyan: the last " + std::to_string(end.outputs - cell.seen) +
                              " messages of output are missing here]\n",
                          cell.record.request.header, gateway_.author(record_.id)));
  }
  endings_[cell.record.number] = {cell.execution, cell.record.client, host};
  tell_end(cell, end);
  if (progress_stored_) {
    gateway_.store(progress_key(record_.id), {});
    progress_stored_ = false;
  }
  const bool failed = end.status != session::Status::kOk;
  if (failed && cell.stop_on_error && !cell.record.aborts) abort_behind(cell);
  note_delivered();
  dispatch();
}

void GatewaySession::tell_end(const Cell& cell, const ExecutionEnded& end) {
  const std::uint64_t number = cell.record.number;
  if (end.reply.content.empty()) {
    const bool lost = end.status == session::Status::kLost;
    const std::string reason = end.reason.empty() ? "No reason is known" : end.reason;
    const Verdict verdict =
        lost ? Verdict{"ExecutionLost",
                       reason +
                           ". The cell may have run partly; it is not run again by itself. Variables are as "
                           "they were before the cell."}
        : end.status == session::Status::kAborted && end.reason.empty()
            ? Verdict{}
            : Verdict{"NotRun", reason + ". The cell was not run."};
    return tell_error(cell.record.client, cell.record.request, verdict, {number, 0, true},
                      end.execution_count);
  }
  if (clients_.knows(cell.record.client)) {
    jupyter::Message reply = end.reply;
    reply.channel = jupyter::Channel::kShell;
    reply.parent_header = cell.record.request.header;
    clients_.send(cell.record.client, std::move(reply), {number, 0, false});
  }
  publish_idle(cell.record.request.header, {number, 0, true});
}

/// The end of a cell that no worker has replied to.
void GatewaySession::tell_error(const ClientId& client, const jupyter::Message& request,
                                const Verdict& verdict, CellTag tag, std::uint64_t execution_count) {
  const std::string& parent = request.header;
  const bool plain = verdict.name.empty();
  CellTag middle = tag;
  middle.end = false;
  clients_.publish(status_message("busy", parent, gateway_.author(record_.id)), middle);
  if (!plain)
    clients_.publish(error_output(verdict.name, verdict.text, parent, gateway_.author(record_.id)), middle);
  if (clients_.knows(client)) {
    clients_.send(client,
                  jupyter::make_message(
                      jupyter::Channel::kShell, "execute_reply", parent,
                      plain ? aborted_content() : error_content(verdict.name, verdict.text, execution_count),
                      gateway_.author(record_.id)),
                  middle);
  }
  publish_idle(parent, tag);
  note_delivered();
}

/// An idle of another request must not hide that a cell runs.
void GatewaySession::publish_idle(const std::string& parent, CellTag tag) {
  clients_.publish(status_message("idle", parent, gateway_.author(record_.id)), tag);
  if (const Cell* const cell = running())
    clients_.publish(status_message("busy", cell->record.request.header, gateway_.author(record_.id)));
}

/// A host may know the cell, in this life of the gateway or from an earlier one, which may have made no
/// durable note of it: only the log can say how it ends.
bool GatewaySession::log_decides(const Cell& cell) const { return cell.may_have_started || recovered_; }

/// What waited when the cell failed is not run (ipykernel's stop_on_error), unless the kernel was restarted
/// in between.
void GatewaySession::abort_behind(const Cell& failed) {
  for (Cell& cell : std::exchange(queue_, {})) {
    const bool waited = cell.record.behind <= failed.record.number;
    if (waited && cell.record.restarts <= failed.record.restarts) {
      if (!log_decides(cell)) {
        judge(std::move(cell), {});
        continue;
      }
      cell.record.aborts = true;
      gateway_.store(cell_key(record_.id, cell.record.number), to_record(cell.record));
    }
    queue_.push_back(std::move(cell));
  }
}

/// What was accepted before a restart is not run. Hosts refuse those that the log has not started.
void GatewaySession::abort_before(std::uint64_t restart) {
  for (Cell& cell : std::exchange(queue_, {})) {
    if (cell.record.restarts >= restart || log_decides(cell)) {
      queue_.push_back(std::move(cell));
    } else {
      judge(std::move(cell), {});
    }
  }
}

/// The gateway itself ends a cell that no replica has started. The verdict is written before it is told: a
/// later life of the gateway must not run the cell after all.
void GatewaySession::judge(Cell cell, Verdict verdict) {
  const std::uint64_t number = cell.record.number;
  queued_bytes_ -= cell.record.request.size();
  cell.record.verdict = std::move(verdict);
  gateway_.store(cell_key(record_.id, number), to_record(cell.record), record_.id, VerdictNoted{number});
  judged_[number] = std::move(cell);
}

void GatewaySession::tell_verdict(const Cell& cell) {
  endings_[cell.record.number] = {cell.execution, cell.record.client, std::nullopt};
  tell_error(cell.record.client, cell.record.request, *cell.record.verdict, {cell.record.number, 0, true}, 0);
}

/// Follows what the clients have received: acknowledges outputs, forgets cells whose end was delivered.
void GatewaySession::note_delivered() {
  for (const auto& delivered : clients_.take_delivered()) {
    const CellTag& tag = delivered.tag;
    if (Cell* const cell = running(); cell != nullptr && cell->record.number == tag.cell) {
      const ClientId& owner = cell->record.client;
      if (delivered.client == owner || !clients_.knows(owner)) cell->taken = std::max(cell->taken, tag.seq);
    }
    const auto ending = endings_.find(tag.cell);
    if (tag.end && ending != endings_.end() && delivered.client == ending->second.client)
      end_delivered(tag.cell);
  }
  // Nobody waits for the end of a cell whose client is forgotten.
  for (auto it = endings_.begin(); it != endings_.end();) {
    const std::uint64_t number = (it++)->first;
    if (!clients_.knows(endings_.at(number).client)) end_delivered(number);
  }
  store_progress();
}

void GatewaySession::end_delivered(std::uint64_t number) {
  const auto found = endings_.find(number);
  if (found == endings_.end()) return;
  if (found->second.host)
    gateway_.send(*found->second.host, OutputDelivered{record_.id, found->second.execution, 0, true});
  gateway_.store(cell_key(record_.id, number), {});
  remember_ended(found->second.execution);
  endings_.erase(found);
}

/// A later life of the gateway goes on with the output where this one stopped.
void GatewaySession::store_progress() {
  Cell* const cell = running();
  if (cell == nullptr || progress_pending_ || cell->taken <= cell->taken_stored) return;
  if (gateway_.now().mono - cell->asked_at < kProgressAfter) return;
  cell->taken_stored = cell->taken;
  progress_pending_ = progress_stored_ = true;
  gateway_.store(progress_key(record_.id), to_record(ProgressRecord{cell->execution, cell->taken}),
                 record_.id, ProgressNoted{});
}

}  // namespace banyan::node
