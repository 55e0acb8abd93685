#include "node/gateway_session.h"

#include <utility>

#include "base/overloaded.h"

namespace banyan::node {

GatewaySession::GatewaySession(GatewayContext& gateway, SessionRecord record)
    : gateway_(gateway),
      record_(std::move(record)),
      last_use_(gateway),
      reports_(gateway, record_),
      members_(gateway, record_),
      clients_(gateway, record_.id),
      outage_(gateway, record_, members_),
      cells_(gateway, record_, clients_, members_, reports_, outage_, last_use_),
      restarts_(gateway, record_, reports_, outage_, cells_, last_use_),
      channels_(gateway, record_, clients_, reports_, cells_, restarts_, last_use_),
      questions_(gateway, record_, members_, reports_, outage_, cells_, channels_, last_use_),
      operations_(gateway, record_, members_, reports_, cells_, restarts_, channels_, questions_, last_use_),
      transfers_(gateway, record_.id) {}

void GatewaySession::found() {
  gateway_.store(session_key(record_.id), to_record(record_), record_.id, SessionNoted{});
}

void GatewaySession::recover(StoredSession stored) {
  exists_ = true;
  cells_.recover(std::move(stored.cells), stored.progress);
  cells_.go_on();
}

void GatewaySession::noted(const Noted& noted) {
  std::visit(Overloaded{
                 [&](const SessionNoted&) {
                   exists_ = true;
                   members_.on_founded();
                   cells_.go_on();
                 },
                 [&](const MembersNoted& members) { members_.on_noted(members.wish); },
                 [&](const RestartNoted& restart) { restarts_.on_noted(restart.request); },
                 [&](const VerdictNoted& verdict) { cells_.on_verdict_noted(verdict.cell); },
                 [&](const ProgressNoted&) { cells_.on_progress_noted(); },
             },
             noted);
}

std::vector<RequestId> GatewaySession::tick() {
  if (!exists_) return {};
  outage_.watch();
  cells_.watch();
  questions_.watch();
  ask_elsewhere(members_.watch(activity()));
  operations_.watch();
  operations_.tell_idle();
  operations_.tell_suspended();
  transfers_.tick();
  for (const ClientId& client : clients_.forget_absent())
    gateway_.log(Log::Level::kInfo, "session " + record_.id.value + ": client " + client.value +
                                        " is away for long; what waited for it is dropped");
  cells_.note_delivered();
  return finish_restart();
}

std::set<HostId> GatewaySession::close() {
  clients_.close_all(1000, "the kernel was shut down");
  // Before its cells' records: a session without some of its cells would go on without them.
  gateway_.store(session_key(record_.id), {}, EndNoted{record_.id});
  restarts_.close();
  questions_.close();
  operations_.close();
  transfers_.close();
  cells_.close();
  gateway_.tell(schedule::SessionClosed{record_.id});
  return members_.holders();
}

// ---- hosts

void GatewaySession::host_up(const HostId& host, bool anew) {
  if (!exists_) return;
  if (anew) members_.on_new_life(host);
  cells_.send_next();
  channels_.route_waiting();
}

void GatewaySession::host_down(const HostId& host) {
  cells_.on_host_gone(host);
  channels_.on_worker_gone(host);
}

void GatewaySession::host_restarted(const HostId& host) {
  cells_.on_host_restarted(host);
  channels_.on_worker_gone(host);
}

void GatewaySession::ask_elsewhere(const Membership::Departed& hosts) {
  for (const HostId& host : hosts) cells_.on_host_gone(host);
}

void GatewaySession::reported(const HostId& host, const ReplicaReport& report) {
  const auto departed = members_.on_report(host, report);
  if (!departed) return;
  ask_elsewhere(*departed);
  cells_.on_report(report);
  channels_.on_report(host, report);
  cells_.send_next();
  channels_.route_waiting();
  operations_.on_report();
}

void GatewaySession::from_kernel(const HostId& host, FromKernel message) {
  if (message.seq != 0) {
    cells_.on_output(host, std::move(message));
  } else {
    channels_.from_kernel(std::move(message.message));
  }
}

void GatewaySession::ended(const HostId& host, const ExecutionEnded& end) {
  if (const auto cell = cells_.on_ended(host, end)) channels_.on_cell_ended(*cell);
}

void GatewaySession::answered(const SessionAnswer& answer) {
  questions_.on_answer(answer);
  operations_.on_answer(answer);
}

// ---- decisions

/// What of the session bears on who may leave it.
SessionActivity GatewaySession::activity() const {
  const bool busy = cells_.dispatch().busy() && !cells_.dispatch().waits();
  SessionActivity activity{.runs_cell = busy,
                           .executor_known = !busy || cells_.dispatch().executor(),
                           .executor = {},
                           .moves_to = operations_.moves_to()};
  if (members_.has_surplus()) activity.executor = cells_.executor();
  return activity;
}

void GatewaySession::place(const HostId& host) {
  if (exists_) members_.on_place(host, activity());
}

void GatewaySession::no_host() {
  if (exists_) members_.on_no_host(activity());
}

void GatewaySession::decide(const schedule::CellDecision& decision) {
  cells_.on_decision(decision);
  channels_.route_waiting();
}

// ---- clients

void GatewaySession::drained(ConnectionId connection, std::uint64_t bytes) {
  clients_.drained(connection, bytes);
  cells_.note_delivered();
}

void GatewaySession::confirmed(ConnectionId connection, std::uint64_t messages) {
  clients_.confirmed(connection, messages);
  cells_.note_delivered();
}

void GatewaySession::close_client(ConnectionId connection) {
  clients_.detach(connection);
  cells_.note_delivered();
}

// ---- REST

void GatewaySession::set_notebook(std::optional<Notebook> notebook) {
  record_.notebook = std::move(notebook);
  gateway_.store(session_key(record_.id), to_record(record_));
}

std::vector<RequestId> GatewaySession::finish_restart() {
  auto done = restarts_.watch();
  if (!done) return {};
  channels_.on_restarted(*done);
  last_use_.note();
  return std::move(done->requests);
}

std::string_view GatewaySession::state() const {
  if (members_.voters().beyond_repair()) return "dead";
  if (restarts_.under_way()) return "restarting";
  if (!cells_.empty()) return "busy";
  return reports_.worker_ready() || reports_.suspended() ? "idle" : "starting";
}

std::string GatewaySession::reason() const { return exists_ ? outage_.reason() : std::string(); }

}  // namespace banyan::node
