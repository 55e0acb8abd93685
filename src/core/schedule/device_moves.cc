#include "core/schedule/device_moves.h"

#include <algorithm>
#include <vector>

namespace banyan::schedule {

namespace {
/// What is assumed as long as no cell with devices has ended: the median of NotebookOS's workload.
constexpr Duration kUsualHold = 2min;
constexpr std::size_t kDeviceMovesAtOnce = 8;
constexpr Duration kLookEach = 200ms;
constexpr Duration kDeviceMoveMax =
    60s;                             // one that lasts so long is given up: the cell waits for others, too
constexpr Duration kMoveAgain = 5s;  // after one that failed

/// Whose replica could leave: not the one that ran the last cell, nor one that leaves already; of the others
/// the one whose host has the fewest devices.
std::optional<HostId> who_leaves(const cluster::Ledger& ledger,
                                 const std::vector<EligibleReplica>& replicas) {
  std::optional<HostId> found;
  for (const EligibleReplica& one : replicas) {
    if (one.executed_last || one.leaves) continue;
    if (!found || ledger.device_counts(one.host).all() < ledger.device_counts(*found).all()) found = one.host;
  }
  return found;
}
}  // namespace

std::optional<DeviceMoves::Elsewhere> DeviceMoves::note(const CellWaits& cell, Time now) {
  if (!cell.move_takes) {
    waiting_.erase(cell.session);
    return std::nullopt;
  }
  Waiting& one = waiting_[cell.session];
  one.from = who_leaves(cluster_.ledger(), cell.replicas);
  one.takes = *cell.move_takes;
  one.gpus = cell.demand.gpus;
  one.line = one.from ? large_host(cell, one.line) : std::nullopt;
  one.too_large = one.line.has_value();
  if (!one.too_large) return std::nullopt;
  // A line that it could not use now would only hold others up.
  if (moves(cell.session) || now < one.again_at) one.line.reset();
  return Elsewhere{one.line};
}

/// Of the hosts that are large enough, when the session's own are not: the one of before, else the one with
/// the most idle devices. In the lines of all of them it would hold up all.
std::optional<HostId> DeviceMoves::large_host(const CellWaits& cell,
                                              const std::optional<HostId>& before) const {
  const auto is_small = [&](const HostId& host) {
    return cluster_.why_too_small(host, cell.demand).has_value();
  };
  if (!std::ranges::all_of(cell.replicas, is_small, &EligibleReplica::host)) return std::nullopt;
  const auto idle = [this](const HostId& host) { return cluster_.ledger().device_counts(host).idle; };
  std::optional<HostId> best;
  for (const auto& [host, known] : cluster_.hosts()) {
    if (is_small(host) || !cluster_.takes_replicas(host) || cluster_.why_not_on(host, cell.session)) continue;
    if (host == before) return before;
    if (!best || idle(host) > idle(*best)) best = host;
  }
  return best;
}

void DeviceMoves::drop(const SessionId& session) {
  waiting_.erase(session);
  moves_.erase(session);
}

void DeviceMoves::failed(const SessionId& session, Time now) {
  if (moves_.erase(session) == 0) return;
  queue_.comes(session, std::nullopt);
  waiting_[session].again_at = now + kMoveAgain;
}

void DeviceMoves::on_holds(const SessionId& session, const std::set<HostId>& hosts, Time now) {
  if (const auto move = moves_.find(session); move != moves_.end() && !hosts.contains(move->second.to))
    failed(session, now);
}

void DeviceMoves::end_old_moves(Time now) {
  std::vector<SessionId> old;
  for (const auto& [session, move] : moves_)
    if (now - move.since >= kDeviceMoveMax) old.push_back(session);
  for (const SessionId& session : old) failed(session, now);
}

std::set<HostId> DeviceMoves::hosts_without_line() const {
  std::set<HostId> free;
  for (const auto& [host, known] : cluster_.hosts())
    if (cluster_.takes_replicas(host) && !queue_.is_awaited(host) &&
        cluster_.ledger().device_counts(host).idle > 0)
      free.insert(host);
  return free;
}

std::vector<DeviceMoves::Due> DeviceMoves::due(std::optional<Duration> mean, Time now,
                                               const std::function<bool(const SessionId&)>& may_move) {
  std::vector<Due> found;
  if (now - looked_at_ < kLookEach) return found;
  looked_at_ = now;
  end_old_moves(now);
  if (waiting_.empty()) return found;
  std::set<HostId> free = hosts_without_line();
  const bool some_stand_elsewhere =
      std::ranges::any_of(waiting_, [](const auto& item) { return item.second.line.has_value(); });
  if (free.empty() && !some_stand_elsewhere) return found;
  for (const SessionId& session : queue_.in_turn()) {
    if (moves_.size() >= kDeviceMovesAtOnce) break;
    if (!may_move(session)) continue;
    if (auto move = find(session, mean, now, free)) found.push_back(std::move(*move));
  }
  return found;
}

/// What is expected may be wrong: who has waited for as long as a move takes waits no longer for that.
bool DeviceMoves::is_worth_it(const SessionId& session, const Waiting& one, std::optional<Duration> mean,
                              Time now) const {
  const auto cell = queue_.cell_of(session, mean.value_or(kUsualHold));
  if (!cell || cell->at_limit || cell->hours_end) return false;
  return one.too_large || !cell->expected || *cell->expected > one.takes || now - cell->since >= one.takes;
}

/// The host with the most idle devices takes the replica.
std::optional<DeviceMoves::Due> DeviceMoves::find(const SessionId& session, std::optional<Duration> mean,
                                                  Time now, std::set<HostId>& free) {
  const auto known = waiting_.find(session);
  if (known == waiting_.end() || !known->second.from || now < known->second.again_at ||
      moves_.contains(session))
    return std::nullopt;
  const Waiting& one = known->second;
  const std::set<HostId>& held = cluster_.ledger().replicas_of(session);
  const auto idle = [this](const HostId& host) { return cluster_.ledger().device_counts(host).idle; };
  std::optional<HostId> best;
  const auto consider = [&](const HostId& host) {
    if (idle(host) < one.gpus || (best && idle(host) <= idle(*best))) return;
    if (queue_.has_turn(session, host) && !held.contains(host) && cluster_.takes_replicas(host) &&
        !cluster_.why_not_on(host, session))
      best = host;
  };
  std::ranges::for_each(free, consider);
  if (one.line) consider(*one.line);
  if (!best || !is_worth_it(session, one, mean, now)) return std::nullopt;
  Due due{session, *one.from, *best};
  moves_[session] = {due.to, now};
  queue_.comes(session, due.to);
  free.erase(due.to);  // it is awaited now
  return due;
}

}  // namespace banyan::schedule
