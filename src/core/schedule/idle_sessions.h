// The sessions in which nothing happens, until they have been idle for so long that they are suspended.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/ids.h"
#include "base/time.h"

namespace banyan::schedule {

/// The idle sessions, ordered by the time at which they are to be suspended.
class IdleSessions {
 public:
  /// The session is to be suspended then, if nothing happens in it before. Without a time it is not idle, may
  /// not be suspended, or is gone.
  void set(const SessionId& session, std::optional<WallTime> due);
  /// Takes out the session whose time came first, if it has come. A session is taken once, until it is set
  /// again.
  [[nodiscard]] std::optional<SessionId> take_due(WallTime now);

 private:
  std::map<SessionId, WallTime> due_;
  std::set<std::pair<WallTime, SessionId>> first_due_;
};

}  // namespace banyan::schedule
