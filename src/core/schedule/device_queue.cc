#include "core/schedule/device_queue.h"

#include <algorithm>
#include <functional>

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
  const Ticket ticket = enter(session, demand, now);
  waiting_.at(ticket).named = false;
  wait_for(ticket, std::move(hosts));
  return {};
}

void DeviceQueue::wait_elsewhere(const SessionId& session, const cluster::Demand& demand,
                                 const std::optional<HostId>& host, Time now) {
  const Ticket ticket = enter(session, demand, now);
  waiting_.at(ticket).named = true;
  wait_for(ticket, host ? std::set<HostId>{*host} : std::set<HostId>());
}

DeviceQueue::Ticket DeviceQueue::enter(const SessionId& session, const cluster::Demand& demand, Time now) {
  const auto [known, arrives] = tickets_.try_emplace(session, last_ + 1);
  Waiting& one = waiting_[known->second];
  if (arrives) {
    ++last_;
    one.since = now;
    one.session = session;
    one.owner = cluster_.ledger().holdings().owner_of(session);
  }
  const auto comes_to = one.comes_to;
  if (demand.gpus != one.demand.gpus && comes_to) comes(session, std::nullopt);  // it keeps other devices
  one.demand = demand;
  if (comes_to && !one.comes_to) comes(session, comes_to);
  return known->second;
}

bool DeviceQueue::has_turn(const SessionId& session, const HostId& host) const {
  const auto found = tickets_.find(session);
  return found != tickets_.end() && is_free(session, waiting_.at(found->second).demand, host);
}

void DeviceQueue::pass(const SessionId& session) {
  const auto found = tickets_.find(session);
  if (found != tickets_.end()) wait_for(found->second, {});
}

void DeviceQueue::comes(const SessionId& session, std::optional<HostId> host) {
  const auto found = tickets_.find(session);
  if (found == tickets_.end()) return;
  Waiting& one = waiting_.at(found->second);
  if (one.comes_to == host) return;
  const auto keep = [&](const HostId& there, bool keeps) {
    const auto add = [&](auto& counts, const auto& key) {
      std::uint64_t& count = counts[key];
      count = keeps ? count + one.demand.gpus : count - one.demand.gpus;
      if (count == 0) counts.erase(key);
    };
    add(reserved_, there);
    add(reserved_for_, one.owner);
    moved_.insert(there);
    if (const auto waits = owners_.find(one.owner); waits != owners_.end())
      for (const auto& [line, count] : waits->second) moved_.insert(line);
  };
  if (one.comes_to) keep(*one.comes_to, false);
  if (host) keep(*host, true);
  one.comes_to = std::move(host);
}

std::uint64_t DeviceQueue::share_of(const std::string& owner) const {
  const auto reserved = reserved_for_.find(owner);
  return cluster_.ledger().holdings().of(owner) + (reserved == reserved_for_.end() ? 0 : reserved->second);
}

std::uint64_t DeviceQueue::idle_on(const HostId& host) const {
  const auto reserved = reserved_.find(host);
  const std::uint64_t idle = cluster_.ledger().device_counts(host).idle;
  return reserved == reserved_.end() ? idle : idle - std::min(idle, reserved->second);
}

void DeviceQueue::drop(const SessionId& session) {
  const auto found = tickets_.find(session);
  if (found == tickets_.end()) return;
  wait_for(found->second, {});
  comes(session, std::nullopt);
  waiting_.erase(found->second);
  tickets_.erase(found);
}

void DeviceQueue::wait_for(Ticket ticket, std::set<HostId> hosts) {
  Waiting& one = waiting_.at(ticket);
  for (const HostId& host : one.hosts) {
    const auto line = lines_.find(host);
    const auto own = line->second.find(one.owner);
    own->second.erase(ticket);
    if (own->second.empty()) line->second.erase(own);
    if (line->second.empty()) lines_.erase(line);
    moved_.insert(host);
    const auto owner = owners_.find(one.owner);
    if (--owner->second.at(host) == 0) owner->second.erase(host);
    if (owner->second.empty()) owners_.erase(owner);
  }
  one.hosts = std::move(hosts);
  for (const HostId& host : one.hosts) {
    lines_[host][one.owner].insert(ticket);
    ++owners_[one.owner][host];
    moved_.insert(host);
  }
}

bool DeviceQueue::is_at_limit(const std::string& owner, const cluster::Demand& demand) const {
  return most_ > 0 && share_of(owner) + demand.gpus > most_;
}

bool DeviceQueue::may_not(const std::string& owner, const cluster::Demand& demand) const {
  return is_at_limit(owner, demand) || hours_.is_spent(owner);
}

std::optional<DeviceQueue::Rank> DeviceQueue::next(const Line& line) const {
  std::optional<Rank> least;
  for (const auto& [owner, tickets] : line) {
    if (may_not(owner, waiting_.at(*tickets.begin()).demand)) continue;
    const Rank rank{share_of(owner), *tickets.begin()};
    if (!least || rank < *least) least = rank;
  }
  return least;
}

bool DeviceQueue::is_free(const SessionId& session, const cluster::Demand& demand, const HostId& host) const {
  const std::string& owner = cluster_.ledger().holdings().owner_of(session);
  const auto known = tickets_.find(session);
  const bool comes = known != tickets_.end() && waiting_.at(known->second).comes_to == host;
  if (comes) return cluster_.ledger().device_counts(host).idle >= demand.gpus;  // they count as its owner's
  if (may_not(owner, demand)) return false;
  if (idle_on(host) < demand.gpus) return false;
  const auto line = lines_.find(host);
  if (line == lines_.end()) return true;
  const Ticket ticket = known == tickets_.end() ? last_ + 1 : known->second;
  // Its own place in the line is not looked at: what it needs may be less than when it took that.
  const auto own = line->second.find(owner);
  if (own != line->second.end() && *own->second.begin() < ticket) return false;
  const std::optional<Rank> first = next(line->second);
  return !first || first->second == ticket || Rank{share_of(owner), ticket} < *first;
}

/// Of cells that wait for the same host only the next one can be ready, so that no device is promised twice.
/// What an owner has elsewhere changes who is next in the lines of his own cells alone.
std::vector<SessionId> DeviceQueue::take_ready(const std::set<HostId>& changed,
                                               const std::set<std::string>& owners) {
  std::set<HostId> looked_at = std::exchange(moved_, {});
  looked_at.insert(changed.begin(), changed.end());
  if (owners_.size() > 1 || most_ > 0 || hours_.most() > Duration())
    for (const std::string& owner : owners)
      if (const auto waits = owners_.find(owner); waits != owners_.end())
        for (const auto& [host, count] : waits->second)
          if (held_up_.contains(host)) looked_at.insert(host);
  std::set<Ticket> ready;
  for (const HostId& host : looked_at) {
    held_up_.erase(host);
    const auto line = lines_.find(host);
    const std::uint64_t idle = idle_on(host);
    if (line == lines_.end() || idle == 0) continue;
    held_up_.insert(host);
    const std::optional<Rank> first = next(line->second);
    if (!first) continue;
    Waiting& one = waiting_.at(first->second);
    if (one.named || idle < one.demand.gpus) continue;
    one.named = true;
    ready.insert(first->second);
  }
  std::vector<SessionId> sessions;
  for (const Ticket ticket : ready) sessions.push_back(waiting_.at(ticket).session);
  return sessions;
}

std::vector<QueuedCell> DeviceQueue::cells(std::optional<Duration> mean) const {
  std::map<std::set<HostId>, Order> orders;  // many wait for the same hosts
  std::vector<QueuedCell> all;
  for (const auto& [ticket, one] : waiting_) {
    auto order = orders.find(one.hosts);
    if (order == orders.end()) order = orders.emplace(one.hosts, order_on(one.hosts)).first;
    all.push_back(described(ticket, order->second, mean));
  }
  return all;
}

std::optional<QueuedCell> DeviceQueue::cell_of(const SessionId& session, std::optional<Duration> mean) const {
  const auto found = tickets_.find(session);
  if (found == tickets_.end()) return std::nullopt;
  return described(found->second, order_on(waiting_.at(found->second).hosts), mean);
}

std::vector<SessionId> DeviceQueue::in_turn() const {
  std::map<std::string, std::uint64_t> held;
  std::vector<Rank> ranks;
  for (const auto& [ticket, one] : waiting_) {
    const auto share = held.try_emplace(one.owner, share_of(one.owner)).first;
    ranks.emplace_back(share->second, ticket);
    share->second += one.demand.gpus;
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<SessionId> all;
  for (const auto& [share, ticket] : ranks) all.push_back(waiting_.at(ticket).session);
  return all;
}

/// They have them as if each cell kept its devices once it has some: an owner's cells one after the other,
/// each behind the others' that make these have no more than this one's owner has then.
DeviceQueue::Order DeviceQueue::order_on(const std::set<HostId>& hosts) const {
  Order order;
  Line all_lines;
  for (const HostId& host : hosts) {
    for (const auto& [owner, tickets] : lines_.at(host))
      all_lines[owner].insert(tickets.begin(), tickets.end());
    const cluster::DeviceCounts counts = cluster_.ledger().device_counts(host);
    order.idle += counts.idle;
    order.all += counts.idle + counts.bound;
  }
  std::vector<Rank> ranks;
  for (const auto& [owner, tickets] : all_lines) {
    std::uint64_t share = share_of(owner);
    for (const Ticket ticket : tickets) {
      ranks.emplace_back(share, ticket);
      share += waiting_.at(ticket).demand.gpus;
    }
  }
  std::sort(ranks.begin(), ranks.end());
  Order::Place place;
  for (const auto& [share, ticket] : ranks) {
    order.places[ticket] = place;
    ++place.before;
    place.gpus_before += waiting_.at(ticket).demand.gpus;
  }
  return order;
}

QueuedCell DeviceQueue::described(Ticket ticket, const Order& order, std::optional<Duration> mean) const {
  const Waiting& one = waiting_.at(ticket);
  QueuedCell cell{.session = one.session,
                  .demand = one.demand,
                  .place = 0,
                  .since = one.since,
                  .expected = {},
                  .owner = one.owner,
                  .at_limit = !one.comes_to && is_at_limit(one.owner, one.demand),
                  .hours_end = {},
                  .comes_to = one.comes_to};
  if (!one.comes_to && hours_.is_spent(one.owner)) cell.hours_end = hours_.ends(one.owner);
  const auto place = order.places.find(ticket);
  if (place == order.places.end()) return cell;
  cell.place = place->second.before + 1;
  const std::uint64_t wanted = place->second.gpus_before + one.demand.gpus;
  if (order.all > 0 && mean && !cell.at_limit && !cell.hours_end)
    cell.expected = *mean * static_cast<Duration::rep>(wanted - std::min(wanted, order.idle)) /
                    static_cast<Duration::rep>(order.all);
  return cell;
}

}  // namespace banyan::schedule
