#include "core/schedule/device_queue.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace banyan::schedule {

std::vector<EligibleReplica> DeviceQueue::take_turn(const SessionId& session, const cluster::Demand& demand,
                                                    std::vector<EligibleReplica> replicas, Time now) {
  std::set<HostId> hosts;
  for (const EligibleReplica& one : replicas)
    if (!cluster_.why_too_small(one.host, demand)) hosts.insert(one.host);
  if (!hosts.empty()) {
    const auto free = [&](const EligibleReplica& one) { return is_free(session, demand, one.host); };
    std::erase_if(replicas, std::not_fn(free));
  }
  if (!replicas.empty()) {
    drop(session);
    return replicas;
  }
  const auto found = std::ranges::find(waiting_, session, &Waiting::session);
  const Time since = found == waiting_.end() ? now : found->since;
  Waiting& one = found == waiting_.end() ? waiting_.emplace_back() : *found;
  one = {.session = session, .demand = demand, .hosts = std::move(hosts), .since = since};
  return {};
}

void DeviceQueue::pass(const SessionId& session) {
  const auto found = std::ranges::find(waiting_, session, &Waiting::session);
  if (found != waiting_.end()) found->hosts.clear();
}

void DeviceQueue::drop(const SessionId& session) {
  std::erase_if(waiting_, [&](const Waiting& one) { return one.session == session; });
}

bool DeviceQueue::is_free(const SessionId& session, const cluster::Demand& demand, const HostId& host) const {
  for (const Waiting& earlier : waiting_) {
    if (earlier.session == session) break;
    if (earlier.hosts.contains(host)) return false;
  }
  return cluster_.ledger().device_counts(host).idle >= demand.gpus;
}

/// Of cells that wait for the same host only the first can be ready, so that no device is promised twice.
std::vector<SessionId> DeviceQueue::take_ready() {
  std::vector<SessionId> ready;
  std::set<HostId> claimed;
  for (Waiting& one : waiting_) {
    const auto free = [&](const HostId& host) {
      return !claimed.contains(host) && cluster_.ledger().device_counts(host).idle >= one.demand.gpus;
    };
    if (!one.named && std::ranges::any_of(one.hosts, free)) {
      one.named = true;
      ready.push_back(one.session);
    }
    claimed.insert(one.hosts.begin(), one.hosts.end());
  }
  return ready;
}

std::vector<QueuedCell> DeviceQueue::cells(std::optional<Duration> mean) const {
  std::vector<QueuedCell> all;
  for (const Waiting& one : waiting_) all.push_back(described(one, mean));
  return all;
}

std::optional<QueuedCell> DeviceQueue::cell_of(const SessionId& session, std::optional<Duration> mean) const {
  const auto found = std::ranges::find(waiting_, session, &Waiting::session);
  if (found == waiting_.end()) return std::nullopt;
  return described(*found, mean);
}

QueuedCell DeviceQueue::described(const Waiting& one, std::optional<Duration> mean) const {
  QueuedCell cell{.session = one.session, .demand = one.demand, .since = one.since, .expected = {}};
  std::uint64_t wanted = one.demand.gpus;
  for (const Waiting& earlier : waiting_) {
    if (&earlier == &one) break;
    const auto shared = [&](const HostId& host) { return one.hosts.contains(host); };
    if (std::ranges::none_of(earlier.hosts, shared)) continue;
    ++cell.place;
    wanted += earlier.demand.gpus;
  }
  std::uint64_t idle = 0, all = 0;
  for (const HostId& host : one.hosts) {
    const cluster::DeviceCounts counts = cluster_.ledger().device_counts(host);
    idle += counts.idle;
    all += counts.idle + counts.bound;
  }
  if (all > 0 && mean)
    cell.expected =
        *mean * static_cast<Duration::rep>(wanted - std::min(wanted, idle)) / static_cast<Duration::rep>(all);
  return cell;
}

}  // namespace banyan::schedule
