// How long things take, learned from those that were seen: no probes are sent to find out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace banyan::planner {

/// How an estimate is taken: as it will be on average, or so that it is mostly shorter, for where being wrong
/// costs more than being right saves.
enum class Take : std::uint8_t { kMean, kCautious };

/// A time and its standard error, microseconds.
struct Estimate {
  std::int64_t us = 0;
  std::int64_t error_us = 0;

  [[nodiscard]] std::int64_t taken_us(Take how) const { return how == Take::kMean ? us : us + error_us; }
  [[nodiscard]] std::int64_t cautious_us() const { return taken_us(Take::kCautious); }
};

/// Something took so long.
struct RateSample {
  double units = 0;
  std::int64_t took_us = 0;
};

/// A line through what was seen: a fixed time and one for each unit (a byte; a microsecond of a first run).
/// Weighted least squares of the relative errors, in which older samples count less and less.
class Rate {
 public:
  static constexpr std::size_t kRemembered = 32;  ///< samples
  /// Assumed until there are samples. `units_per_second` > 0, `fixed_us` ≥ 0.
  Rate(double units_per_second, double fixed_us);

  /// Something with so many units took so long. A negative time is ignored.
  void observe(double units, std::int64_t took_us);
  [[nodiscard]] Estimate of(double units) const;
  /// So many bytes among many that come portion by portion, as those of the samples did.
  [[nodiscard]] Estimate more(double bytes) const { return around(bytes * line_.at(portion_) / portion_); }
  /// Of large amounts.
  [[nodiscard]] double units_per_second() const { return 1e6 / line_.each_us; }
  [[nodiscard]] std::uint64_t samples() const { return seen_; }
  /// The last ones, from the oldest on: to observe them again, in another life.
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
  double portion_;                  ///< units of a usual sample
  double squared_error_;            ///< relative, its mean
  std::deque<RateSample> samples_;  ///< the last ones
  std::uint64_t seen_ = 0;
};

}  // namespace banyan::planner
