#include "core/planner/rate.h"

#include <algorithm>
#include <cmath>

namespace banyan::planner {

namespace {

constexpr double kForget = 0.93;        // each new sample leaves the older ones this part of their weight
constexpr double kAssumedWeight = 0.2;  // the assumed line takes part as two samples of this weight:
constexpr double kAssumedUnits = 10e6;  // one at 0 units, one at so many
constexpr double kPortionMin = 2e6;     // bytes; smaller samples are ends of flows and say little of portions
constexpr double kAssumedError = 0.5;   // the relative error of the assumed line
constexpr double kSurprise = 4;         // a time further from the line than this factor counts as so far
constexpr std::size_t kFirst = 8;       // so many samples are taken as they are, however far off
constexpr double kClock_us = 100;       // differences below this say nothing
constexpr double kFastest_us = 1e-6;    // the least time of a unit, so that the line rises
constexpr double kLongest_us = 1e12;    // 12 days; sums of several such times do not overflow
constexpr double kMostUnits = 1e15;     // bounds the units for the same reason
constexpr int kFits = 3;  // the weights follow from the line and the line from the weights: repeat

}  // namespace

Rate::Rate(double units_per_second, double fixed_us)
    : assumed_{fixed_us, 1e6 / units_per_second},
      line_(assumed_),
      portion_(kAssumedUnits),
      squared_error_(kAssumedError * kAssumedError) {}

void Rate::observe(double units, std::int64_t took_us) {
  if (took_us < 0 || !(units >= 0 && units <= kMostUnits) || static_cast<double>(took_us) > kLongest_us)
    return;
  const double expected = line_.at(units) + kClock_us;
  auto took = static_cast<double>(took_us);
  // A single pause says little about what follows, so a surprise counts only up to a factor.
  if (seen_ >= kFirst)
    took = std::min(std::clamp(took, expected / kSurprise, expected * kSurprise), kLongest_us);
  const double off = std::min((took - line_.at(units)) / expected, kSurprise);
  squared_error_ = kForget * squared_error_ + (1 - kForget) * off * off;
  if (samples_.size() == kRemembered) samples_.pop_front();
  samples_.push_back({units, std::llround(took)});
  ++seen_;
  for (int i = 0; i < kFits; ++i) fit();
}

void Rate::fit() {
  // Weighted sums over the samples (x: units, y: times), as the normal equations need them.
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  double count = 0, units_of_all = 0;
  const auto add = [&](double importance, double units, double took) {
    const double expected = line_.at(units) + kClock_us;
    const double weight = importance / (expected * expected);
    w += weight;
    wx += weight * units;
    wy += weight * took;
    wxx += weight * units * units;
    wxy += weight * units * took;
    count += importance;
    units_of_all += importance * units;
  };
  double importance = 1;
  for (auto sample = samples_.rbegin(); sample != samples_.rend(); ++sample, importance *= kForget)
    add(importance, sample->units, static_cast<double>(sample->took_us));
  add(kAssumedWeight * importance, 0, assumed_.at(0));
  add(kAssumedWeight * importance, kAssumedUnits, assumed_.at(kAssumedUnits));
  portion_ = std::max(units_of_all / count, kPortionMin);
  const double determinant = w * wxx - wx * wx;
  if (!(determinant > 0)) return;  // numbers so large that the sums lost all digits
  Line line{(wy * wxx - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant};
  // Neither a fixed time below 0 nor a line that falls makes sense: refit with that part held.
  if (line.fixed_us < 0) line = {0, wxy / wxx};
  if (line.each_us < kFastest_us) line = {std::max(0.0, (wy - kFastest_us * wx) / w), kFastest_us};
  line_ = line;
}

Estimate Rate::of(double units) const { return around(line_.at(units)); }

Estimate Rate::around(double mean_us) const {
  const auto whole = [](double us) { return std::llround(std::clamp(us, 0.0, kLongest_us)); };
  return {.us = whole(mean_us), .error_us = whole(mean_us * std::sqrt(squared_error_))};
}

}  // namespace banyan::planner
