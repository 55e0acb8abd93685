#include "core/schedule/drains.h"

#include <algorithm>
#include <utility>

namespace banyan::schedule {

namespace {
constexpr std::size_t kMovesAtOnce = 4;
constexpr Duration kMoveMax = 900s;  // when the executor moves the session gives up before that
constexpr Duration kPauseMin = 5s;   // after a move that failed
constexpr Duration kPauseMax = 300s;
}  // namespace

void Drains::drop(const SessionId& session) {
  moves_.erase(session);
  failures_.erase(session);
}

std::vector<Drains::Due> Drains::due(const cluster::Cluster& cluster, Time now) {
  std::vector<Due> found;
  end_moves(cluster, now);
  forget_old_failures(cluster);
  for (const auto& [host, known] : cluster.hosts()) {
    if (!known.draining) continue;
    for (const SessionId& session : cluster.ledger().sessions_on(host)) {
      if (moves_.size() + found.size() >= kMovesAtOnce) return found;
      const auto failure = failures_.find(session);
      const bool pauses = failure != failures_.end() && now < failure->second.again_at;
      const bool chosen = std::ranges::find(found, session, &Due::session) != found.end();
      if (!pauses && !chosen && !moves_.contains(session)) found.push_back({session, host, known.forced});
    }
  }
  return found;
}

/// A move is over when the session has no replica on the host that it was to leave, or need not leave it any
/// more. When it has none where it was to go either, the session has changed its mind, because that host was
/// lost, for example.
void Drains::end_moves(const cluster::Cluster& cluster, Time now) {
  for (auto it = moves_.begin(); it != moves_.end();) {
    const auto current = it++;
    const auto& [session, move] = *current;
    const std::set<HostId>& held = cluster.ledger().replicas_of(session);
    if (!held.contains(move.from) || !cluster.draining(move.from)) {
      drop(SessionId(session));
    } else if (!held.contains(move.to)) {
      failed(SessionId(session), {"the session has changed its hosts in another way meanwhile", true}, now);
    } else if (now - move.since >= kMoveMax) {
      failed(SessionId(session), {"the move has not ended in time", false}, now);
    }
  }
}

/// What held up a session that has left in another way, or whose host takes part again, does not matter.
void Drains::forget_old_failures(const cluster::Cluster& cluster) {
  std::erase_if(failures_, [&](const auto& item) {
    const std::set<HostId>& held = cluster.ledger().replicas_of(item.first);
    return std::ranges::none_of(held, [&](const HostId& host) { return cluster.draining(host); });
  });
}

void Drains::began(const Due& due, const HostId& to, Time now) {
  moves_[due.session] = {due.from, to, now};
  if (const auto failure = failures_.find(due.session); failure != failures_.end())
    failure->second.reason.clear();
}

void Drains::failed(const SessionId& session, Obstacle obstacle, Time now) {
  moves_.erase(session);
  Failure& failure = failures_[session];
  failure.reason = std::move(obstacle.reason);
  const bool first = failure.pause == Duration::zero() || obstacle.soon;
  failure.pause = first ? kPauseMin : std::min(failure.pause * 2, kPauseMax);
  failure.again_at = now + failure.pause;
}

void Drains::retry() {
  for (auto& [session, failure] : failures_) failure.pause = {}, failure.again_at = {};
}

std::optional<std::string> Drains::why_stays(const SessionId& session) const {
  const auto found = failures_.find(session);
  const bool stays = found != failures_.end() && !found->second.reason.empty();
  return stays ? std::optional(found->second.reason) : std::nullopt;
}

}  // namespace banyan::schedule
