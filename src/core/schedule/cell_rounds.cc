#include "core/schedule/cell_rounds.h"

#include <algorithm>
#include <functional>

namespace banyan::schedule {

namespace {

constexpr Duration kRoundPauseMin = 200ms;
constexpr Duration kRoundPauseMax = 5s;
constexpr int kDeclinedRoundsMax = 5;

/// Keeps those for which `preferred` holds; all, when it holds for none.
void prefer(std::vector<EligibleReplica>& replicas,
            const std::function<bool(const EligibleReplica&)>& preferred) {
  if (std::ranges::any_of(replicas, preferred)) std::erase_if(replicas, std::not_fn(preferred));
}

}  // namespace

/// A replica that is about to leave would take the cell with it: such are asked only where nobody else is
/// left. A replica whose host cannot run the kernel, or is too small for the cell, is asked only where none
/// is better: it says why it declines. A host that is drained gets no cells, except those of sessions that
/// run there until they can move.
std::vector<EligibleReplica> CellRounds::left(const CellWaits& event) const {
  std::vector<EligibleReplica> replicas = event.replicas;
  prefer(replicas, [&](const EligibleReplica& one) { return !cluster_.is_unable(one.host, event.session); });
  prefer(replicas,
         [&](const EligibleReplica& one) { return !cluster_.why_too_small(one.host, event.demand); });
  if (const auto cell = cells_.find(event.session); cell != cells_.end())
    std::erase_if(replicas,
                  [&](const EligibleReplica& one) { return cell->second.passed_over.contains(one.host); });
  prefer(replicas, [](const EligibleReplica& one) { return !one.leaves; });
  prefer(replicas,
         [&](const EligibleReplica& one) { return one.executed_last || !cluster_.draining(one.host); });
  return replicas;
}

bool CellRounds::pause(const CellWaits& event, Time now) {
  Cell& cell = cells_[event.session];
  if (event.declined && ++cell.declined_rounds >= kDeclinedRoundsMax && !event.may_begin) return false;
  cell.pause = cell.pause == Duration::zero() ? kRoundPauseMin : std::min(cell.pause * 5 / 4, kRoundPauseMax);
  cell.passed_over.clear();
  cell.again_at = now + cell.pause;
  return true;
}

bool CellRounds::declined(const SessionId& session) const {
  const auto cell = cells_.find(session);
  return cell != cells_.end() && cell->second.declined_rounds > 0;
}

bool CellRounds::pauses(const SessionId& session) const {
  const auto cell = cells_.find(session);
  return cell != cells_.end() && cell->second.again_at;
}

void CellRounds::on_runs(const SessionId& session) {
  const auto cell = cells_.find(session);
  if (cell == cells_.end()) return;
  cell->second.again_at.reset();
  cell->second.declined_rounds = 0;
}

void CellRounds::begin_anew(const SessionId& session) {
  if (const auto cell = cells_.find(session); cell != cells_.end()) cell->second.passed_over.clear();
}

std::vector<SessionId> CellRounds::take_due(Time now) {
  std::vector<SessionId> due;
  for (auto& [session, cell] : cells_) {
    if (!cell.again_at || now < *cell.again_at) continue;
    cell.again_at.reset();
    due.push_back(session);
  }
  return due;
}

}  // namespace banyan::schedule
