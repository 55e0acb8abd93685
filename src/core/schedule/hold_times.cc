#include "core/schedule/hold_times.h"

namespace banyan::schedule {

void HoldTimes::end(const SessionId& session, Time now) {
  const auto begun = begun_.extract(session);
  if (begun.empty()) return;
  ended_.push_back(now - begun.mapped());
  sum_ += ended_.back();
  if (ended_.size() <= kRemembered) return;
  sum_ -= ended_.front();
  ended_.pop_front();
}

std::optional<Duration> HoldTimes::mean() const {
  if (ended_.empty()) return std::nullopt;
  return sum_ / static_cast<Duration::rep>(ended_.size());
}

}  // namespace banyan::schedule
