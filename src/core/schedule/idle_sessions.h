// Sessions that nothing happens in, until they have been idle for so long that they are suspended.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/ids.h"
#include "base/time.h"

namespace banyan::schedule {

class IdleSessions {
 public:
  /// `suspend_after`: zero for never.
  explicit IdleSessions(Duration suspend_after) : suspend_after_(suspend_after) {}

  /// Idle since then; nothing: it is not idle, or may not be suspended, or is gone.
  void set(const SessionId& session, std::optional<WallTime> since);
  /// Takes out the one that has been idle for longest, if that is long enough. Each is taken once, until it
  /// is set again.
  [[nodiscard]] std::optional<SessionId> take_due(WallTime now);

 private:
  Duration suspend_after_;
  std::map<SessionId, WallTime> since_;
  std::set<std::pair<WallTime, SessionId>> oldest_first_;
};

}  // namespace banyan::schedule
