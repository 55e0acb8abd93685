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

/// To load a version where it is wanted, microseconds, not negative.
struct LoadCost {
  std::int64_t way_us = 0;   ///< bytes on their way: several at once, and while cells run
  std::int64_t here_us = 0;  ///< unpickling: no cell runs meanwhile
};

/// What is weighed against each other.
struct Costs {
  /// nullopt: the bytes of the version cannot be had.
  std::function<std::optional<LoadCost>(const CoVariableId&)> load;
  /// To run a cell again there, microseconds, not negative. Its objection counts all the same.
  std::function<std::int64_t(const HistoryGraph::CellNode&)> run_us;
};

/// How a choice is made; kLoadAll and kRunAll are there to be compared with.
enum class Strategy : std::uint8_t {
  kLeast,     ///< the least sum of costs: nothing is done beside another
  kStreamed,  ///< the least time of those cuts that weigh the way more or less: bytes come while cells run
  kLoadAll,   ///< runs a cell only for what cannot be loaded
  kRunAll,    ///< loads only what no cell can make
};

/// "least", "streamed", "load_all", "run_all"; kNotFound names these.
Result<Strategy> strategy_named(std::string_view name);

struct Choice {
  std::set<CoVariableId> loads;
  std::set<CommitId> runs;
  std::int64_t cost_us = 0;                  ///< one after the other
  std::int64_t time_us = 0;                  ///< all ways beside all that is done here
  std::map<CoVariableId, std::string> lost;  ///< wanted versions that nothing brings back, and why
};

/// A wanted version is loaded, or the cell that made it runs; so is what a cell reads that runs. The exact
/// minimum of a sum, by a minimum cut: to cut from a version to its cell is to load it, from a cell to the
/// sink is to run it.
Choice choose(const HistoryGraph& graph, const Costs& costs, Strategy strategy = Strategy::kLeast);

/// Choice::time_us by other costs than it was made by.
std::int64_t time_of(const Choice& choice, const HistoryGraph& graph, const Costs& costs);

}  // namespace banyan::planner
