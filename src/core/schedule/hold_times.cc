#include "core/schedule/hold_times.h"

#include <algorithm>

namespace banyan::schedule {

void HoldTimes::begin(const SessionId& session, Time now) {
  drop(session);
  begun_.emplace(session, now);
  begun_us_ += microseconds(now.time_since_epoch());
}

void HoldTimes::drop(const SessionId& session) {
  if (const auto begun = begun_.extract(session))
    begun_us_ -= microseconds(begun.mapped().time_since_epoch());
}

void HoldTimes::end(const SessionId& session, Time now) {
  const auto begun = begun_.find(session);
  if (begun == begun_.end()) return;
  ended_.push_back(now - begun->second);
  drop(session);
  sum_ += ended_.back();
  if (ended_.size() <= kRemembered) return;
  sum_ -= ended_.front();
  ended_.pop_front();
}

std::optional<Duration> HoldTimes::mean(Time now) const {
  if (ended_.empty()) return std::nullopt;
  const Duration ended = sum_ / static_cast<Duration::rep>(ended_.size());
  if (begun_.empty()) return ended;
  const std::int64_t begun_us = begun_us_ / static_cast<std::int64_t>(begun_.size());
  return std::max(ended, now.time_since_epoch() - std::chrono::microseconds(begun_us));
}

}  // namespace banyan::schedule
