// The clocks of one machine: a monotonic clock that drifts, and a wall clock that may be an hour off and may
// jump.
#pragma once

#include "base/time.h"
#include "sim/scheduler.h"

namespace banyan::sim {

/// A host's two clocks: they drift from the true time.
class HostClock {
 public:
  /// `rate` is local seconds per true second, near 1.
  HostClock(double rate, Duration start, Duration wall_offset)
      : rate_(rate), start_(start), wall_offset_(wall_offset) {}

  [[nodiscard]] Time mono(TrueTime now) const { return Time(start_ + scaled(now, rate_)); }
  [[nodiscard]] Now read(TrueTime now) const {
    return {mono(now), WallTime{kEpochUs + (now + wall_offset_).count() / 1000}};
  }
  /// The first true moment at which the monotonic clock shows `local` or later.
  [[nodiscard]] TrueTime when(Time local) const {
    return scaled(local.time_since_epoch() - start_, 1 / rate_) + 1ns;
  }
  /// Somebody sets the wall clock.
  void set_wall_offset(Duration offset) { wall_offset_ = offset; }

 private:
  static constexpr std::int64_t kEpochUs = 1'764'000'000'000'000;  // a day in November 2025
  static Duration scaled(Duration duration, double factor) {
    return Duration(static_cast<Duration::rep>(static_cast<double>(duration.count()) * factor));
  }

  double rate_;
  Duration start_;
  Duration wall_offset_;
};

}  // namespace banyan::sim
