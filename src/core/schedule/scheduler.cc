#include "core/schedule/scheduler.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace banyan::schedule {

namespace {
template <class Policy>
std::unique_ptr<const Policy> checked(Result<std::unique_ptr<const Policy>> policy) {
  CHECK(policy.has_value(), "the daemon checks the policy's name before");
  return std::move(*policy);
}
}  // namespace

Scheduler::Scheduler(const Settings& settings)
    : replicas_(settings.replicas),
      elect_(settings.elect),
      gpus_per_user_(settings.gpus_per_user),
      suspend_after_(settings.suspend_after),
      cluster_(settings.default_kernel),
      placement_(checked(placement_named(settings.placement))),
      executor_choice_(checked(executor_choice_named(settings.executor_choice))),
      newcomers_(settings.replicas, *placement_, settings.subscription_limit, cluster_),
      rounds_(cluster_),
      hours_(settings.gpu_hours_per_user),
      device_queue_(cluster_, hours_, settings.gpus_per_user),
      device_moves_(cluster_, device_queue_) {}

std::vector<Decision> Scheduler::step(const Now& now, Event event) {
  now_ = now;
  std::visit([this](auto& one) { on(one); }, event);
  for (SessionId& session : device_queue_.take_ready(cluster_.take_changed_devices(), changed_owners()))
    ask_again(std::move(session));
  return std::exchange(decisions_, {});
}

std::set<std::string> Scheduler::changed_owners() {
  std::set<std::string> changed = cluster_.take_changed_owners();
  for (const std::string& owner : changed)
    hours_.on_has(owner, cluster_.ledger().holdings().of(owner), now_.mono);
  changed.merge(hours_.look(now_.mono));
  return changed;
}

std::uint64_t Scheduler::replicas_wanted() const {
  return std::min<std::uint64_t>(replicas_, cluster_.hosts().size());
}

void Scheduler::on(HostReported& event) {
  if (cluster_.report(event.host, std::move(event.capacity), std::move(event.kernels), now_.mono))
    place_newcomers();
}

void Scheduler::on(const HostChanged& event) {
  cluster_.set_state(event.host, event.state);
  drains_.retry();
  place_newcomers();
}

void Scheduler::on(const HostAdded& event) {
  cluster_.add(event.host);
  cluster_.set_draining(event.host, false);
  drains_.retry();
  place_newcomers();
}

void Scheduler::on(const HostDraining& event) {
  cluster_.set_draining(event.host, true, event.force);
  drains_.retry();
  move_from_draining();
}

void Scheduler::on(const HostRemoved& event) { cluster_.remove(event.host); }

void Scheduler::on(SessionAsked& event) {
  newcomers_.add(std::move(event), now_.mono);
  place_newcomers();
}

void Scheduler::on(SessionHolds& event) {
  device_moves_.on_holds(event.session, event.hosts, now_.mono);
  const auto reserved = cluster_.ledger().reserved_by(event.session);
  if (reserved && !event.hosts.contains(reserved->host)) cluster_.reserve(event.session, std::nullopt);
  cluster_.hold(event.session, std::move(event.kind), std::move(event.hosts));
}

void Scheduler::on(const SessionIdle& event) {
  const cluster::SessionKind* const kind = cluster_.kind_of(event.session);
  const bool at_once = kind != nullptr && kind->rests_at_once;
  const bool rests = event.since && (at_once || suspend_after_ != Duration::zero());
  const std::int64_t after_us = at_once ? 0 : microseconds(suspend_after_);
  idle_.set(event.session, rests ? std::optional(WallTime{event.since->us + after_us}) : std::nullopt);
}

void Scheduler::on(const ReservationEnds& event) { cluster_.reserve(event.session, std::nullopt); }

void Scheduler::on(const SessionClosed& event) {
  newcomers_.drop(event.session);
  idle_.set(event.session, std::nullopt);
  rounds_.drop(event.session);
  stop_waiting(event.session);
  holds_.drop(event.session);
  drains_.drop(event.session);
  cluster_.drop(event.session);
}

void Scheduler::on(const ReplicaWanted& event) {
  if (auto host = place_replica(event.session, event.avoid)) {
    decisions_.emplace_back(PlaceReplica{event.session, std::move(*host)});
  } else {
    decisions_.emplace_back(NoHost{event.session});
  }
}

std::optional<HostId> Scheduler::place_replica(const SessionId& session, const std::set<HostId>& avoid) {
  const std::set<HostId>& held = cluster_.ledger().replicas_of(session);
  Snapshot snapshot{.hosts = {}, .wanted = 1, .draw = draw_of(session)};
  for (const auto& [host, known] : cluster_.hosts()) {
    const bool taken = held.contains(host) || avoid.contains(host);
    if (!taken && cluster_.takes_replicas(host) && !cluster_.why_not_on(host, session))
      snapshot.hosts.push_back(load_of(cluster_, host));
  }
  std::vector<HostId> chosen = placement_->place(snapshot);
  if (chosen.empty()) return std::nullopt;
  cluster_.add_replica(session, chosen.front());
  return std::move(chosen.front());
}

void Scheduler::on(CellWaits& event) {
  cluster_.run(event.session, std::nullopt);  // else its own booking would count against its host
  holds_.drop(event.session);
  decisions_.emplace_back(CellDecision{event.session, event.offer, decide(event)});
}

CellDecision::What Scheduler::decide(CellWaits& event) {
  const bool pauses = rounds_.pauses(event.session);
  std::vector<EligibleReplica> left;
  if (!pauses) left = rounds_.left(event);
  if (left.empty()) {
    device_queue_.pass(event.session);
    if (pauses) return KeepCell{};
    if (rounds_.pause(event, now_.mono)) return KeepCell{};
    return RefuseCell{std::move(*event.declined)};
  }
  // Where all have declined the next one is chosen: it takes the cell, and waits for what it needs.
  const bool elects = elect_ && !event.declined && !rounds_.declined(event.session);
  StartCell start{.replicas = {}, .elect = elects, .devices = {}};
  if (elects) {  // each host knows by itself which devices are idle there
    for (const EligibleReplica& one : left) start.replicas.push_back(one.replica);
    return start;
  }
  if (event.demand.gpus > 0) {
    if (gpus_per_user_ > 0 && event.demand.gpus > gpus_per_user_)
      return RefuseCell{"The cell needs " + std::to_string(event.demand.gpus) +
                            " GPUs, and one user may have " + std::to_string(gpus_per_user_) +
                            " at once (gpus_per_user)",
                        true};
    const bool spent = hours_.is_spent(cluster_.ledger().holdings().owner_of(event.session));
    if (auto reserved = start_on_reserved(event, left); reserved && !spent) {
      stop_waiting(event.session);
      cluster_.run(event.session,
                   cluster::Binding{cluster_.ledger().reserved_by(event.session)->host, reserved->devices});
      return std::move(*reserved);
    }
    cluster_.reserve(event.session, std::nullopt);
    if (const auto elsewhere = device_moves_.note(event, now_.mono)) {
      device_queue_.wait_elsewhere(event.session, event.demand, elsewhere->line, now_.mono);
      left.clear();
    } else {
      left = device_queue_.take_turn(event.session, event.demand, std::move(left), now_.mono);
    }
    if (left.empty()) {
      rounds_.begin_anew(event.session);
      return KeepCell{};
    }
    device_moves_.drop(event.session);
  }
  const EligibleReplica chosen = choose(event.demand, left);
  start.replicas.push_back(chosen.replica);
  start.devices = cluster_.ledger().some_idle(chosen.host, event.session, event.demand.gpus);
  cluster_.run(event.session, cluster::Binding{chosen.host, start.devices});
  if (event.demand.gpus > 0) {
    reserve_if_it_does(event.session, cluster::Binding{chosen.host, start.devices});
    // Of what is reserved nobody can tell when it is free.
    if (!cluster_.ledger().reserved_by(event.session)) holds_.begin(event.session, now_.mono);
  }
  return start;
}

/// Not where replicas elect: each host knows by itself which devices are idle there, and of no reservation.
void Scheduler::reserve_if_it_does(const SessionId& session, cluster::Binding binding) {
  const cluster::SessionKind* const kind = cluster_.kind_of(session);
  if (!elect_ && kind != nullptr && kind->reserves_devices && !binding.devices.empty())
    cluster_.reserve(session, std::move(binding));
}

std::optional<StartCell> Scheduler::start_on_reserved(const CellWaits& event,
                                                      const std::vector<EligibleReplica>& left) const {
  const auto reserved = cluster_.ledger().reserved_by(event.session);
  if (!reserved) return std::nullopt;
  const auto there = std::ranges::find(left, reserved->host, &EligibleReplica::host);
  if (there == left.end()) return std::nullopt;
  StartCell start{.replicas = {there->replica}, .elect = false, .devices = {}};
  for (const DeviceId& device : reserved->devices)
    if (start.devices.size() < event.demand.gpus && cluster_.ledger().works(reserved->host, device))
      start.devices.insert(device);
  if (start.devices.size() < event.demand.gpus) return std::nullopt;
  return start;
}

void Scheduler::ask_again(SessionId session) {
  decisions_.emplace_back(CellDecision{std::move(session), 0, AskAgain{}});
}

EligibleReplica Scheduler::choose(const cluster::Demand& demand,
                                  const std::vector<EligibleReplica>& replicas) const {
  std::vector<Candidate> candidates;
  for (const EligibleReplica& one : replicas) candidates.push_back({one, load_of(cluster_, one.host)});
  const std::vector<ReplicaId> order = executor_choice_->order(demand, std::move(candidates));
  CHECK(order.size() == replicas.size(), "a policy orders all candidates");
  const auto chosen = std::ranges::find(replicas, order.front(), &EligibleReplica::replica);
  CHECK(chosen != replicas.end(), "a policy names none but its candidates");
  return *chosen;
}

void Scheduler::on(const CellPassedOver& event) { rounds_.pass_over(event.session, event.host); }

void Scheduler::on(const CellRuns& event) {
  rounds_.on_runs(event.session);
  stop_waiting(event.session);
  const auto booked = cluster_.ledger().binding_of(event.session);
  if (booked && booked->host == event.host) return;
  const auto reserved = cluster_.ledger().reserved_by(event.session);
  if (reserved && reserved->host != event.host) cluster_.reserve(event.session, std::nullopt);
  cluster_.run(event.session, cluster::Binding{event.host, {}});  // the host says which devices it has there
}

void Scheduler::on(DevicesBound& event) {
  // What the host has bound may be other devices than those that were named.
  const auto booked = cluster_.ledger().binding_of(event.session);
  if (!event.devices.empty() && booked && booked->host == event.host)
    cluster_.run(event.session, cluster::Binding{event.host, {}});
  // Others than those that are reserved; a cell that asks for none or fewer may have what its process uses.
  const auto reserved = cluster_.ledger().reserved_by(event.session);
  if (reserved && reserved->host == event.host && event.devices.size() == reserved->devices.size() &&
      event.devices != reserved->devices)
    cluster_.reserve(event.session, cluster::Binding{event.host, event.devices});
  cluster_.report_bound(event.host, event.session, std::move(event.devices));
}

void Scheduler::on(const CellEnded& event) {
  rounds_.drop(event.session);
  stop_waiting(event.session);
  holds_.end(event.session, now_.mono);
  cluster_.run(event.session, std::nullopt);
}

void Scheduler::on(MoveFailed& event) {
  // Else a person has moved it, or a cell that waits.
  if (!drains_.moves(event.session)) return device_moves_.failed(event.session, now_.mono);
  drains_.failed(event.session, {std::move(event.reason), event.soon}, now_.mono);
}

void Scheduler::on(const TimePassed&) {
  place_newcomers();
  move_from_draining();
  move_to_devices();
  for (SessionId& session : rounds_.take_due(now_.mono)) ask_again(std::move(session));
  while (auto due = idle_.take_due(now_.wall)) decisions_.emplace_back(SuspendSession{std::move(*due)});
}

void Scheduler::move_from_draining() {
  for (const Drains::Due& due : drains_.due(cluster_, now_.mono)) {
    if (device_moves_.moves(due.session)) continue;  // it is due again
    if (auto to = place_replica(due.session, {})) {
      drains_.began(due, *to, now_.mono);
      decisions_.emplace_back(MoveReplica{due.session, due.from, std::move(*to), due.force});
    } else {
      drains_.failed(due.session, {"no other host can take its replica; start one more", false}, now_.mono);
    }
  }
}

void Scheduler::move_to_devices() {
  const auto is_free = [this](const SessionId& session) { return !drains_.moves(session); };
  for (DeviceMoves::Due& due : device_moves_.due(holds_.mean(now_.mono), now_.mono, is_free)) {
    cluster_.add_replica(due.session, due.to);
    decisions_.emplace_back(
        MoveReplica{std::move(due.session), std::move(due.from), std::move(due.to), false});
  }
}

void Scheduler::stop_waiting(const SessionId& session) {
  device_queue_.drop(session);
  device_moves_.drop(session);
}

void Scheduler::place_newcomers() {
  newcomers_.decide(now_.mono, [this](Decision decision) {
    if (const auto* placed = std::get_if<PlaceSession>(&decision))
      cluster_.hold(placed->session, placed->kind, {placed->hosts.begin(), placed->hosts.end()});
    decisions_.push_back(std::move(decision));
  });
}

}  // namespace banyan::schedule
