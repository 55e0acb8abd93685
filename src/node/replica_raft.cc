// The log's side of a replica: opening, Raft's output, and what committed commands mean here.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/codec.h"
#include "node/replica.h"

namespace banyan::node {

namespace {

constexpr Duration kRepeat = 300ms;         // a proposal that does not show in the log is made again
constexpr std::uint64_t kEntriesKept = 64;  // for followers that are a little behind

/// What the disk keeps of a replica beside its log.
struct Meta {
  ReplicaId id;
  session::Members members;
  Founding founding = {};
};

raft::Config raft_config(HostContext& host, const SessionId& session, ReplicaId id) {
  raft::Config config;
  config.id = id;
  config.election_ticks = host.timing().election_ticks;
  config.heartbeat_ticks = host.timing().heartbeat_ticks;
  config.commit_notice = raft::CommitNotice::kWithNext;  // nobody but the executor waits for a commit
  config.seed = host.rng().next() ^ digest_of(session.value).low;
  return config;
}

std::set<ReplicaId> ids_of(const session::Members& members) {
  std::set<ReplicaId> ids;
  for (const auto& [id, host] : members) ids.insert(id);
  return ids;
}

}  // namespace

Replica::Replica(const Shared& shared, SessionId session, ReplicaId id, raft::Raft raft,
                 session::Members members)
    : host_(shared.host),
      chunks_(shared.chunks),
      speeds_(shared.speeds),
      session_id_(std::move(session)),
      id_(id),
      raft_(std::move(raft)),
      hosts_(std::move(members)),
      lease_(shared.host),
      chunk_sync_(shared.host, shared.chunks, shared.speeds, session_id_),
      build_(shared.host, session_id_),
      beside_(shared.host, session_id_),
      questions_(shared.host, session_id_) {}

Result<std::unique_ptr<Replica>> Replica::open(const Shared& shared, const OpenReplica& request) {
  raft::Restored restored;
  if (request.origin == Origin::kFounding) {
    restored = raft::Restored::birth(
        ids_of(request.members), session::Session(request.session, request.spec, request.members).snapshot());
  }
  auto raft = raft::Raft::open(raft_config(shared.host, request.session, request.replica), restored);
  if (!raft) return tl::unexpected(raft.error());
  shared.host.write(
      PutMeta{request.session, encode(Meta{request.replica, request.members, request.founding})});
  shared.host.write(PutHardState{request.session, restored.hard_state});
  if (request.origin == Origin::kFounding) shared.host.write(PutSnapshot{request.session, restored.snapshot});
  std::unique_ptr<Replica> replica(
      new Replica(shared, request.session, request.replica, std::move(*raft), request.members));
  replica->founding_ = request.founding;
  replica->born_ = false;
  shared.host.birth(request.session);
  replica->pump();
  replica->launch_worker();
  // The founders need not wait for a timeout to find out who leads.
  if (request.origin == Origin::kFounding && request.members.begin()->first == request.replica)
    replica->raft_.campaign();
  replica->pump();
  return replica;
}

Result<std::unique_ptr<Replica>> Replica::recover(const Shared& shared, StoredReplica stored) {
  const auto meta = decode<Meta>(stored.meta);
  if (!meta)
    return fail(ErrorKind::kCorrupt, "session " + stored.session.value + ": " + meta.error().message);
  raft::Restored restored;
  restored.hard_state = stored.hard_state;
  if (stored.snapshot) restored.snapshot = std::move(*stored.snapshot);
  restored.entries = std::move(stored.entries);
  if (!restored.snapshot.data.empty()) {
    if (const auto session = session::Session::restore(restored.snapshot.data); !session)
      return fail(session.error().kind, "session " + stored.session.value + ": " + session.error().message);
  }
  auto raft = raft::Raft::open(raft_config(shared.host, stored.session, meta->id), restored);
  if (!raft) return fail(raft.error().kind, "session " + stored.session.value + ": " + raft.error().message);
  std::unique_ptr<Replica> replica(
      new Replica(shared, stored.session, meta->id, std::move(*raft), meta->members));
  replica->founding_ = meta->founding;
  replica->caught_up_ = false;
  replica->found_last_ = replica->raft_.log().last();
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
  if (campaign) (*replica)->raft_.campaign();
  (*replica)->pump();
  return replica;
}

/// Suspended, with nothing under way that is not in its log.
bool Replica::at_rest() const {
  return session_ && session_->suspended() && !session_->running() && !worker_ && !cell_ && !waiting_ &&
         caught_up_ && !lease_.is_another_held() && !preparing() && questions_.empty() &&
         !beside_.some_wait() && !clear_request_ && !wanted_members_ && chunk_sync_.at_rest() &&
         raft_.at_rest();
}

std::optional<Hibernate> Replica::tired() const {
  const bool due = resting_since_ && host_.now().mono - *resting_since_ >= host_.timing().hibernate_after;
  if (!due || raft_.role() != raft::Role::kLeader || !at_rest()) return std::nullopt;
  const auto hosts = others();
  if (!std::ranges::all_of(hosts, [this](const HostId& host) { return host_.reachable(host); }))
    return std::nullopt;
  return Hibernate{session_id_, raft_.term(), raft_.log().last()};
}

bool Replica::follows(const HostId& from, const Hibernate& said) const {
  return at_rest() && raft_.term() == said.term && raft_.log().last() == said.last &&
         raft_.role() == raft::Role::kFollower && host_of(raft_.leader()) == from;
}

std::vector<HostId> Replica::others() const {
  std::vector<HostId> hosts;
  for (const auto& [id, host] : session_->members())
    if (id != id_) hosts.push_back(host);
  return hosts;
}

void Replica::close() {
  kill_worker();
  chunk_sync_.close();
  host_.drop_replica(session_id_);
}

HostId Replica::host_of(ReplicaId id) const {
  const auto found = hosts_.find(id);
  return found == hosts_.end() ? HostId{} : found->second;
}

std::size_t Replica::majority() const { return session_ ? session_->members().size() / 2 + 1 : 1; }

void Replica::raft_message(const HostId& from, const raft::Message& message) {
  hosts_.try_emplace(message.from, from);  // a member that was added since this replica heard last
  heard_[message.from] = host_.now().mono;
  if (std::holds_alternative<raft::ReadRequest>(message.body) ||
      std::holds_alternative<raft::Forward>(message.body))
    resting_since_.reset();  // a follower is asked something
  raft_.step(message);
  pump();
}

void Replica::born() {
  born_ = true;
  host_.report_soon(session_id_);
}

void Replica::persisted(raft::WriteToken token) {
  raft_.persisted(token);
  pump();
}

void Replica::tick(int raft_ticks) {
  for (int i = 0; i < raft_ticks; ++i) raft_.tick();
  const Time now = host_.now().mono;
  if (campaign_at_ && *campaign_at_ <= now) {
    campaign_at_.reset();
    if (raft_.leader() == raft::kNobody) raft_.campaign();
  }
  if (clear_request_ && session_ && (!proposed_at_ || now - *proposed_at_ >= kRepeat) &&
      propose(session::Clear{*clear_request_}))
    proposed_at_ = now;
  disown_forgotten_cell();
  lead();
  start_waiting_cell();
  if (cell_) {
    if (cell_->repeat_at && *cell_->repeat_at <= now) propose_for_cell();
    if (cell_ && cell_->started) send_outputs();
    renew_lease(Lease::Renewal::kInTime);
    if (cell_ && cell_->fenced && !cell_->going) go_if_allowed();
    if (cell_ && cell_->going && !cell_->delta && lease_.is_over()) {
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
  end_long_repeat();
  beside_.say_what_is_missing();
  if (raft_.leader() != raft::kNobody && applied_ >= std::min(found_last_, raft_.log().last()))
    caught_up_ = true;
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

void Replica::peer_down(const HostId& peer) {
  const ReplicaId leader = raft_.leader();
  for (const auto& [id, host] : hosts_) {
    if (host == peer && id != id_) raft_.report_unreachable(id);
  }
  if (leader == raft::kNobody || leader == id_ || host_of(leader) != peer) return;
  // A broken connection usually is a dead host. If it is not, the others' leases and the poll keep the leader
  // in place.
  raft_.forget_leader();
  campaign_at_ = host_.now().mono + 20ms + std::chrono::milliseconds(host_.rng().below(100));
  pump();
}

/// Also called while entries are applied: what comes of them waits until all of the batch are.
void Replica::pump() {
  if (std::exchange(pumping_, true)) return;
  while (true) {
    raft::Output out = raft_.take_output();
    if (out.empty()) break;
    if (out.persist) host_.persist(session_id_, std::move(*out.persist));
    if (out.install) install(*out.install);
    for (const raft::Entry& entry : out.committed) apply(entry);
    if (std::exchange(handed_over_, false)) lead_with_executor();
    // After the entries: a change of the membership may name the host that a message goes to.
    for (raft::Message& message : out.messages) {
      const HostId to = host_of(message.to);
      if (!to.value.empty()) host_.send_raft(to, session_id_, std::move(message));
    }
    for (const raft::ReadState& read : out.reads) {
      lease_confirmed(read);
      questions_.on_read(read);
    }
    answer_questions();
    if (out.role) role_changed(*out.role);
    compact_if_due();
  }
  if (joined() && launch_.at && *launch_.at <= host_.now().mono) launch_worker();
  pumping_ = false;
}

/// A bid, a commit or a read may be lost with the leader that it went to, or there was none to take it: a new
/// leader gets it at once. One that comes twice changes nothing.
void Replica::role_changed(const raft::RoleChange& role) {
  const Time now = host_.now().mono;
  leading_since_ = role.role == raft::Role::kLeader ? std::optional(now) : std::nullopt;
  if (role.leader == raft::kNobody) return;
  questions_.leader_changed();
  confirm_questions();
  if (!cell_ || !cell_->repeat_at) return;
  cell_->proposed_at.reset();
  propose_for_cell();
}

void Replica::install(const raft::Snapshot& snapshot) {
  applied_ = snapshot.index;
  compacted_ = snapshot.index;
  if (!snapshot.data.empty()) {
    auto restored = session::Session::restore(snapshot.data);
    CHECK(restored.has_value(), "a snapshot that Raft accepted does not decode");
    adopt(std::move(*restored));
  }
  raft_.applied(snapshot.index);
}

void Replica::adopt(session::Session session) {
  const bool later = session_.has_value();
  session_ = std::move(session);
  host_.report_soon(session_id_);
  for (const auto& [id, host] : session_->members()) hosts_[id] = host;
  drop_outdated_members();
  chunk_sync_.adopt(*session_);
  chunk_sync_.release_ended(*session_);
  // What happened between the old state and this one is not told one by one.
  if (later) lease_.another_begins();
  if (cell_ && session_->find(cell_->execution) != nullptr) {
    if (worker_ && cell_->forwarded) worker_->diverged = true;
    answer_own(*session_->find(cell_->execution));
    drop_cell();
  } else if (cell_ && !cell_->started && session_->running() &&
             session_->running()->execution == cell_->execution) {
    const session::Running& won = *session_->running();
    happened(session::Started{won.execution, won.epoch, won.executor, won.life});
  }
  if (clear_request_ && session_->last_clear() >= *clear_request_) clear_request_.reset();
}

void Replica::apply(const raft::Entry& entry) {
  applied_ = entry.index;
  bytes_since_compaction_ += entry.data.size();
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
  raft_.applied(entry.index);
}

void Replica::apply_command(session::Command command) {
  CHECK(session_.has_value(), "a command is committed before the session's first state");
  const auto events = session_->apply(std::move(command));
  for (const session::Event& event : events) std::visit([this](const auto& e) { happened(e); }, event);
}

void Replica::happened(const session::Started& event) {
  if (event.executor != id_) lead_has_gone();
  if (!cell_ || cell_->execution != event.execution) return;
  if (event.executor != id_) return drop_cell();  // the gateway hears it from there
  if (event.life != host_.life()) return leave_to_log();
  cell_->started = true;
  cell_->epoch = event.epoch;
  cell_->repeat_at.reset();
  if (cell_->forwarded && !worker_at_head()) {  // commits came in between: the cell must see them
    worker_->diverged = true;
    kill_worker();
    launch_worker();
  }
  lease_.begin(cell_->bid_at);
  send_outputs();
  sync_view();
  go_if_allowed();
  if (launch_.failures >= 3 && !worker_) end_by_death("its worker cannot start: " + launch_.last_death);
  finish_if_complete();  // a blank cell has no fence: its worker may have ended it already
}

void Replica::happened(const session::BidLost& event) {
  if (!cell_ || event.replica != id_ || cell_->execution != event.execution) return;
  if (const session::Ended* ended = session_->find(event.execution)) {
    answer_own(*ended);
    drop_cell();
  } else if (refuse_outdated(cell_->execution, cell_->restarts)) {
    drop_cell();
  } else if (session_->running() && session_->running()->execution == event.execution) {
    drop_cell();  // another replica runs it
  } else {
    cell_->repeat_at = host_.now().mono + kRepeat;  // another cell runs; bid again later
  }
}

void Replica::happened(const session::AllYielded& event) {
  to_gateway(ExecutionDeclined{session_id_, event.execution, "no replica of the session can run a cell now"});
  if (cell_ && cell_->execution == event.execution) drop_cell();
}

void Replica::happened(const session::CellEnded& event) {
  const session::Ended* ended = session_->find(event.execution);
  CHECK(ended != nullptr, "a cell that just ended is unknown");
  chunk_sync_.release_ended(*session_);
  const bool mine = cell_ && cell_->execution == event.execution;
  if (mine && event.executor == id_ && event.status != session::Status::kLost) {
    if (worker_ && !worker_->diverged && cell_->forwarded && cell_->delta) {  // and not a later worker
      checkpoint::apply(worker_->view, event.change);
      worker_->shown_count = session_->execution_count();
    }
    send_outputs();
  } else if (mine && worker_ && cell_->forwarded) {
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
  handed_over_ = true;
  host_.report_soon(session_id_);
  if (event.from == id_) lead_has_gone();
}

/// What its worker does in the background would go on beside the session.
void Replica::lead_has_gone() {
  if (!worker_ || !worker_->since) return;
  worker_->since.reset();
  if (session_->work().empty()) return;
  kill_worker();
  launch_worker();
}

void Replica::happened(const session::Cleared& event) {
  if (clear_request_ && *clear_request_ <= event.request) clear_request_.reset();
  if (cell_) {
    refuse_outdated(cell_->execution, cell_->restarts);
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
  for (const auto& [id, host] : session_->members()) hosts_[id] = host;
  drop_outdated_members();
  host_.write(PutMeta{session_id_, encode(Meta{id_, hosts_, founding_})});
  push_chunks_to_new_members();
}

bool Replica::propose(const session::Command& command) {
  const bool taken = raft_.propose(Blob(encode(command))).has_value();
  return taken;
}

/// A running cell of this replica's that an earlier life of the host agent began: nobody else can tell, for
/// this replica answers its leader.
void Replica::disown_forgotten_cell() {
  if (!session_ || !session_->running() || session_->running()->executor != id_) return;
  if (session_->running()->life == host_.life() && cell_ &&
      cell_->execution == session_->running()->execution)
    return;
  const Time now = host_.now().mono;
  if (proposed_at_ && now - *proposed_at_ < kRepeat) return;
  if (propose(session::TakeOver{session_->epoch(), "the host agent that ran the cell was restarted"}))
    proposed_at_ = now;
}

/// What a leader looks after: an executor that is silent, the lead with the executor, the membership.
void Replica::lead() {
  if (raft_.role() != raft::Role::kLeader || !session_ || !leading_since_) return;
  const Time now = host_.now().mono;
  const bool may_propose = !proposed_at_ || now - *proposed_at_ >= kRepeat;
  if (const auto& running = session_->running(); running && may_propose) {
    if (running->executor != id_) {
      const auto heard = heard_.find(running->executor);
      const Time last = std::max(*leading_since_, heard == heard_.end() ? Time{} : heard->second);
      if (now - last > host_.timing().executor_silent &&
          propose(session::TakeOver{session_->epoch(), "the host that ran the cell stopped answering"}))
        proposed_at_ = now;
    }
  } else if (may_propose && lead_with_executor()) {
    proposed_at_ = now;
  }
  if (wanted_members_ && may_propose) lead_membership();
}

/// What the executor proposes then takes no way to another host first.
bool Replica::lead_with_executor() {
  const ReplicaId executor = session_->executor();
  if (raft_.role() != raft::Role::kLeader || session_->running() || executor == ReplicaId{} ||
      executor == id_)
    return false;
  const auto heard = heard_.find(executor);
  const bool active = heard != heard_.end() && host_.now().mono - heard->second < 300ms;
  return active && raft_.transfer_leadership(executor);
}

void Replica::lead_membership() {
  raft::Change change;
  const raft::Membership& today = raft_.membership();
  if (raft::is_joint(today) || raft_.log().change_after(applied_)) return;  // one after the other
  const session::Members& wanted = wanted_members_->members;
  for (const auto& [id, host] : wanted) {
    if (!today.voters.contains(id)) change.steps.push_back({raft::ChangeKind::kAddVoter, id});
  }
  for (const ReplicaId id : today.voters) {
    if (!wanted.contains(id)) change.steps.push_back({raft::ChangeKind::kRemove, id});
  }
  const session::SetMembers set{wanted, wanted_members_->wish};
  change.context = Blob(encode(set));
  const bool proposed = change.steps.empty() ? propose(set) : raft_.propose_change(change).has_value();
  if (proposed) proposed_at_ = host_.now().mono;
}

/// What a replica was asked for long ago must not undo what the others have done since.
void Replica::drop_outdated_members() {
  if (!wanted_members_ || !session_) return;
  if (wanted_members_->wish <= session_->members_wish()) wanted_members_.reset();
}

void Replica::compact_if_due() {
  if (!session_) return;
  const bool due = applied_ - compacted_ >= host_.sizes().compact_entries ||
                   bytes_since_compaction_ >= host_.sizes().compact_bytes;
  if (!due) return;
  if (raft_.compact(applied_, session_->snapshot(), kEntriesKept)) {
    compacted_ = applied_;
    bytes_since_compaction_ = 0;
  }
}

void Replica::restart(std::uint64_t request) {
  if (session_ && session_->last_clear() >= request) {
    to_gateway(Restarted{session_id_, request});
    return;
  }
  clear_request_ = request;
  proposed_at_.reset();
  if (session_ && propose(session::Clear{request})) proposed_at_ = host_.now().mono;
  pump();
}

void Replica::change_members(ChangeMembers wanted) {
  for (const auto& [id, host] : wanted.members) hosts_[id] = host;
  wanted_members_ = std::move(wanted);
  drop_outdated_members();
  lead();
  pump();
}

ReplicaReport Replica::report() const {
  ReplicaReport report;
  report.session = session_id_;
  report.replica = id_;
  report.leader = raft_.leader();
  report.term = raft_.term().value;
  report.founding = founding_;
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
      report.newest = cell_->execution;
    } else if (session_->running()) {
      report.newest = session_->running()->execution;
    } else if (!session_->history().empty()) {
      report.newest = session_->history().rbegin()->second.execution;
    }
    // Until a majority of the new members has the log, those that leave are needed.
    if (!raft::is_joint(raft_.membership())) {
      report.members = session_->members();
      report.members_wish = session_->members_wish();
    }
  }
  if (worker_) {
    report.worker_pid = worker_->pid;
    if (worker_at_head()) report.shown = session_->last();
    report.worker = worker_->phase == WorkerPhase::kStarting ? WorkerState::kStarting
                    : cell_ && cell_->going                  ? WorkerState::kBusy
                                                             : WorkerState::kReady;
  }
  return report;
}

}  // namespace banyan::node
