// The sessions in which nothing happens, until they have been idle for so long that they are suspended.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/ids.h"
#include "base/time.h"

namespace banyan::schedule {

/// The idle sessions, ordered by the time since which they are idle.
class IdleSessions {
 public:
  /// `suspend_after`: how long a session must be idle; zero: it is never due.
  explicit IdleSessions(Duration suspend_after) : suspend_after_(suspend_after) {}

  /// The session is idle since that time. Without a time it is not idle, may not be suspended, or is gone.
  void set(const SessionId& session, std::optional<WallTime> since);
  /// Takes out the session that has been idle for longest, if that is long enough. A session is taken once,
  /// until it is set again.
  [[nodiscard]] std::optional<SessionId> take_due(WallTime now);

 private:
  Duration suspend_after_;
  std::map<SessionId, WallTime> since_;
  std::set<std::pair<WallTime, SessionId>> oldest_first_;
};

}  // namespace banyan::schedule
