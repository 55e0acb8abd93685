// A session's life at the gateway: from its record to its end, with the hosts and clients that come and go.

#include "node/gateway_session.h"

#include <algorithm>
#include <utility>

#include "node/gateway_messages.h"
#include "node/gateway_models.h"

namespace banyan::node {

namespace {
constexpr Duration kRestartMax = 30s;  // below the request timeout of stock clients, 42 s
constexpr Duration kRestartAgain = 1s;
constexpr Duration kReportsCome = 100ms;
}  // namespace

GatewaySession::GatewaySession(GatewayContext& gateway, SessionRecord record)
    : gateway_(gateway),
      record_(std::move(record)),
      members_(gateway, record_),
      clients_(gateway, record_.id),
      activity_(gateway.now().wall),
      requests_(gateway, record_.id, members_),
      transfers_(gateway, record_.id) {}

void GatewaySession::found() {
  gateway_.store(session_key(record_.id), to_record(record_), record_.id, SessionNoted{});
}

void GatewaySession::recover(StoredSession stored) {
  exists_ = true;
  recovered_ = true;
  for (auto& [number, kept] : stored.cells) {
    const auto header = jupyter::parse_header(kept.request.header);
    if (!header) continue;
    Cell cell;
    cell.execution = {header->msg_id};
    cell.stop_on_error = !is_literal(kept.request.content.view(), "stop_on_error", "false");
    cell.may_have_started = true;
    if (stored.progress && stored.progress->execution == cell.execution)
      cell.seen = cell.taken = cell.taken_stored = cell.taken_noted = stored.progress->seq;
    cell.record = std::move(kept);
    next_cell_ = number + 1;
    clients_.expect(cell.record.client);
    if (cell.record.verdict) {
      tell_verdict(cell);
    } else {
      queued_bytes_ += cell.record.request.size();
      queue_.push_back(std::move(cell));
    }
  }
  progress_stored_ = stored.progress.has_value();
}

void GatewaySession::noted(const Noted& noted) {
  if (std::holds_alternative<SessionNoted>(noted)) {
    exists_ = true;
    members_.on_founded();
    dispatch();
  } else if (const auto* members = std::get_if<MembersNoted>(&noted)) {
    members_.on_noted(members->wish);
  } else if (const auto* restart = std::get_if<RestartNoted>(&noted)) {
    if (!restarting_ || restarting_->request != restart->request) return;
    restarting_->noted = true;
    send_restart();
  } else if (const auto* verdict = std::get_if<VerdictNoted>(&noted)) {
    const auto judged = judged_.find(verdict->cell);
    if (judged == judged_.end()) return;
    const Cell cell = std::move(judged->second);
    judged_.erase(judged);
    tell_verdict(cell);
  } else {
    progress_pending_ = false;
    if (Cell* const cell = running()) cell->taken_noted = cell->taken_stored;
    store_progress();
  }
}

void GatewaySession::tick() {
  if (!exists_) return;
  watch_quorum();
  watch_cell();
  store_progress();
  if (Cell* const cell = running();
      cell != nullptr && cell->executor && cell->taken_noted > cell->taken_told) {
    cell->taken_told = cell->taken_noted;
    gateway_.send(*cell->executor, OutputDelivered{record_.id, cell->execution, cell->taken_noted, false});
  }
  watch_restart();
  watch_questions();
  ask_elsewhere(members_.watch(activity()));
  watch_operation();
  tell_idle();
  transfers_.tick();
  for (const ClientId& client : clients_.forget_absent())
    gateway_.log(Log::Level::kInfo, "session " + record_.id.value + ": client " + client.value +
                                        " is away for long; what waited for it is dropped");
  note_delivered();
}

void GatewaySession::close() {
  clients_.close_all(1000, "the kernel was shut down");
  if (restarting_) {
    for (const RequestId& request : restarting_->replies)
      gateway_.emit(HttpReply{request, 404, {}, error_body(404, "The kernel was shut down meanwhile.")});
  }
  for (const auto& [id, question] : questions_) {
    if (question.request)
      gateway_.emit(
          HttpReply{*question.request, 404, {}, error_body(404, "The kernel was shut down meanwhile.")});
  }
  if (operation_) end_operation(404, "The kernel was shut down meanwhile.");
  transfers_.close();
  members_.close();
  // Cells first: a cell without a session is deleted at the next start, a session without its cells is not
  // noticed.
  for (const Cell& cell : queue_) gateway_.store(cell_key(record_.id, cell.record.number), {});
  for (const auto& [number, cell] : judged_) gateway_.store(cell_key(record_.id, number), {});
  for (const auto& [number, ending] : endings_) gateway_.store(cell_key(record_.id, number), {});
  if (progress_stored_) gateway_.store(progress_key(record_.id), {});
  gateway_.store(session_key(record_.id), {});
  gateway_.tell(schedule::SessionClosed{record_.id});
}

void GatewaySession::host_up(const HostId& host, bool anew) {
  if (!exists_) return;
  if (anew) members_.on_new_life(host);
  dispatch();
  route_waiting();
}

void GatewaySession::host_down(const HostId& host) {
  cell_host_gone(host);
  lose_requests(host);
}

void GatewaySession::host_restarted(const HostId& host) {
  if (Cell* const cell = running()) cell->holders.erase(host);
  cell_host_gone(host);
  lose_requests(host);
}

/// Whoever was to run the cell cannot be heard: the next replica is asked at once. If the cell runs already,
/// the log says so, and the other replica answers when it has ended.
void GatewaySession::cell_host_gone(const HostId& host) {
  Cell* const cell = running();
  if (cell == nullptr || (cell->executor ? cell->executor : cell->lead) != host) return;
  cell->passed_over.insert(host);
  ask(*cell);
}

void GatewaySession::ask_elsewhere(const Membership::Departed& hosts) {
  for (const HostId& host : hosts) cell_host_gone(host);
}

SessionActivity GatewaySession::activity() const {
  const Cell* const cell = running();
  SessionActivity activity{.runs_cell = cell != nullptr,
                           .executor_known = cell == nullptr || cell->executor,
                           .executor = {},
                           .moves_to = {}};
  if (members_.has_surplus()) activity.executor = executor_host();
  if (operation_ && operation_->kind == Operation::Kind::kMigrate) activity.moves_to = operation_->to;
  return activity;
}

Executing GatewaySession::executing() const {
  return {.executor = executor_host(),
          .runs_cell = running() != nullptr,
          .last_commit = last_commit_,
          .ended_by = ended_by_};
}

void GatewaySession::place(const HostId& host) {
  if (exists_) members_.on_place(host, activity());
}

void GatewaySession::no_host() {
  if (exists_) members_.on_no_host(activity());
}

void GatewaySession::reported(const HostId& host, const ReplicaReport& report) {
  const auto member = record_.members.find(report.replica);
  if (member == record_.members.end() || member->second.host != host) {
    if (record_.committed.contains(report.replica)) return;  // it leaves when the log says so
    // The host has opened what an earlier life of the gateway asked it for, after it had told this one what
    // it held. What it was asked for since it has ignored.
    gateway_.send(host, CloseReplica{record_.id, report.replica});
    if (members_.noted()) members_.on_noted(record_.wishes);
    return;
  }
  ask_elsewhere(members_.on_report(host, report));
  hosts_know(report.newest);
  if (Cell* const cell = running(); cell != nullptr && report.running == cell->execution && !cell->executor) {
    const auto executor = record_.committed.find(report.executor);
    if (executor != record_.committed.end() && gateway_.usable(executor->second)) {
      cell->executor = executor->second;
      cell->ask_at.reset();
      gateway_.tell(schedule::CellRuns{record_.id, *cell->executor});
      // It may run for an earlier life of the gateway, and tells only those who ask.
      if (!cell->holders.contains(*cell->executor)) send_execute(*cell, report.executor, *cell->executor);
    }
  }
  if (requests_.miss_worker(host, report)) lose_requests(host);
  dispatch();
  route_waiting();
  if (operation_) watch_operation();
}

std::string_view GatewaySession::state() const {
  if (members_.beyond_repair()) return "dead";
  if (restarting_) return "restarting";
  if (!queue_.empty()) return "busy";
  return members_.worker_ready() || suspended() ? "idle" : "starting";
}

std::string GatewaySession::reason() const {
  if (!exists_ || can_serve()) return {};
  const std::size_t voters = record_.committed.size();
  const std::size_t up = members_.replicas_up();
  if (members_.beyond_repair())
    return "Too many of the session's replicas have lost their data (" + std::to_string(members_.lost()) +
           " of " + std::to_string(voters) + "); it cannot go on. Shut the kernel down and start a new one.";
  std::string down;
  for (const auto& [replica, host] : record_.committed) {
    if (!gateway_.usable(host)) down += (down.empty() ? "" : ", ") + host.value;
  }
  return "Only " + std::to_string(up) + " of the session's " + std::to_string(voters) +
         (up == 1 ? " replicas is up" : " replicas are up") + ", and a cell needs " +
         std::to_string(voters / 2 + 1) + "; not up: " + down +
         ". Start these hosts again (`banyan hosts` shows them), then run the cell again.";
}

std::optional<HostId> GatewaySession::last_executor() const {
  const ReplicaReport* const newest = newest_report();
  if (newest == nullptr) return std::nullopt;
  // Ends overtake reports: who told the last one has that commit, others may not.
  const bool outdated = newest->last < last_commit_;
  if (outdated && ended_by_ && gateway_.usable(*ended_by_) && members_.member_on(*ended_by_))
    return ended_by_;
  // Before the first cell, and when the executor has left, the leader is the best guess: its proposals need
  // no detour.
  bool leaves = false;
  for (const ReplicaId replica : {newest->executor, newest->leader}) {
    const auto member = record_.committed.find(replica);
    if (member == record_.committed.end()) continue;
    if (members_.member_on(member->second)) return member->second;
    leaves = true;  // the next cell would be lost with it
  }
  for (const auto& [replica, host] : record_.committed)
    if (leaves && members_.member_on(host) && gateway_.usable(host)) return host;
  return std::nullopt;
}

std::optional<HostId> GatewaySession::executor_host() const {
  if (const Cell* const cell = running()) {
    if (cell->executor) return cell->executor;
    if (cell->lead) return cell->lead;
  }
  return last_executor();
}

void GatewaySession::open_client(ConnectionId connection, const ClientId& client, ClientManner manner) {
  const bool ask_again = input_ && (input_->client == client ? !clients_.has_yet_to_get(client, input_->place)
                                                             : !clients_.connected(input_->client));
  clients_.attach(connection, client, manner);
  if (const Cell* const cell = running())
    clients_.send(client, status_message("busy", cell->record.request.header, gateway_.author(record_.id)));
  if (ask_again) {
    const std::uint64_t place = clients_.send(client, input_->message);
    if (input_->client == client) input_->place = place;
  }
  note_delivered();
}

void GatewaySession::drained(ConnectionId connection, std::uint64_t bytes) {
  clients_.drained(connection, bytes);
  note_delivered();
}

void GatewaySession::confirmed(ConnectionId connection, std::uint64_t messages) {
  clients_.confirmed(connection, messages);
  note_delivered();
}

void GatewaySession::close_client(ConnectionId connection) {
  clients_.detach(connection);
  note_delivered();
}

void GatewaySession::set_notebook(std::optional<Notebook> notebook) {
  record_.notebook = std::move(notebook);
  store_record();
}

void GatewaySession::restart(std::optional<RequestId> request) {
  note_activity();
  if (!restarting_) {
    restarting_ = Restarting{.request = ++record_.restarts, .since = gateway_.now().mono};
    gateway_.store(session_key(record_.id), to_record(record_), record_.id, RestartNoted{record_.restarts});
  }
  if (request) restarting_->replies.push_back(*request);
}

void GatewaySession::send_restart() {
  restarting_->sent_at = gateway_.now().mono;
  for (const auto& [replica, host] : record_.committed) {
    if (gateway_.usable(host)) gateway_.send(host, Restart{record_.id, restarting_->request});
  }
}

/// Whoever is asked may be down, or leave the session: the others are asked too. The hosts go on with it
/// after its time; only the client that waits is told.
void GatewaySession::watch_restart() {
  if (!restarting_) return;
  const Time now = gateway_.now().mono;
  if (restarting_->committed_at) {
    // Clients expect a kernel that is ready; reports of the workers before are older than this.
    if (now - *restarting_->committed_at >= kReportsCome && (members_.worker_ready() || suspended()))
      return finish_restart();
  } else if (restarting_->noted && now - restarting_->sent_at >= kRestartAgain) {
    send_restart();
  }
  if (now - restarting_->since < kRestartMax) return;
  const std::string why = reason();
  const std::string text = "The restart has not finished within 30 s and goes on. " +
                           (why.empty() ? "Look at the kernel's state again later." : why);
  for (const RequestId& request : std::exchange(restarting_->replies, {}))
    gateway_.emit(HttpReply{request, 504, {}, error_body(504, text)});
}

void GatewaySession::restarted(const Restarted& answer) {
  if (restarting_ && restarting_->request == answer.request && !restarting_->committed_at)
    restarting_->committed_at = gateway_.now().mono;
}

void GatewaySession::finish_restart() {
  const Restarting done = std::move(*restarting_);
  restarting_.reset();
  last_commit_ = {};
  ended_by_.reset();
  input_.reset();
  gateway_.tell(schedule::CellEnded{record_.id});
  abort_before(done.request);
  if (Cell* const cell = running()) {  // the log says whether it was lost or never starts
    cell->passed_over.clear();
    ask(*cell);
  }
  dispatch();
  const auto& committed = record_.committed;
  for (const auto& [replica, host] : committed) lose_requests(host);
  note_activity();
  for (const RequestId& request : done.replies)
    gateway_.emit(HttpReply{request, 200, {}, kernel_model(*this)});
  for (const auto& [client, request] : done.shutdowns)
    answer(client, request, R"({"status":"ok","restart":true})");
}

}  // namespace banyan::node
