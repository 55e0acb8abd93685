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

/// What it costs to load a version where it is wanted: microseconds, not negative.
struct LoadCost {
  std::int64_t way_us = 0;   ///< the bytes travel: several versions at once, and while cells run
  std::int64_t here_us = 0;  ///< the bytes are unpickled: no cell runs meanwhile
};

/// The costs that are weighed against each other.
struct Costs {
  /// What loading a version costs; nullopt when its bytes cannot be had.
  std::function<std::optional<LoadCost>(const CoVariableId&)> load;
  /// What running a cell again there costs: microseconds, not negative. A cell with an objection never runs,
  /// whatever this says.
  std::function<std::int64_t(const HistoryGraph::CellNode&)> run_us;
};

/// How a choice is made. kLoadAll and kRunAll are there for comparison.
enum class Strategy : std::uint8_t {
  kLeast,     ///< the least sum of costs, as if one thing were done after the other
  kStreamed,  ///< the least time found, where bytes travel while cells run
  kLoadAll,   ///< runs a cell only for what cannot be loaded
  kRunAll,    ///< loads only what no cell can make
};

/// "least", "streamed", "load_all", "run_all"; kNotFound names these.
Result<Strategy> strategy_named(std::string_view name);

/// What is loaded and which cells run again, and what that costs.
struct Choice {
  std::set<CoVariableId> loads;
  std::set<CommitId> runs;
  std::int64_t cost_us = 0;  ///< the cost when everything is done one after the other
  std::int64_t time_us = 0;  ///< the time when transfers run beside the work that is done here
  std::map<CoVariableId, std::string> lost;  ///< wanted versions that nothing brings back, and why
};

/// Chooses for each wanted version whether it is loaded or the cell that made it runs, and the same for what
/// the running cells read. The sum of costs is the exact minimum: a minimum cut finds it, in which to cut the
/// arc from a version to its cell is to load the version, and to cut the arc from a cell to the sink is to
/// run the cell.
Choice choose(const HistoryGraph& graph, const Costs& costs, Strategy strategy = Strategy::kLeast);

/// The time (Choice::time_us) that a choice takes by other costs than those it was made with.
std::int64_t time_of(const Choice& choice, const HistoryGraph& graph, const Costs& costs);

}  // namespace banyan::planner
