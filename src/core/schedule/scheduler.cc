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
      cluster_(settings.hosts, settings.default_kernel),
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
  cluster_.report(event.host, event.capacity, std::move(event.kernels), now_.mono);
  place_newcomers();
}

void Scheduler::on(const HostChanged& event) {
  cluster_.set_life(event.host, event.life);
  place_newcomers();
}

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
  cluster_.drop(event.session);
}

void Scheduler::on(const ReplicaWanted& event) {
  const std::set<HostId>& held = cluster_.ledger().replicas_of(event.session);
  Snapshot snapshot{.hosts = {}, .wanted = 1};
  for (const auto& [host, known] : cluster_.hosts()) {
    const bool taken = held.contains(host) || event.avoid.contains(host);
    if (!taken && cluster_.usable(host) && !cluster_.why_not_on(host, event.session))
      snapshot.hosts.push_back(load_of(cluster_, host));
  }
  const std::vector<HostId> chosen = placement_->place(snapshot);
  if (chosen.empty()) {
    decisions_.emplace_back(NoHost{event.session});
    return;
  }
  cluster_.add_replica(event.session, chosen.front());
  decisions_.emplace_back(PlaceReplica{event.session, chosen.front()});
}

void Scheduler::on(const CellWaits& event) {
  CHECK(!event.replicas.empty(), "a cell waits for one of the replicas that may run it");
  std::vector<Candidate> candidates;
  for (const EligibleReplica& one : event.replicas) candidates.push_back({one, load_of(cluster_, one.host)});
  const ReplicaId chosen = executor_choice_->order(std::move(candidates)).front();
  const auto eligible = std::ranges::find(event.replicas, chosen, &EligibleReplica::replica);
  cluster_.run(event.session, eligible->host);
  decisions_.emplace_back(StartCell{event.session, event.execution, chosen});
}

void Scheduler::on(const CellRuns& event) { cluster_.run(event.session, event.host); }

void Scheduler::on(const CellEnded& event) { cluster_.run(event.session, std::nullopt); }

void Scheduler::on(const TimePassed&) {
  place_newcomers();
  while (auto due = idle_.take_due(now_.wall)) decisions_.emplace_back(SuspendSession{std::move(*due)});
}

void Scheduler::place_newcomers() {
  while (auto decision = newcomers_.next(now_.mono)) {
    if (const auto* placed = std::get_if<PlaceSession>(&*decision))
      cluster_.hold(placed->session, placed->kernel, {placed->hosts.begin(), placed->hosts.end()});
    decisions_.push_back(std::move(*decision));
  }
}

}  // namespace banyan::schedule
