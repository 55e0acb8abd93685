// `banyan plan fleet`: the cheapest instances for a list of tasks.
#pragma once

#include <string>

namespace banyan::cli {

/// What the command may be told.
struct PlanFleetOptions {
  std::string tasks;
  std::string catalog;
  std::string current;    ///< empty: nothing runs yet
  std::string policy;     ///< empty: "improved", with a current fleet "partial"
  double throughput = 1;  ///< of a task beside one other
  bool json = false;
};

/// Prints the plan, its price, a lower bound, what each instance earns and what moves. Exit code 0; 2 for
/// wrong input.
int plan_fleet(const PlanFleetOptions& options);

}  // namespace banyan::cli
