// Time as the pure layers see it: handed in, never read.
#pragma once

#include <chrono>
#include <cstdint>

namespace banyan {

using Duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;  // NOLINT(google-global-names-in-headers): 150ms reads as a unit
                                       // everywhere

/// Tags for the two clocks. Neither has now(): a driver makes the points, the pure layers compare them.
struct MonotonicClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<MonotonicClock>;
  static constexpr bool is_steady = true;
};

/// A point on one process's monotonic clock. All deadlines and leases use it.
using Time = MonotonicClock::time_point;

/// The whole microseconds of a duration.
constexpr std::int64_t microseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

/// Microseconds since the Unix epoch, UTC. For people and message headers only: safety never depends on it.
struct WallTime {
  std::int64_t us = 0;
  friend auto operator<=>(const WallTime&, const WallTime&) = default;
};

/// The moment of a step, on both clocks.
struct Now {
  Time mono;
  WallTime wall;
};

}  // namespace banyan
