// How often something took how long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace banyan::metrics {

/// Counts durations by upper bounds in seconds: from a millisecond, which a short cell takes, to two hours.
class Histogram {
 public:
  static constexpr std::array kBounds_s = {0.001, 0.0025, 0.005,  0.01,   0.025, 0.05, 0.1,
                                           0.25,  0.5,    1.0,    2.5,    5.0,   10.0, 30.0,
                                           60.0,  300.0,  1200.0, 3600.0, 7200.0};

  void observe(Duration time) {
    const double seconds = static_cast<double>(time.count()) / 1e9;
    std::size_t bucket = 0;
    while (bucket < kBounds_s.size() && seconds > kBounds_s[bucket]) ++bucket;
    ++counts_[bucket];
    sum_s_ += seconds;
  }
  /// How many were at most so long as each bound, and in the last place all; what is in one is in the next,
  /// too.
  [[nodiscard]] std::array<std::uint64_t, kBounds_s.size() + 1> up_to() const {
    std::array<std::uint64_t, kBounds_s.size() + 1> all = counts_;
    for (std::size_t bucket = 1; bucket < all.size(); ++bucket) all[bucket] += all[bucket - 1];
    return all;
  }
  [[nodiscard]] double sum_s() const { return sum_s_; }

 private:
  std::array<std::uint64_t, kBounds_s.size() + 1> counts_{};
  double sum_s_ = 0;
};

}  // namespace banyan::metrics
