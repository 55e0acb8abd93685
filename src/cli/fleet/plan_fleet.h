// `banyan plan fleet`: the cheapest instances for a list of tasks.
#pragma once

#include <string>

namespace banyan::cli {

/// What the command may be told.
struct PlanFleetOptions {
  std::string tasks;
  std::string catalog;
  std::string current;    ///< empty when nothing runs yet
  std::string policy;     ///< empty for "improved", or "partial" with a current fleet
  double throughput = 1;  ///< how fast a task runs beside one other; 1: as alone
  bool json = false;
};

/// Prints the plan, its price, a lower bound, what each instance earns and what moves. Returns the exit code:
/// 0, or 2 for wrong input.
int plan_fleet(const PlanFleetOptions& options);

}  // namespace banyan::cli
