#include "core/schedule/idle_sessions.h"

namespace banyan::schedule {

void IdleSessions::set(const SessionId& session, std::optional<WallTime> since) {
  if (const auto before = since_.extract(session)) oldest_first_.erase({before.mapped(), before.key()});
  if (!since || suspend_after_ == Duration::zero()) return;
  since_.emplace(session, *since);
  oldest_first_.emplace(*since, session);
}

std::optional<SessionId> IdleSessions::take_due(WallTime now) {
  if (oldest_first_.empty()) return std::nullopt;
  const auto [since, session] = *oldest_first_.begin();
  if (now.us - since.us < microseconds(suspend_after_)) return std::nullopt;
  set(session, std::nullopt);
  return session;
}

}  // namespace banyan::schedule
