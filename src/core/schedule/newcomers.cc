#include "core/schedule/newcomers.h"

#include <algorithm>
#include <map>
#include <utility>

namespace banyan::schedule {

using cluster::KernelReport;
using cluster::KernelState;

namespace {
constexpr Duration kHostsPatience = 10s;  // so long a session waits for hosts of a platform that is starting
constexpr Duration kFullPatience =
    1s;  // so long it waits for the last hosts; after that a majority is enough
constexpr Duration kCheckPatience =
    5s;  // so long hosts may try a kernel's Python; then they are taken as able
}  // namespace

Newcomers::Newcomers(std::uint64_t replicas, const Placement& placement, const SubscriptionLimit& limit,
                     const cluster::Cluster& cluster)
    : replicas_(replicas), placement_(placement), limit_(limit), cluster_(cluster) {}

void Newcomers::add(SessionAsked asked, Time now) {
  waiting_.push_back({std::move(asked.session), std::move(asked.kind), now});
}

void Newcomers::drop(const SessionId& session) {
  std::erase_if(waiting_, [&](const Waiting& one) { return one.session == session; });
}

void Newcomers::decide(Time now, const std::function<void(Decision)>& decided) {
  std::erase_if(waiting_, [&](const Waiting& one) {
    auto decision = decision_on(one, now);
    if (!decision) return false;
    decided(std::move(*decision));
    return true;
  });
}

std::optional<Decision> Newcomers::decision_on(const Waiting& one, Time now) const {
  if (auto nobody = cluster_.no_host_runs(one.kind.kernel))
    return RefuseSession{one.session, std::move(*nobody)};
  if (auto hosts = place(one, now - one.since)) return PlaceSession{one.session, one.kind, std::move(*hosts)};
  if (now - one.since >= kHostsPatience) return RefuseSession{one.session, too_few(one)};
  return std::nullopt;
}

std::optional<std::vector<HostId>> Newcomers::place(const Waiting& one, Duration waited) const {
  std::uint64_t able = 0;  // also counts the hosts that are still checking, or too small
  bool some_full = false;
  const auto ratio = most_subscribed(cluster_, limit_, replicas_);
  std::vector<std::pair<std::string, HostLoad>> up;
  for (const auto& [host, known] : cluster_.hosts()) {
    const KernelReport kernel = cluster_.kernel_on(host, one.kind.kernel);
    if (kernel.state == KernelState::kCannot || known.draining) continue;
    ++able;
    if (why_not(host, one, ratio)) {
      some_full = some_full || !cluster_.why_too_small(host, one.kind.demand);
      continue;
    }
    const bool tried = kernel.state == KernelState::kRuns || waited >= kCheckPatience;
    if (cluster_.usable(host) && tried)
      up.emplace_back(cluster::minor_version(kernel.python), load_of(cluster_, host));
  }
  // All replicas get the same minor version of Python, because another version may not load their values.
  std::map<std::string, std::size_t> pythons;
  for (const auto& [python, load] : up)
    if (!python.empty()) ++pythons[python];
  const auto most = std::ranges::max_element(pythons, {}, [](const auto& item) { return item.second; });
  std::erase_if(up, [&](const auto& item) { return !item.first.empty() && item.first != most->first; });

  const std::uint64_t target = std::min(replicas_, able);
  const bool all = up.size() >= target;
  // A session with fewer replicas would grow, and pass the limit then.
  if (target == 0 || up.size() < target / 2 + 1 || (!all && (waited < kFullPatience || some_full)))
    return std::nullopt;
  Snapshot snapshot{.hosts = {}, .wanted = target, .draw = draw_of(one.session)};
  for (auto& [python, load] : up) snapshot.hosts.push_back(std::move(load));
  return placement_.place(snapshot);
}

std::optional<std::string> Newcomers::why_not(const HostId& host, const Waiting& one,
                                              std::optional<double> most) const {
  if (auto small = cluster_.why_too_small(host, one.kind.demand)) return small;
  return why_oversubscribed(cluster_, most, host, one.kind.demand.gpus, replicas_);
}

std::string Newcomers::too_few(const Waiting& one) const {
  std::string up, draining, small;
  const auto ratio = most_subscribed(cluster_, limit_, replicas_);
  for (const auto& [host, known] : cluster_.hosts()) {
    if (!cluster_.usable(host) || cluster_.kernel_on(host, one.kind.kernel).state == KernelState::kCannot)
      continue;
    if (const auto why = why_not(host, one, ratio)) {
      small += " " + host.value + " cannot hold it: " + *why + ".";
      continue;
    }
    std::string& names = known.draining ? draining : up;
    names += (names.empty() ? "" : ", ") + host.value;
  }
  if (!draining.empty()) draining = "; being drained: " + draining;
  return "Too few hosts are up to hold a kernel of " + std::to_string(replicas_) +
         " replicas (up: " + (up.empty() ? "none" : up) + draining +
         "). Start host agents; `banyan hosts` shows them. Then try again." + small +
         cluster_.hosts_unable(one.kind.kernel);
}

}  // namespace banyan::schedule
