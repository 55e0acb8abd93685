// How the benches in C++ write their figures.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cli/table/table.h"

namespace banyan::bench {

inline std::string text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, value < 10 ? "%.3f" : "%.1f", value);
  return buffer;
}

/// A figure with its goal, "0.31 (< 1)", red when the goal is missed.
inline cli::Cell against(double value, double goal) {
  if (goal == 0) return {text(value)};
  return {text(value) + " (< " + std::to_string(static_cast<int>(goal)) + ")",
          value < goal ? cli::Colour::kGreen : cli::Colour::kRed};
}

/// How a time grows with a count.
struct Growth {
  std::string what;
  std::vector<std::pair<double, double>> points;  ///< count and milliseconds, counts rising
};

/// Bars whose length is the logarithm of the time, and by which power of the count it grows from one to the
/// next.
inline std::string plot(const std::vector<Growth>& curves) {
  constexpr double kPerDecade = 10;
  double least = 1e300;
  for (const Growth& curve : curves)
    for (const auto& [count, ms] : curve.points) least = std::min(least, ms);
  std::string all;
  for (const Growth& curve : curves) {
    all += "\n" + curve.what + " (a bar ten longer: ten times the time)\n";
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      const auto& [count, ms] = curve.points[i];
      char line[80];
      std::snprintf(line, sizeof line, "%10.0f %10s ms ", count, text(ms).c_str());
      all += line + std::string(static_cast<std::size_t>(1 + kPerDecade * std::log10(ms / least)), '#');
      if (i > 0) {
        const double power =
            std::log(ms / curve.points[i - 1].second) / std::log(count / curve.points[i - 1].first);
        std::snprintf(line, sizeof line, "  n^%.2f", power);
        all += line;
      }
      all += "\n";
    }
  }
  return all;
}

}  // namespace banyan::bench
