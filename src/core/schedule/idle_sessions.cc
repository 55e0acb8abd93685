#include "core/schedule/idle_sessions.h"

namespace banyan::schedule {

void IdleSessions::set(const SessionId& session, std::optional<WallTime> due) {
  if (const auto before = due_.extract(session)) first_due_.erase({before.mapped(), before.key()});
  if (!due) return;
  due_.emplace(session, *due);
  first_due_.emplace(*due, session);
}

std::optional<SessionId> IdleSessions::take_due(WallTime now) {
  if (first_due_.empty()) return std::nullopt;
  const auto [due, session] = *first_due_.begin();
  if (now.us < due.us) return std::nullopt;
  set(session, std::nullopt);
  return session;
}

}  // namespace banyan::schedule
