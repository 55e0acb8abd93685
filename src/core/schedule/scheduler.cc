#include "core/schedule/scheduler.h"

#include <algorithm>
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
      cluster_(settings.default_kernel),
      placement_(checked(placement_named(settings.placement))),
      executor_choice_(checked(executor_choice_named(settings.executor_choice))),
      newcomers_(settings.replicas, *placement_, cluster_),
      idle_(settings.suspend_after) {}

std::vector<Decision> Scheduler::step(const Now& now, Event event) {
  now_ = now;
  std::visit([this](auto& one) { on(one); }, event);
  return std::exchange(decisions_, {});
}

std::uint64_t Scheduler::replicas_wanted() const {
  return std::min<std::uint64_t>(replicas_, cluster_.hosts().size());
}

void Scheduler::on(HostReported& event) {
  if (cluster_.report(event.host, event.capacity, std::move(event.kernels), now_.mono)) place_newcomers();
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
  cluster_.hold(event.session, std::move(event.kernel), std::move(event.hosts));
}

void Scheduler::on(const SessionIdle& event) { idle_.set(event.session, event.since); }

void Scheduler::on(const SessionClosed& event) {
  newcomers_.drop(event.session);
  idle_.set(event.session, std::nullopt);
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
  Snapshot snapshot{.hosts = {}, .wanted = 1};
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

void Scheduler::on(const CellWaits& event) {
  CHECK(!event.replicas.empty(), "a cell waits for one of the replicas that may run it");
  std::vector<Candidate> candidates;
  for (const EligibleReplica& one : event.replicas) candidates.push_back({one, load_of(cluster_, one.host)});
  const std::vector<ReplicaId> order = executor_choice_->order(std::move(candidates));
  CHECK(order.size() == event.replicas.size(), "a policy orders all candidates");
  const ReplicaId chosen = order.front();
  const auto eligible = std::ranges::find(event.replicas, chosen, &EligibleReplica::replica);
  CHECK(eligible != event.replicas.end(), "a policy names none but its candidates");
  cluster_.run(event.session, eligible->host);
  decisions_.emplace_back(StartCell{event.session, event.execution, chosen});
}

void Scheduler::on(const CellRuns& event) { cluster_.run(event.session, event.host); }

void Scheduler::on(const CellEnded& event) { cluster_.run(event.session, std::nullopt); }

void Scheduler::on(MoveFailed& event) {
  if (!drains_.moves(event.session)) return;  // a person has moved it
  drains_.failed(event.session, {std::move(event.reason), event.soon}, now_.mono);
}

void Scheduler::on(const TimePassed&) {
  place_newcomers();
  move_from_draining();
  while (auto due = idle_.take_due(now_.wall)) decisions_.emplace_back(SuspendSession{std::move(*due)});
}

void Scheduler::move_from_draining() {
  for (const Drains::Due& due : drains_.due(cluster_, now_.mono)) {
    if (auto to = place_replica(due.session, {})) {
      drains_.began(due, *to, now_.mono);
      decisions_.emplace_back(MoveReplica{due.session, due.from, std::move(*to), due.force});
    } else {
      drains_.failed(due.session, {"no other host can take its replica; start one more", false}, now_.mono);
    }
  }
}

void Scheduler::place_newcomers() {
  newcomers_.decide(now_.mono, [this](Decision decision) {
    if (const auto* placed = std::get_if<PlaceSession>(&decision))
      cluster_.hold(placed->session, placed->kernel, {placed->hosts.begin(), placed->hosts.end()});
    decisions_.push_back(std::move(decision));
  });
}

}  // namespace banyan::schedule
