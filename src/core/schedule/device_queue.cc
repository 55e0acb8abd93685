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
  const auto [known, comes] = tickets_.try_emplace(session, last_ + 1);
  if (comes) ++last_;
  Waiting& one = waiting_[known->second];
  if (comes) one.since = now;
  one.session = session;
  one.demand = demand;
  one.named = false;
  wait_for(known->second, std::move(hosts));
  return {};
}

void DeviceQueue::pass(const SessionId& session) {
  const auto found = tickets_.find(session);
  if (found != tickets_.end()) wait_for(found->second, {});
}

void DeviceQueue::drop(const SessionId& session) {
  const auto found = tickets_.find(session);
  if (found == tickets_.end()) return;
  wait_for(found->second, {});
  waiting_.erase(found->second);
  tickets_.erase(found);
}

void DeviceQueue::wait_for(Ticket ticket, std::set<HostId> hosts) {
  Waiting& one = waiting_.at(ticket);
  for (const HostId& host : one.hosts) {
    const auto line = lines_.find(host);
    line->second.erase(ticket);
    if (line->second.empty()) lines_.erase(line);
    moved_.insert(host);
  }
  one.hosts = std::move(hosts);
  for (const HostId& host : one.hosts) lines_[host].insert(ticket);
}

bool DeviceQueue::is_free(const SessionId& session, const cluster::Demand& demand, const HostId& host) const {
  if (const auto line = lines_.find(host); line != lines_.end()) {
    const auto own = tickets_.find(session);
    if (own == tickets_.end() || *line->second.begin() < own->second) return false;
  }
  return cluster_.ledger().device_counts(host).idle >= demand.gpus;
}

/// Of cells that wait for the same host only the first can be ready, so that no device is promised twice.
std::vector<SessionId> DeviceQueue::take_ready(const std::set<HostId>& changed) {
  std::set<HostId> looked_at = std::exchange(moved_, {});
  looked_at.insert(changed.begin(), changed.end());
  std::set<Ticket> ready;
  for (const HostId& host : looked_at) {
    const auto line = lines_.find(host);
    if (line == lines_.end()) continue;
    const Ticket first = *line->second.begin();
    Waiting& one = waiting_.at(first);
    if (one.named || cluster_.ledger().device_counts(host).idle < one.demand.gpus) continue;
    one.named = true;
    ready.insert(first);
  }
  std::vector<SessionId> sessions;
  for (const Ticket ticket : ready) sessions.push_back(waiting_.at(ticket).session);
  return sessions;
}

std::vector<QueuedCell> DeviceQueue::cells(std::optional<Duration> mean) const {
  std::vector<QueuedCell> all;
  for (const auto& [ticket, one] : waiting_) all.push_back(described(ticket, mean));
  return all;
}

std::optional<QueuedCell> DeviceQueue::cell_of(const SessionId& session, std::optional<Duration> mean) const {
  const auto found = tickets_.find(session);
  if (found == tickets_.end()) return std::nullopt;
  return described(found->second, mean);
}

QueuedCell DeviceQueue::described(Ticket ticket, std::optional<Duration> mean) const {
  const Waiting& one = waiting_.at(ticket);
  std::set<Ticket> before;
  std::uint64_t idle = 0, all = 0;
  for (const HostId& host : one.hosts) {
    const std::set<Ticket>& line = lines_.at(host);
    before.insert(line.begin(), line.find(ticket));
    const cluster::DeviceCounts counts = cluster_.ledger().device_counts(host);
    idle += counts.idle;
    all += counts.idle + counts.bound;
  }
  std::uint64_t wanted = one.demand.gpus;
  for (const Ticket earlier : before) wanted += waiting_.at(earlier).demand.gpus;
  QueuedCell cell{.session = one.session,
                  .demand = one.demand,
                  .place = one.hosts.empty() ? 0 : before.size() + 1,
                  .since = one.since,
                  .expected = {}};
  if (all > 0 && mean)
    cell.expected =
        *mean * static_cast<Duration::rep>(wanted - std::min(wanted, idle)) / static_cast<Duration::rep>(all);
  return cell;
}

}  // namespace banyan::schedule
