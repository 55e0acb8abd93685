#include "core/schedule/drains.h"

#include <algorithm>
#include <utility>

namespace banyan::schedule {

namespace {
constexpr std::size_t kMovesAtOnce = 4;
constexpr Duration kMoveMax = 900s;  // the session gives up before that
constexpr Duration kPauseMin = 5s;   // after a move that failed
constexpr Duration kPauseMax = 300s;
}  // namespace

void Drains::drop(const SessionId& session) {
  moves_.erase(session);
  failures_.erase(session);
}

std::vector<Drains::Due> Drains::due(const cluster::Ledger& ledger, Time now) {
  std::vector<Due> found;
  end_moves(ledger, now);
  for (const auto& [host, force] : hosts_) {
    for (const SessionId& session : ledger.sessions_on(host)) {
      if (moves_.size() + found.size() >= kMovesAtOnce) return found;
      const auto failure = failures_.find(session);
      const bool pauses = failure != failures_.end() && now < failure->second.again_at;
      const bool chosen = std::ranges::find(found, session, &Due::session) != found.end();
      if (!pauses && !chosen && !moves_.contains(session)) found.push_back({session, host, force});
    }
  }
  return found;
}

/// A move is over when the session has no replica on the host that it was to leave. When it has none where it
/// was to go either, the session has changed its mind, because that host was lost, for example.
void Drains::end_moves(const cluster::Ledger& ledger, Time now) {
  for (auto it = moves_.begin(); it != moves_.end();) {
    const auto current = it++;
    const auto& [session, move] = *current;
    const std::set<HostId>& held = ledger.replicas_of(session);
    if (!held.contains(move.from)) {
      drop(SessionId(session));
    } else if (!held.contains(move.to)) {
      failed(SessionId(session), "the host that it was to go to was lost on the way", now);
    } else if (now - move.since >= kMoveMax) {
      failed(SessionId(session), "the move has not ended in time", now);
    }
  }
}

void Drains::began(const Due& due, const HostId& to, Time now) { moves_[due.session] = {due.from, to, now}; }

void Drains::failed(const SessionId& session, std::string reason, Time now) {
  moves_.erase(session);
  Failure& failure = failures_[session];
  failure.reason = std::move(reason);
  failure.pause = failure.pause == Duration::zero() ? kPauseMin : std::min(failure.pause * 2, kPauseMax);
  failure.again_at = now + failure.pause;
}

void Drains::retry() {
  for (auto& [session, failure] : failures_) failure.again_at = {};
}

std::optional<std::string> Drains::why_stays(const SessionId& session) const {
  const auto found = failures_.find(session);
  return found == failures_.end() ? std::nullopt : std::optional(found->second.reason);
}

}  // namespace banyan::schedule
