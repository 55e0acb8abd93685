// How long things take, learned from what the host does anyway: no probes are sent to find out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace banyan::planner {

/// How an estimate is taken: as the mean, or with its standard error on top, so that the real time is mostly
/// shorter. The second is for choices in which being wrong costs more than being right saves.
enum class Take : std::uint8_t { kMean, kCautious };

/// A time and its standard error, microseconds.
struct Estimate {
  std::int64_t us = 0;
  std::int64_t error_us = 0;

  [[nodiscard]] std::int64_t taken_us(Take how) const { return how == Take::kMean ? us : us + error_us; }
  [[nodiscard]] std::int64_t cautious_us() const { return taken_us(Take::kCautious); }
};

/// One observation: something with so many units took so long.
struct RateSample {
  double units = 0;
  std::int64_t took_us = 0;
};

/// Predicts times by a line through what was observed: a fixed time, and a time for each unit (a byte, or a
/// microsecond of a first run). The line has the least squares of the relative errors; older samples weigh
/// less.
class Rate {
 public:
  static constexpr std::size_t kRemembered = 32;  ///< how many samples the line goes through
  /// The line to assume until there are samples. `units_per_second` > 0, `fixed_us` ≥ 0.
  Rate(double units_per_second, double fixed_us);

  /// Learns that something with so many units took so long. Figures that cannot be (a negative time) are
  /// ignored.
  void observe(double units, std::int64_t took_us);
  [[nodiscard]] Estimate of(double units) const;
  /// The time for so many bytes within a longer flow, whose portions are as large as those of the samples:
  /// each byte bears its share of the fixed times.
  [[nodiscard]] Estimate more(double bytes) const { return around(bytes * line_.at(portion_) / portion_); }
  /// The rate of large amounts, for which the fixed time does not count.
  [[nodiscard]] double units_per_second() const { return 1e6 / line_.each_us; }
  [[nodiscard]] std::uint64_t samples() const { return seen_; }
  /// The last samples, from the oldest on: another life of the host observes them again.
  [[nodiscard]] std::vector<RateSample> remembered() const { return {samples_.begin(), samples_.end()}; }

 private:
  struct Line {
    double fixed_us = 0;
    double each_us = 0;
    [[nodiscard]] double at(double units) const { return fixed_us + units * each_us; }
  };
  void fit();
  [[nodiscard]] Estimate around(double mean_us) const;

  Line assumed_;
  Line line_;
  double portion_;                  ///< the units of a usual sample
  double squared_error_;            ///< the mean of the squared relative errors of predictions
  std::deque<RateSample> samples_;  ///< the last kRemembered
  std::uint64_t seen_ = 0;
};

}  // namespace banyan::planner
