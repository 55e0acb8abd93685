// For how long cells have GPUs.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>

#include "base/ids.h"
#include "base/time.h"

namespace banyan::schedule {

/// Remembers the last cells that had GPUs, so that those that wait can be told how long that may take.
class HoldTimes {
 public:
  /// A cell of the session is about to have GPUs. One that had begun before is forgotten: it never ran.
  void begin(const SessionId& session, Time now) { begun_.insert_or_assign(session, now); }
  /// Its cell has ended, if one had begun.
  void end(const SessionId& session, Time now);
  /// Its cell did not run, or the session is gone.
  void drop(const SessionId& session) { begun_.erase(session); }

  /// The mean of the last ones; nothing as long as none has ended.
  [[nodiscard]] std::optional<Duration> mean() const;

 private:
  static constexpr std::size_t kRemembered = 32;

  std::map<SessionId, Time> begun_;
  std::deque<Duration> ended_;
  Duration sum_{};
};

}  // namespace banyan::schedule
