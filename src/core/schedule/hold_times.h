// For how long cells have GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
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
  void begin(const SessionId& session, Time now);
  /// Its cell has ended, if one had begun.
  void end(const SessionId& session, Time now);
  /// Its cell did not run, or the session is gone.
  void drop(const SessionId& session);

  /// The mean of the last ones, or for how long those that run now have had theirs, where that is more: many
  /// short cells say nothing of a long one. Nothing as long as none has ended.
  [[nodiscard]] std::optional<Duration> mean(Time now) const;

 private:
  static constexpr std::size_t kRemembered = 32;

  std::map<SessionId, Time> begun_;
  std::int64_t begun_us_ = 0;  ///< the sum of these times, in microseconds
  std::deque<Duration> ended_;
  Duration sum_{};
};

}  // namespace banyan::schedule
