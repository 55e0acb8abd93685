#include "core/schedule/device_moves.h"

#include <algorithm>
#include <vector>

namespace banyan::schedule {

namespace {
/// What is assumed as long as no cell with devices has ended: the median of NotebookOS's workload.
constexpr Duration kUsualHold = 2min;
constexpr std::size_t kDeviceMovesAtOnce = 8;
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

void DeviceMoves::note(const CellWaits& cell) {
  if (!cell.move_takes) return drop(cell.session);
  Waiting& one = waiting_[cell.session];
  one.from = who_leaves(cluster_.ledger(), cell.replicas);
  one.takes = *cell.move_takes;
}

bool DeviceMoves::may_find_elsewhere(const CellWaits& cell) const {
  if (!cell.move_takes || !who_leaves(cluster_.ledger(), cell.replicas)) return false;
  const auto is_small = [&](const HostId& host) {
    return cluster_.why_too_small(host, cell.demand).has_value();
  };
  if (!std::ranges::all_of(cell.replicas, is_small, &EligibleReplica::host)) return false;
  return std::ranges::any_of(cluster_.hosts(), [&](const auto& item) {
    return cluster_.takes_replicas(item.first) && !is_small(item.first) &&
           !cluster_.why_not_on(item.first, cell.session);
  });
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

void DeviceMoves::end_old_moves(Time now) {
  std::vector<SessionId> old;
  for (const auto& [session, move] : moves_)
    if (now - move.since >= kDeviceMoveMax) old.push_back(session);
  for (const SessionId& session : old) failed(session, now);
}

std::map<HostId, std::uint64_t> DeviceMoves::hosts_without_line() const {
  std::map<HostId, std::uint64_t> idle;
  for (const auto& [host, known] : cluster_.hosts()) {
    if (!cluster_.takes_replicas(host) || queue_.is_awaited(host)) continue;
    if (const std::uint64_t count = cluster_.ledger().device_counts(host).idle; count > 0) idle[host] = count;
  }
  return idle;
}

std::vector<DeviceMoves::Due> DeviceMoves::due(std::optional<Duration> mean, Time now,
                                               const std::function<bool(const SessionId&)>& may_move) {
  end_old_moves(now);
  std::vector<Due> found;
  if (waiting_.empty() || moves_.size() >= kDeviceMovesAtOnce) return found;
  std::map<HostId, std::uint64_t> idle = hosts_without_line();
  if (idle.empty()) return found;
  for (const SessionId& session : queue_.sessions()) {
    if (idle.empty() || moves_.size() >= kDeviceMovesAtOnce) break;
    if (!may_move(session)) continue;
    if (auto move = find(session, mean, now, idle)) found.push_back(std::move(*move));
  }
  return found;
}

/// The host with the most idle devices takes the replica.
std::optional<DeviceMoves::Due> DeviceMoves::find(const SessionId& session, std::optional<Duration> mean,
                                                  Time now, std::map<HostId, std::uint64_t>& idle) {
  const auto known = waiting_.find(session);
  if (known == waiting_.end() || !known->second.from || now < known->second.again_at ||
      moves_.contains(session))
    return std::nullopt;
  const auto cell = queue_.cell_of(session, mean.value_or(kUsualHold));
  // What is expected may be wrong: who has waited for as long as a move takes waits no longer for that.
  const Duration takes = known->second.takes;
  if (!cell || cell->at_limit) return std::nullopt;
  if (cell->expected && *cell->expected <= takes && now - cell->since < takes) return std::nullopt;
  const std::set<HostId>& held = cluster_.ledger().replicas_of(session);
  auto best = idle.end();
  for (auto it = idle.begin(); it != idle.end(); ++it) {
    if (it->second < cell->demand.gpus || held.contains(it->first) || cluster_.why_not_on(it->first, session))
      continue;
    if (best == idle.end() || it->second > best->second) best = it;
  }
  if (best == idle.end()) return std::nullopt;
  Due due{session, *known->second.from, best->first};
  moves_[session] = {due.to, now};
  queue_.comes(session, due.to);
  idle.erase(best);  // it has a line now
  return due;
}

}  // namespace banyan::schedule
