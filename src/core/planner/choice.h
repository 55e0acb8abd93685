// Which versions to load and which cells to run again, so that a view costs least (ElasticNotebook, VLDB'24,
// §5).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/planner/history_graph.h"

namespace banyan::planner {

/// What is weighed against each other, in microseconds, not negative.
struct Costs {
  /// To load a version where it is wanted: reading, sending, unpickling. nullopt: its bytes cannot be had.
  std::function<std::optional<std::int64_t>(const CoVariableId&)> load_us;
  /// To run a cell again there. Its objection counts all the same.
  std::function<std::int64_t(const HistoryGraph::CellNode&)> run_us;
};

/// How a choice is made; all but kLeast are there to be compared with.
enum class Strategy : std::uint8_t {
  kLeast,    ///< the least sum of costs
  kLoadAll,  ///< runs a cell only for what cannot be loaded
  kRunAll,   ///< loads only what no cell can make
};

/// "least", "load_all", "run_all"; kNotFound names these.
Result<Strategy> strategy_named(std::string_view name);

struct Choice {
  std::set<CoVariableId> loads;
  std::set<CommitId> runs;
  std::int64_t cost_us = 0;
  std::map<CoVariableId, std::string> lost;  ///< wanted versions that nothing brings back, and why
};

/// A wanted version is loaded, or the cell that made it runs; so is what a cell reads that runs. The exact
/// minimum, by a minimum cut: to cut from a version to its cell is to load it, from a cell to the sink is to
/// run it.
Choice choose(const HistoryGraph& graph, const Costs& costs, Strategy strategy = Strategy::kLeast);

}  // namespace banyan::planner
