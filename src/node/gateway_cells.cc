#include "node/gateway_cells.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "node/cell_directives.h"
#include "node/gateway_messages.h"

namespace banyan::node {

namespace {

constexpr std::size_t kQueueMax = 4096;     // cells
constexpr Duration kProgressAfter = 200ms;  // shorter cells are not worth a write for each output

bool stops_on_error(const jupyter::Message& request) {
  return !is_literal(request.content.view(), "stop_on_error", "false");
}

jupyter::Message note_of(GatewayContext& gateway, const SessionId& session, const AcceptedCell& cell,
                         const std::string& text) {
  return note(text, cell.record.request.header, gateway.author(session));
}

/// How many GPUs the cell is to have: one of the gateway's own needs none.
std::uint64_t gpus_of(const GatewayContext& gateway, const SessionRecord& session, const CellRecord& cell) {
  if (cell.aborts || cell.client.value.empty()) return 0;
  const std::uint64_t usual = gateway.kind_of(session.spec).demand.gpus;
  return directives_of(cell.request).gpus.value_or(usual);
}

/// A client waits for it.
bool counts(const AcceptedCell& cell) { return !cell.record.client.value.empty(); }

void note_began(GatewayContext& gateway, AcceptedCell& cell) {
  if (!std::exchange(cell.began, true) && counts(cell))
    gateway.cell_times().began(cell.has_gpus, gateway.now().mono - cell.accepted_at);
}

void note_ended(GatewayContext& gateway, const AcceptedCell& cell, session::Status status) {
  if (counts(cell)) gateway.cell_times().ended(status, cell.has_gpus, gateway.now().mono - cell.accepted_at);
}

/// Hosts are asked to end the cell, instead of to run it.
void abort_in_log(GatewayContext& gateway, const SessionId& session, CellRecord& cell) {
  cell.aborts = true;
  gateway.store(cell_key(session, cell.number), to_record(cell));
}

}  // namespace

CellQueue::CellQueue(GatewayContext& gateway, const SessionRecord& record, GatewayClients& clients,
                     const Membership& members, const ReplicaReports& reports, const Outage& outage,
                     LastUse& last_use)
    : gateway_(gateway),
      record_(record),
      clients_(clients),
      members_(members),
      outage_(outage),
      last_use_(last_use),
      last_(gateway, record, reports),
      dispatch_(gateway, record, members, reports, last_),
      progress_(gateway, record.id),
      wait_notice_(gateway, record.id, clients),
      ends_(gateway, record.id, clients) {}

void CellQueue::recover(std::map<std::uint64_t, CellRecord> cells,
                        const std::optional<ProgressRecord>& progress) {
  recovered_ = true;
  progress_.recover(progress);
  for (auto& [number, kept] : cells) {
    const auto header = jupyter::parse_header(kept.request.header);
    if (!header) continue;
    Cell cell;
    cell.execution = {header->msg_id};
    cell.stop_on_error = stops_on_error(kept.request);
    cell.may_have_started = true;
    cell.record = std::move(kept);
    cell.accepted_at = gateway_.now().mono;
    cell.has_gpus = gpus_of(gateway_, record_, cell.record) > 0;
    next_number_ = number + 1;
    clients_.expect(cell.record.client);
    if (cell.record.verdict) {
      ends_.tell_verdict(cell);
    } else {
      queued_bytes_ += cell.record.request.size();
      queue_.push_back(std::move(cell));
    }
  }
  if (!queue_.empty() && gpus_of(gateway_, record_, queue_.front().record) > 0)
    wait_notice_.recover(queue_.front().record.request.header);
  note_delivered();
}

void CellQueue::go_on() {
  paused_ = false;
  send_next();
}

void CellQueue::on_restarted(std::uint64_t restart) {
  last_.reset();
  abort_before(restart);
  if (dispatch_.busy()) dispatch_.offer_anew();  // the log says whether the cell was lost or never starts
  go_on();
}

void CellQueue::watch() {
  if (outage_.lasts()) refuse_in_outage();
  if (running() != nullptr && members_.voters().can_serve()) queue_.front().outage_told = false;
  send_next();
  dispatch_.watch();
  // A cell that has put out something runs, whoever has it: a line would go only with its output.
  if (dispatch_.kept() && progress_.seen() == 0) wait_notice_.watch(queue_.front().record.request.header);
  store_progress();
  if (const auto executor = dispatch_.executor()) progress_.tell(*executor);
}

/// Cells go first: a cell without a session is deleted when the gateway starts the next time, a session
/// without its cells would not be noticed.
void CellQueue::close() {
  for (const Cell& cell : queue_) gateway_.store(cell_key(record_.id, cell.record.number), {});
  ends_.close();
  progress_.close();
}

// ---- from clients

void CellQueue::accept(const ClientId& client, jupyter::Message request, const std::string& msg_id) {
  const ExecutionId execution{msg_id};
  if (holds(execution) || ends_.knows(execution)) return;
  last_use_.note();
  if (outage_.lasts()) return refuse(client, request, outage_.verdict());
  if (queue_.size() >= kQueueMax || queued_bytes_ + request.size() > gateway_.config().sizes.message_max) {
    return refuse(client, request,
                  {"QueueFull", "Too many cells wait already (" + std::to_string(queue_.size()) +
                                    "). The cell was not run. Interrupt the kernel, or wait."});
  }
  Cell cell;
  const std::uint64_t number = next_number_++;
  cell.record = {.number = number,
                 .client = client,
                 .request = std::move(request),
                 .restarts = record_.restarts,
                 .behind = queue_.empty() ? number : queue_.front().record.number};
  cell.execution = execution;
  // A client that did not hear the end in time says it again: the log has the answer, whatever happens here.
  cell.may_have_started = ends_.remembers(execution);
  cell.stop_on_error = stops_on_error(cell.record.request);
  cell.accepted_at = gateway_.now().mono;
  cell.has_gpus = gpus_of(gateway_, record_, cell.record) > 0;
  queued_bytes_ += cell.record.request.size();
  gateway_.store(cell_key(record_.id, number), to_record(cell.record));
  queue_.push_back(std::move(cell));
  send_next();
}

void CellQueue::refuse(const ClientId& client, const jupyter::Message& request, const Verdict& verdict) {
  ends_.refuse(client, request, verdict);
  show_busy();
  note_delivered();
}

void CellQueue::note_delivered() {
  for (const auto& [client, tag] : clients_.take_delivered()) {
    // The first cell may wait to be sent again.
    if (!queue_.empty() && queue_.front().record.number == tag.cell) {
      const ClientId& owner = queue_.front().record.client;
      if (client == owner || !clients_.knows(owner)) progress_.on_taken(tag.seq);
    }
    ends_.on_delivered(client, tag);
  }
  ends_.drop_unwanted();
  store_progress();
}

void CellQueue::store_progress() {
  const bool young = dispatch_.busy() && gateway_.now().mono - dispatch_.offered_at() < kProgressAfter;
  if (!young) progress_.store();
}

void CellQueue::on_progress_noted() {
  progress_.on_noted();
  store_progress();
}

// ---- from hosts

void CellQueue::on_output(const HostId& host, FromKernel message) {
  // It may wait to be sent again: a host sends each output once in a life of the gateway.
  if (queue_.empty() || !progress_.is_of(message.execution)) return;  // it has ended
  if (dispatch_.busy()) dispatch_.on_output(host, message.seq);
  note_began(gateway_, queue_.front());
  if (message.seq <= progress_.seen()) return;
  const Cell& cell = queue_.front();
  if (const std::uint64_t missing = message.seq - progress_.seen() - 1; missing > 0)
    clients_.publish(note_of(gateway_, record_.id, cell,
                             "[banyan: " + std::to_string(missing) +
                                 " messages of output are missing here: more came than a replica keeps]\n"));
  progress_.on_seen(message.seq);
  last_use_.note();
  clients_.publish(std::move(message.message), {cell.record.number, message.seq, false});
  note_delivered();
}

std::optional<ExecutionId> CellQueue::on_ended(const HostId& host, const ExecutionEnded& end) {
  if (!dispatch_.is(end.execution)) return std::nullopt;  // told before
  Cell cell = std::move(queue_.front());
  queue_.pop_front();
  queued_bytes_ -= cell.record.request.size();
  if (end.status != session::Status::kAborted) note_began(gateway_, cell);
  note_ended(gateway_, cell, end.status);
  wait_notice_.end();
  dispatch_.end();
  last_use_.note();
  last_.on_ended(host, end.commit);
  if (end.outputs > progress_.seen())
    clients_.publish(note_of(gateway_, record_.id, cell,
                             "[banyan: the last " + std::to_string(end.outputs - progress_.seen()) +
                                 " messages of output are missing here]\n"));
  ends_.tell(cell, host, end);
  progress_.end();
  const bool failed = end.status != session::Status::kOk;
  if (failed && cell.stop_on_error && !cell.record.aborts) abort_behind(cell);
  note_delivered();
  send_next();
  return cell.execution;
}

void CellQueue::on_declined(const HostId& host, const ExecutionDeclined& answer) {
  if (dispatch_.is(answer.execution)) dispatch_.on_declined(host, answer);
}

void CellQueue::on_decision(const schedule::CellDecision& decision) {
  const auto* const refuse = std::get_if<schedule::RefuseCell>(&decision.what);
  if (refuse == nullptr) {
    dispatch_.on_decision(decision);
    if (!dispatch_.kept() && !dispatch_.offered()) wait_notice_.end();
    return;
  }
  if (!dispatch_.answers(decision)) return;
  if (dispatch_.may_have_begun()) return leave_to_log();
  end_first({"NoExecutor", refuse->for_ever ? refuse->reason + ". It was not run."
                                            : "No replica of the session can run the cell now (" +
                                                  refuse->reason + "). It was not run; run it again later."});
  send_next();
}

bool CellQueue::interrupt() {
  if (!dispatch_.kept()) return false;
  if (!dispatch_.waits()) {
    leave_to_log();
    return false;
  }
  const Cell first = queue_.front();
  end_first({"KeyboardInterrupt", "The cell waited for a host that can run it, and was not run."});
  if (first.stop_on_error) abort_behind(first);
  send_next();
  return true;
}

void CellQueue::end_first(Verdict verdict) {
  Cell first = std::move(queue_.front());
  queue_.pop_front();
  stop_running();
  judge(std::move(first), std::move(verdict));
}

/// The first cell is not to run, but may have begun.
void CellQueue::leave_to_log() {
  queue_.front().may_have_started = true;
  abort_in_log(gateway_, record_.id, queue_.front().record);
  wait_notice_.end();
  dispatch_.end();
  send_next();
}

void CellQueue::on_report(const ReplicaReport& report) {
  hosts_know(report.newest);
  dispatch_.on_report(report);
  if (dispatch_.executor() && !queue_.empty()) note_began(gateway_, queue_.front());
}

/// An earlier life of the gateway may have sent a cell and died before its note of it was durable. When the
/// client says it again, the log has the answer.
void CellQueue::hosts_know(const ExecutionId& execution) {
  if (execution.value.empty()) return;
  const auto found = std::ranges::find(queue_, execution, &Cell::execution);
  if (found != queue_.end()) {
    found->may_have_started = true;
    if (dispatch_.is(execution)) dispatch_.note_may_have_begun();
  } else if (!ends_.knows(execution)) {
    ends_.remember(execution);
  }
}

void CellQueue::send_next() {
  if (queue_.empty() || paused_ || dispatch_.busy() || !members_.voters().can_serve()) return;
  const Cell& cell = queue_.front();
  progress_.begin(cell.execution);
  dispatch_.begin(Execute{.session = record_.id,
                          .execution = cell.execution,
                          .request = cell.record.request,
                          .lead = {},
                          .outputs_seen = progress_.seen(),
                          .restarts = cell.record.restarts,
                          .aborts = cell.record.aborts,
                          .gpus = gpus_of(gateway_, record_, cell.record)},
                  log_decides(cell));
}

// ---- ending

/// The gateway itself ends a cell that no replica has started.
void CellQueue::judge(Cell cell, Verdict verdict) {
  queued_bytes_ -= cell.record.request.size();
  note_ended(gateway_, cell, session::Status::kAborted);
  ends_.judge({std::move(cell.record), std::move(cell.execution)}, std::move(verdict));
}

void CellQueue::on_verdict_noted(std::uint64_t number) {
  ends_.on_noted(number);
  show_busy();
  note_delivered();
}

/// The cell that is with the hosts is not to run.
void CellQueue::stop_running() {
  wait_notice_.end();
  dispatch_.end();
  progress_.end();
}

/// Gives this verdict on the cells that `ends` names, also on the one that is with the hosts.
void CellQueue::end_where(const std::function<bool(Cell&)>& ends, const Verdict& verdict) {
  bool asks_for_first = dispatch_.busy();
  for (Cell& cell : std::exchange(queue_, {})) {
    const bool running = std::exchange(asks_for_first, false);
    if (ends(cell)) {
      if (running) stop_running();
      judge(std::move(cell), verdict);
    } else {
      queue_.push_back(std::move(cell));
    }
  }
}

/// What was never sent cannot have started: it is refused. The rest waits for what the log says.
void CellQueue::refuse_in_outage() {
  end_where([this](const Cell& cell) { return !may_have_started(cell); }, outage_.verdict());
  if (queue_.empty() || std::exchange(queue_.front().outage_told, true)) return;
  clients_.publish(
      note_of(gateway_, record_.id, queue_.front(),
              "[banyan: " + outage_.reason() + " This cell may have run; how it ended will show then.]\n"));
}

/// What waited when the cell failed is not run (ipykernel's stop_on_error), unless the kernel was restarted
/// in between.
void CellQueue::abort_behind(const Cell& failed) {
  const auto ends = [&](Cell& cell) {
    const bool waited = cell.record.behind <= failed.record.number;
    if (!waited || cell.record.restarts > failed.record.restarts) return false;
    if (!log_decides(cell)) return true;
    abort_in_log(gateway_, record_.id, cell.record);
    return false;
  };
  end_where(ends, {});
}

/// What was accepted before a restart is not run. Hosts refuse those that the log has not started.
void CellQueue::abort_before(std::uint64_t restart) {
  end_where([&](const Cell& cell) { return cell.record.restarts < restart && !log_decides(cell); }, {});
}

bool CellQueue::may_have_started(const Cell& cell) const {
  const bool asked = dispatch_.is(cell.execution) && dispatch_.sent() && !dispatch_.waits();
  return cell.may_have_started || asked;
}

/// A host may know the cell, in this life of the gateway or from an earlier one, which may have made no
/// durable note of it: only the log can say how it ends.
bool CellQueue::log_decides(const Cell& cell) const { return recovered_ || may_have_started(cell); }

// ---- what is known

void CellQueue::show_busy() {
  if (const AcceptedCell* const cell = running())
    clients_.publish(status_message("busy", cell->record.request.header, gateway_.author(record_.id)));
}

const AcceptedCell* CellQueue::running() const {
  if (!dispatch_.busy()) return nullptr;
  CHECK(!queue_.empty(), "the cell that is with the hosts is the first of the queue");
  return &queue_.front();
}

std::vector<const AcceptedCell*> CellQueue::accepted() const {
  std::vector<const AcceptedCell*> cells;
  for (const Cell& cell : queue_) cells.push_back(&cell);
  return cells;
}

bool CellQueue::holds(const ExecutionId& execution) const {
  return std::ranges::find(queue_, execution, &Cell::execution) != queue_.end();
}

std::optional<HostId> CellQueue::executor() const {
  const std::optional<HostId> host = dispatch_.host();
  return host ? host : last_.host();
}

}  // namespace banyan::node
