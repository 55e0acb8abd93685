// A replica's life, the batches of its log, and what committed commands mean here.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/codec.h"
#include "node/replica.h"

namespace banyan::node {

Replica::Replica(const Shared& shared, SessionId session, GroupLog log)
    : host_(shared.host),
      chunks_(shared.chunks),
      speeds_(shared.speeds),
      session_id_(std::move(session)),
      id_(log.id()),
      log_(std::move(log)),
      upkeep_(shared.host, log_),
      lease_(shared.host),
      chunk_sync_(shared.host, shared.chunks, shared.speeds, session_id_),
      build_(shared.host, session_id_),
      beside_(shared.host, session_id_),
      questions_(shared.host, session_id_) {}

Result<std::unique_ptr<Replica>> Replica::open(const Shared& shared, const OpenReplica& request) {
  auto log = GroupLog::open(shared.host, request);
  if (!log) return tl::unexpected(log.error());
  std::unique_ptr<Replica> replica(new Replica(shared, request.session, std::move(*log)));
  replica->born_ = false;
  shared.host.birth(request.session);
  replica->pump();
  replica->launch_worker();
  // The founders need not wait for a timeout to find out who leads.
  if (request.origin == Origin::kFounding && request.members.begin()->first == request.replica)
    replica->log_.campaign();
  replica->pump();
  return replica;
}

Result<std::unique_ptr<Replica>> Replica::recover(const Shared& shared, StoredReplica stored) {
  SessionId session = stored.session;
  auto log = GroupLog::recover(shared.host, std::move(stored));
  if (!log) return tl::unexpected(log.error());
  std::unique_ptr<Replica> replica(new Replica(shared, std::move(session), std::move(*log)));
  // Another executor may have been granted a lease in the life before.
  replica->lease_.another_begins();
  replica->pump();
  replica->launch_worker();
  return replica;
}

Result<std::unique_ptr<Replica>> Replica::wake(const Shared& shared, StoredReplica stored, bool campaign) {
  auto replica = recover(shared, std::move(stored));
  if (!replica) return replica;
  (*replica)->lease_.nobody_has_it();  // no cell ran when it hibernated
  if (campaign) (*replica)->log_.campaign();
  (*replica)->pump();
  return replica;
}

/// Suspended, with nothing under way that is not in its log.
bool Replica::at_rest() const {
  return session_ && session_->suspended() && !session_->running() && !worker_ && !cell_ && !waiting_ &&
         !lease_.is_another_held() && !preparing() && questions_.empty() && !beside_.some_wait() &&
         upkeep_.at_rest() && chunk_sync_.at_rest() && log_.at_rest();
}

std::optional<Replica::Tired> Replica::tired() const {
  const bool due = resting_since_ && host_.now().mono - *resting_since_ >= host_.timing().hibernate_after;
  if (!due || !log_.leads() || !at_rest()) return std::nullopt;
  Tired tired{.word = log_.rest(), .hosts = {}};
  for (const auto& [id, host] : session_->members())
    if (id != id_) tired.hosts.push_back(host);
  if (!std::ranges::all_of(tired.hosts, [this](const HostId& host) { return host_.reachable(host); }))
    return std::nullopt;
  return tired;
}

bool Replica::follows(const HostId& from, const Hibernate& said) const {
  return at_rest() && log_.agrees(from, said);
}

void Replica::close() {
  kill_worker();
  chunk_sync_.close();
  host_.drop_replica(session_id_);
}

void Replica::raft_message(const HostId& from, const raft::Message& message) {
  if (std::holds_alternative<raft::ReadRequest>(message.body) ||
      std::holds_alternative<raft::Forward>(message.body))
    resting_since_.reset();  // a follower is asked something
  // It counts for the group before it is durable, and installed.
  if (std::holds_alternative<raft::InstallSnapshot>(message.body)) host_.stir(session_id_);
  log_.on_message(from, message);
  pump();
}

void Replica::born() {
  born_ = true;
  host_.report_soon(session_id_);
}

void Replica::persisted(raft::WriteToken token) {
  log_.on_persisted(token);
  pump();
}

void Replica::tick(int raft_ticks) {
  log_.on_ticks(raft_ticks);
  const Time now = host_.now().mono;
  if (session_) upkeep_.tend(*session_, cell_ ? cell_->execution() : ExecutionId{});
  start_waiting_cell();
  if (cell_) {
    cell_->repeat_if_due(*session_);
    if (cell_->has_started()) cell_->outputs.send();
    cell_->renew_lease(Lease::Renewal::kInTime);
    go_if_allowed();
    if (cell_->runs_user_code() && lease_.is_over()) {
      launch_.last_death = "its host was cut off from the session's majority";
      kill_worker();
      end_by_death(launch_.last_death);
    }
  }
  if (kill_at_ && *kill_at_ <= now) {
    kill_at_.reset();
    if (worker_) host_.emit(StopWorker{worker_->id, Stop::kKill});
  }
  tend_worker();
  if (worker_ && session_ && worker_->view.give_up_long_repeat(*session_)) {
    kill_worker();
    launch_worker();
  }
  beside_.say_what_is_missing();
  if (!at_rest()) {
    resting_since_.reset();
  } else if (!resting_since_) {
    resting_since_ = now;
  }
  if (session_) chunk_sync_.fetch(standing());
  if (worker_ && session_) sync_view();
  if (worker_ && session_) tell_progress();
  confirm_questions();
  give_up_questions();
  pump();
}

void Replica::tick_log(int raft_ticks) {
  log_.on_ticks(raft_ticks);
  pump();
}

/// A suspended session is not calm before it hibernates: how long nothing has happened in it is looked at.
/// Nor is one that lacks chunks for good: it goes on asking for them.
bool Replica::is_calm() const {
  const bool nothing_waits = !cell_ && !preparing() && questions_.empty() && beside_.at_rest() &&
                             chunk_sync_.at_rest() && chunk_sync_.lost() == 0;
  if (!nothing_waits || !joined() || session_->suspended() || !upkeep_.is_done(*session_)) return false;
  return !wants_worker() || (worker_at_head() && worker_->phase == WorkerPhase::kReady);
}

void Replica::peer_down(const HostId& peer) {
  if (log_.on_peer_down(peer)) pump();
}

/// Also called while entries are applied: what comes of them waits until all of the batch are.
void Replica::pump() {
  if (std::exchange(pumping_, true)) return;
  while (auto batch = log_.take()) {
    if (batch->install || !batch->committed.empty() || !batch->reads.empty() || batch->role)
      host_.stir(session_id_);
    if (batch->install) install(*batch->install);
    for (const raft::Entry& entry : batch->committed) apply(entry);
    if (session_) upkeep_.on_batch(*session_);
    log_.send(std::move(batch->messages));
    for (const raft::ReadState& read : batch->reads) {
      lease_confirmed(read);
      questions_.on_read(read);
    }
    answer_questions();
    if (batch->role) role_changed(*batch->role);
    if (session_ && log_.is_compaction_due()) log_.compact(session_->snapshot());
  }
  if (joined() && launch_.at && *launch_.at <= host_.now().mono) launch_worker();
  pumping_ = false;
}

/// A bid, a commit or a read may be lost with the leader that it went to, or there was none to take it: a new
/// leader gets it at once. One that comes twice changes nothing.
void Replica::role_changed(const raft::RoleChange& role) {
  if (role.leader == raft::kNobody) return;
  questions_.leader_changed();
  confirm_questions();
  if (cell_) cell_->on_new_leader(*session_);
}

void Replica::install(const raft::Snapshot& snapshot) {
  if (!snapshot.data.empty()) {
    auto restored = session::Session::restore(snapshot.data);
    CHECK(restored.has_value(), "a snapshot that Raft accepted does not decode");
    adopt(std::move(*restored));
  }
  log_.on_installed(snapshot.index);
}

void Replica::adopt(session::Session session) {
  const bool later = session_.has_value();
  session_ = std::move(session);
  host_.report_soon(session_id_);
  log_.learn_hosts(session_->members());
  upkeep_.look(*session_);
  chunk_sync_.adopt(*session_);
  chunk_sync_.release_ended(*session_);
  // What happened between the old state and this one is not told one by one.
  if (later) lease_.another_begins();
  if (cell_ && session_->find(cell_->execution()) != nullptr) {
    if (worker_ && cell_->is_forwarded()) worker_->diverged = true;
    answer_own(*session_->find(cell_->execution()));
    drop_cell();
  } else if (cell_ && !cell_->has_started() && session_->running() &&
             session_->running()->execution == cell_->execution()) {
    const session::Running& won = *session_->running();
    happened(session::Started{won.execution, won.epoch, won.executor, won.life});
  }
}

void Replica::apply(const raft::Entry& entry) {
  if (entry.type == raft::EntryType::kCommand) {
    auto command = decode<session::Command>(entry.data.view());
    CHECK(command.has_value(), "a committed command does not decode");
    apply_command(std::move(*command));
  } else if (entry.type == raft::EntryType::kChange) {
    const auto change = decode<raft::Change>(entry.data.view());
    CHECK(change.has_value(), "a committed membership change does not decode");
    host_.report_soon(session_id_);
    if (!change->context.empty()) {
      auto members = decode<session::SetMembers>(change->context.view());
      CHECK(members.has_value(), "a membership change carries no members");
      apply_command(std::move(*members));
    }
  }
  log_.on_applied(entry);
}

void Replica::apply_command(session::Command command) {
  CHECK(session_.has_value(), "a command is committed before the session's first state");
  const auto events = session_->apply(std::move(command));
  for (const session::Event& event : events) std::visit([this](const auto& e) { happened(e); }, event);
}

void Replica::happened(const session::Started& event) {
  if (event.executor != id_) lead_has_gone();
  if (!cell_ || cell_->execution() != event.execution) return;
  if (event.executor != id_) return drop_cell();  // the gateway hears it from there
  if (event.life != host_.life()) return leave_to_log();
  cell_->on_started(event.epoch);
  if (cell_->is_forwarded() && !worker_at_head()) {  // commits came in between: the cell must see them
    worker_->diverged = true;
    kill_worker();
    launch_worker();
  }
  lease_.begin(cell_->bid_at());
  cell_->outputs.send();
  sync_view();
  go_if_allowed();
  if (launch_.failures >= 3 && !worker_) end_by_death("its worker cannot start: " + launch_.last_death);
  if (cell_)
    cell_->finish_if_complete(*session_);  // a blank cell has no fence: its worker may have ended it already
}

void Replica::happened(const session::BidLost& event) {
  if (!cell_ || event.replica != id_ || cell_->execution() != event.execution) return;
  if (const session::Ended* ended = session_->find(event.execution)) {
    answer_own(*ended);
    drop_cell();
  } else if (refuse_outdated(cell_->execution(), cell_->restarts())) {
    drop_cell();
  } else if (session_->running() && session_->running()->execution == event.execution) {
    drop_cell();  // another replica runs it
  } else {
    cell_->on_bid_lost();
  }
}

void Replica::happened(const session::AllYielded& event) {
  to_gateway(ExecutionDeclined{session_id_, event.execution, "no replica of the session can run a cell now"});
  if (cell_ && cell_->execution() == event.execution) drop_cell();
}

void Replica::happened(const session::CellEnded& event) {
  const session::Ended* ended = session_->find(event.execution);
  CHECK(ended != nullptr, "a cell that just ended is unknown");
  chunk_sync_.release_ended(*session_);
  const bool mine = cell_ && cell_->execution() == event.execution;
  if (mine && event.executor == id_ && event.status != session::Status::kLost) {
    if (worker_ && !worker_->diverged && cell_->is_forwarded() &&
        cell_->ending.has_reported())  // and not a later worker
      worker_->view.on_committed(event.change, session_->execution_count());
    cell_->outputs.send();
  } else if (mine && worker_ && cell_->is_forwarded()) {
    worker_->diverged = true;
  }
  if (mine) {
    answer_own(*ended);
    drop_cell();
  } else if (event.status == session::Status::kLost) {
    answer_ended(*ended, 0);
  }
  if (mine) sync_view();  // its actions may have moved head
  start_waiting_cell();
}

void Replica::happened(const session::CommitRefused&) {}

void Replica::happened(const session::LeadTaken& event) {
  if (event.was_running && event.from != id_) lease_.another_begins();
  upkeep_.on_lead_taken();
  host_.report_soon(session_id_);
  if (event.from == id_) lead_has_gone();
}

/// What its worker does in the background would go on beside the session.
void Replica::lead_has_gone() {
  if (!worker_ || !worker_->view.since()) return;
  worker_->view.on_lead_gone();
  if (session_->work().empty()) return;
  kill_worker();
  launch_worker();
}

void Replica::happened(const session::Cleared& event) {
  upkeep_.look(*session_);
  if (cell_) {
    refuse_outdated(cell_->execution(), cell_->restarts());
    drop_cell();
  }
  if (waiting_) refuse_outdated(waiting_->execution, waiting_->restarts);
  waiting_.reset();
  beside_.drop_all();
  launch_.failures = 0;
  kill_worker();
  launch_worker();
  to_gateway(Restarted{session_id_, event.request});
}

void Replica::happened(const session::MembersChanged&) {
  log_.learn_hosts(session_->members());
  upkeep_.look(*session_);
  log_.keep_hosts();
  if (cell_) cell_->ending.on_members_changed(*session_);
}

void Replica::restart(std::uint64_t request) {
  if (session_ && session_->last_clear() >= request) {
    to_gateway(Restarted{session_id_, request});
    return;
  }
  upkeep_.want_restart(request);
  if (session_) upkeep_.propose_restart();
  pump();
}

void Replica::change_members(ChangeMembers wanted) {
  log_.learn_hosts(wanted.members);
  upkeep_.want_members(std::move(wanted));
  if (session_) {
    upkeep_.look(*session_);
    upkeep_.lead(*session_);
  }
  pump();
}

ReplicaReport Replica::report() const {
  ReplicaReport report;
  report.session = session_id_;
  report.replica = id_;
  report.leader = log_.leader();
  report.term = log_.term().value;
  report.founding = log_.founding();
  if (session_) {
    report.epoch = session_->epoch();
    report.executor = session_->executor();
    report.last = session_->last();
    report.amended = session_->amended();
    report.works = !session_->work().empty();
    report.complete = chunk_sync_.has_all();
    report.lost = chunk_sync_.lost();
    if (!session_->elsewhere().sha256.empty()) report.lacking = chunk_sync_.lacking();
    report.suspended = session_->suspended();
    report.built = build_.last();
    report.building = build_.progress();
    report.execution_count = session_->execution_count();
    if (session_->running()) report.running = session_->running()->execution;
    if (cell_) {
      report.newest = cell_->execution();
      report.devices = cell_->devices();
    } else if (session_->running()) {
      report.newest = session_->running()->execution;
    } else if (!session_->history().empty()) {
      report.newest = session_->history().rbegin()->second.execution;
    }
    // Until a majority of the new members has the log, those that leave are needed.
    if (log_.are_members_settled()) {
      report.members = session_->members();
      report.members_wish = session_->members_wish();
    }
  }
  if (worker_) {
    report.worker_pid = worker_->pid;
    if (worker_at_head()) report.shown = session_->last();
    report.worker = worker_->phase == WorkerPhase::kStarting ? WorkerState::kStarting
                    : cell_ && cell_->is_going()             ? WorkerState::kBusy
                                                             : WorkerState::kReady;
  }
  return report;
}

}  // namespace banyan::node
