#include "node/replica.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/codec.h"
#include "base/overloaded.h"

namespace banyan::node {

namespace {
/// What a move takes beside the values: two changes of the members, and a new worker.
constexpr std::int64_t kMove_us = 500'000;
}  // namespace

Replica::Replica(const Shared& shared, SessionId session, GroupLog log)
    : core_{.host = shared.host, .session_id = std::move(session), .id = log.id(), .log = std::move(log)},
      speeds_(shared.speeds),
      upkeep_(core_.host, core_.log),
      lease_(core_.host),
      sync_(core_.host, shared.chunks, shared.speeds, core_.session_id),
      pending_(core_.host, shared.chunks),
      beside_(core_.host, core_.session_id),
      questions_(core_.host, core_.session_id),
      worker_({core_, shared.chunks, shared.speeds, sync_, questions_}),
      cells_({core_, shared.chunks, sync_, pending_, lease_, worker_, beside_}),
      view_({core_, sync_, worker_, cells_, beside_}),
      chunks_({core_, shared.chunks, sync_, pending_, worker_, cells_, view_}),
      history_({core_, shared.chunks, shared.speeds, sync_, pending_, worker_, cells_, view_, questions_}) {}

Result<std::unique_ptr<Replica>> Replica::open(const Shared& shared, const OpenReplica& request) {
  auto log = GroupLog::open(shared.host, request);
  if (!log) return tl::unexpected(log.error());
  std::unique_ptr<Replica> replica(new Replica(shared, request.session, std::move(*log)));
  replica->born_ = false;
  shared.host.birth(request.session);
  replica->settle();
  replica->cells_.launch_worker();
  // The founders need not wait for a timeout to find out who leads.
  if (request.origin == Origin::kFounding && request.members.begin()->first == request.replica)
    replica->core_.log.campaign();
  replica->settle();
  return replica;
}

Result<std::unique_ptr<Replica>> Replica::recover(const Shared& shared, StoredReplica stored) {
  SessionId session = stored.session;
  auto log = GroupLog::recover(shared.host, std::move(stored));
  if (!log) return tl::unexpected(log.error());
  std::unique_ptr<Replica> replica(new Replica(shared, std::move(session), std::move(*log)));
  // Another executor may have been granted a lease in the life before.
  replica->lease_.another_begins();
  replica->settle();
  replica->cells_.launch_worker();
  return replica;
}

Result<std::unique_ptr<Replica>> Replica::wake(const Shared& shared, StoredReplica stored, bool campaign) {
  auto replica = recover(shared, std::move(stored));
  if (!replica) return replica;
  (*replica)->lease_.nobody_has_it();  // no cell ran when it hibernated
  if (campaign) (*replica)->core_.log.campaign();
  (*replica)->settle();
  return replica;
}

// ---- the log

void Replica::settle() {
  while (auto batch = core_.log.take()) {
    if (batch->install || !batch->committed.empty() || !batch->reads.empty() || batch->role)
      core_.host.stir(core_.session_id);
    if (batch->install) install(*batch->install);
    for (const raft::Entry& entry : batch->committed) apply(entry);
    if (core_.session) upkeep_.on_batch(*core_.session);
    core_.log.send(std::move(batch->messages));
    for (const raft::ReadState& read : batch->reads) {
      cells_.on_lease_read(read);
      questions_.on_read(read);
    }
    history_.answer_read();
    if (batch->role) role_changed(*batch->role);
    if (core_.session && core_.log.is_compaction_due()) core_.log.compact(core_.session->snapshot());
  }
  if (core_.joined() && worker_.is_next_due()) cells_.launch_worker();
}

void Replica::raft_message(const HostId& from, const raft::Message& message) {
  if (std::holds_alternative<raft::ReadRequest>(message.body) ||
      std::holds_alternative<raft::Forward>(message.body))
    disturb();  // a follower is asked something
  // It counts for the group before it is durable, and installed.
  if (std::holds_alternative<raft::InstallSnapshot>(message.body)) core_.host.stir(core_.session_id);
  core_.log.on_message(from, message);
}

void Replica::born() {
  born_ = true;
  core_.report_soon();
}

/// A bid, a commit or a read may be lost with the leader that it went to, or there was none to take it: a new
/// leader gets it at once. One that comes twice changes nothing.
void Replica::role_changed(const raft::RoleChange& role) {
  if (role.leader == raft::kNobody) return;
  history_.on_new_leader();
  if (CellRun* const cell = cells_.cell()) cell->on_new_leader(*core_.session);
}

void Replica::install(const raft::Snapshot& snapshot) {
  if (!snapshot.data.empty()) {
    auto restored = session::Session::restore(snapshot.data);
    CHECK(restored.has_value(), "a snapshot that Raft accepted does not decode");
    adopt(std::move(*restored));
  }
  core_.log.on_installed(snapshot.index);
}

void Replica::adopt(session::Session session) {
  const bool later = core_.session.has_value();
  core_.session = std::move(session);
  core_.report_soon();
  core_.log.learn_hosts(core_.session->members());
  upkeep_.look(*core_.session);
  sync_.adopt(*core_.session);
  pending_.look_at_all(*core_.session);
  sync_.held().release_ended(*core_.session);
  chunks_.look_at_executor();
  predict_move();
  // What happened between the old state and this one is not told one by one.
  if (later) lease_.another_begins();
  if (const auto started = cells_.on_adopted()) on_started(*started);
}

void Replica::apply(const raft::Entry& entry) {
  if (entry.type == raft::EntryType::kCommand) {
    auto command = decode<session::Command>(entry.data.view());
    CHECK(command.has_value(), "a committed command does not decode");
    apply_command(std::move(*command));
  } else if (entry.type == raft::EntryType::kChange) {
    const auto change = decode<raft::Change>(entry.data.view());
    CHECK(change.has_value(), "a committed membership change does not decode");
    core_.report_soon();
    if (!change->context.empty()) {
      auto members = decode<session::SetMembers>(change->context.view());
      CHECK(members.has_value(), "a membership change carries no members");
      apply_command(std::move(*members));
    }
  }
  core_.log.on_applied(entry);
}

// ---- what the session's events mean here

void Replica::apply_command(session::Command command) {
  CHECK(core_.session.has_value(), "a command is committed before the session's first state");
  const auto events = core_.session->apply(std::move(command));
  for (const session::Event& event : events)
    std::visit(Overloaded{
                   [&](const session::Started& e) { on_started(e); },
                   [&](const session::BidLost& e) { cells_.on_bid_lost(e); },
                   [&](const session::AllYielded& e) { cells_.on_all_yielded(e); },
                   [&](const session::CellEnded& e) { on_ended(e); },
                   [](const session::CommitRefused&) {},  // whatever made it void has been told before
                   [&](const session::LeadTaken& e) { on_lead_taken(e); },
                   [&](const session::Cleared& e) { on_cleared(e); },
                   [&](const session::MembersChanged&) { on_members_changed(); },
                   [&](const session::ValuesMoved& e) { chunks_.on_values_moved(e); },
                   [&](const session::Amended& e) { history_.on_amended(e); },
               },
               event);
  chunks_.look_at_executor();
  predict_move();
}

/// When the session has changed, and not when it is reported: the report of a calm replica stays the same.
void Replica::predict_move() {
  move_us_ = kMove_us + speeds_.now().receive(core_.session->value_bytes(), core_.log.peers()).us;
}

void Replica::on_started(const session::Started& event) {
  if (!cells_.on_started(event)) return;
  view_.sync();
  cells_.go_on();
}

void Replica::on_ended(const session::CellEnded& event) {
  CHECK(core_.session->find(event.execution) != nullptr, "a cell that just ended is unknown");
  sync_.held().release_ended(*core_.session);
  pending_.look_at_all(*core_.session);
  if (cells_.on_ended(event)) {
    view_.sync();  // its actions may have moved head
  } else {
    chunks_.on_ended_elsewhere(event);
  }
  cells_.start_waiting();
}

void Replica::on_lead_taken(const session::LeadTaken& event) {
  if (event.was_running && event.from != core_.id) lease_.another_begins();
  upkeep_.on_lead_taken();
  core_.report_soon();
  if (event.from == core_.id) cells_.on_lead_gone();
}

void Replica::on_cleared(const session::Cleared& event) {
  upkeep_.look(*core_.session);
  cells_.on_cleared();
  core_.to_gateway(Restarted{core_.session_id, event.request});
}

void Replica::on_members_changed() {
  core_.log.learn_hosts(core_.session->members());
  upkeep_.look(*core_.session);
  core_.log.keep_hosts();
  pending_.look_at_all(*core_.session);
  if (CellRun* const cell = cells_.cell()) cell->ending.on_members_changed(*core_.session);
}

// ---- time

void Replica::tick(int raft_ticks) {
  core_.log.on_ticks(raft_ticks);
  const CellRun* const cell = cells_.cell();
  if (core_.session) upkeep_.tend(*core_.session, cell != nullptr ? cell->execution() : ExecutionId{});
  cells_.tick();
  beside_.say_what_is_missing();
  if (!at_rest()) {
    resting_since_.reset();
  } else if (!resting_since_) {
    resting_since_ = core_.host.now().mono;
  }
  view_.tick();
  chunks_.tick();
  history_.tick();
}

/// A suspended session is not calm before it hibernates: how long nothing has happened in it is looked at.
/// Nor is one that lacks chunks for good: it goes on asking for them.
bool Replica::is_calm() const {
  const bool nothing_waits = cells_.cell() == nullptr && !cells_.is_preparing() && questions_.empty() &&
                             beside_.at_rest() && sync_.at_rest() && sync_.lost().empty() && pending_.empty();
  if (!nothing_waits || !core_.joined() || core_.session->suspended() || !upkeep_.is_done(*core_.session))
    return false;
  return !cells_.wants_worker() || (cells_.is_worker_at_head() && worker_.is_ready());
}

// ---- the session as a whole

void Replica::restart(std::uint64_t request) {
  if (core_.session && core_.session->last_clear() >= request)
    return core_.to_gateway(Restarted{core_.session_id, request});
  upkeep_.want_restart(request);
  if (core_.session) upkeep_.propose_restart();
}

void Replica::change_members(ChangeMembers wanted) {
  core_.log.learn_hosts(wanted.members);
  upkeep_.want_members(std::move(wanted));
  if (!core_.session) return;
  upkeep_.look(*core_.session);
  upkeep_.lead(*core_.session);
}

void Replica::close() {
  cells_.end_worker();
  sync_.close();
  core_.host.drop_replica(core_.session_id);
}

// ---- hibernation

/// Suspended, with nothing under way that is not in its log.
bool Replica::at_rest() const {
  return core_.session && core_.session->suspended() && !core_.session->running() && !worker_.exists() &&
         cells_.none() && !lease_.is_another_held() && !cells_.is_preparing() && questions_.empty() &&
         !beside_.some_wait() && upkeep_.at_rest() && sync_.at_rest() && core_.log.at_rest();
}

std::optional<Replica::Tired> Replica::tired() const {
  const HostContext& host = core_.host;
  const bool due = resting_since_ && host.now().mono - *resting_since_ >= host.timing().hibernate_after;
  if (!due || !core_.log.leads() || !at_rest()) return std::nullopt;
  Tired tired{.word = core_.log.rest(), .hosts = {}};
  for (const auto& [id, where] : core_.session->members())
    if (id != core_.id) tired.hosts.push_back(where);
  if (!std::ranges::all_of(tired.hosts, [&](const HostId& where) { return host.reachable(where); }))
    return std::nullopt;
  return tired;
}

bool Replica::follows(const HostId& from, const Hibernate& said) const {
  return at_rest() && core_.log.agrees(from, said);
}

// ---- what the gateway hears

ReplicaReport Replica::report() const {
  const CellRun* const cell = cells_.cell();
  ReplicaReport report;
  report.session = core_.session_id;
  report.replica = core_.id;
  report.leader = core_.log.leader();
  report.term = core_.log.term().value;
  report.founding = core_.log.founding();
  if (core_.session) {
    const session::Session& session = *core_.session;
    report.epoch = session.epoch();
    report.executor = session.executor();
    report.last = session.last();
    report.amended = session.amended();
    report.works = !session.work().empty();
    report.complete = sync_.lacking() == 0;
    report.lost = sync_.lost().size();
    if (!session.elsewhere().sha256.empty()) report.lacking = sync_.lacking();
    if (const auto pending = pending_.model()) {
      report.pending_bytes = pending->bytes;
      report.captured_bytes = pending->captured_bytes;
      report.pending_for_s = pending->for_ms / 1000;
    }
    report.move_us = move_us_;
    report.suspended = session.suspended();
    report.built = worker_.build().last();
    report.building = worker_.build().progress();
    report.execution_count = session.execution_count();
    if (session.running()) report.running = session.running()->execution;
    if (cell != nullptr) {
      report.newest = cell->execution();
      report.devices = cell->devices();
    } else if (session.running()) {
      report.newest = session.running()->execution;
    } else if (!session.history().empty()) {
      report.newest = session.history().rbegin()->second.execution;
    }
    // Until a majority of the new members has the log, those that leave are needed.
    if (core_.log.are_members_settled()) {
      report.members = session.members();
      report.members_wish = session.members_wish();
    }
  }
  if (worker_.exists()) {
    report.worker_pid = worker_.pid();
    if (cells_.is_worker_at_head()) report.shown = core_.session->last();
    report.worker = !worker_.is_ready()                   ? WorkerState::kStarting
                    : cell != nullptr && cell->is_going() ? WorkerState::kBusy
                                                          : WorkerState::kReady;
  }
  return report;
}

}  // namespace banyan::node
