// How the benches in C++ write their figures.
#pragma once

#include <cstdio>
#include <string>

#include "cli/table/table.h"

namespace banyan::bench {

inline std::string text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, value < 10 ? "%.3f" : "%.1f", value);
  return buffer;
}

/// "0.31 (< 1)", red when the goal is missed.
inline cli::Cell against(double value, double goal) {
  if (goal == 0) return {text(value)};
  return {text(value) + " (< " + std::to_string(static_cast<int>(goal)) + ")",
          value < goal ? cli::Colour::kGreen : cli::Colour::kRed};
}

}  // namespace banyan::bench
