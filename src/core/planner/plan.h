// Plans: which cells to run again, and what to load for them, in order to build a view of a commit
// (ElasticNotebook's reconstruction of what cannot be copied).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/checkpoint/tree.h"

namespace banyan::planner {

using checkpoint::CoVariableId;
using checkpoint::View;

/// A cell as a plan sees it.
struct Cell {
  std::set<std::string> reads;  ///< names whose values, as they were before it, it may use
  bool reads_all = false;       ///< any of them
  std::string objection;        ///< why it is not run again; empty: it may be
  std::int64_t runtime_us = 0;  ///< of its first run
  bool allowed = false;         ///< its author wants it run again, however long that takes
};

/// What is known of the commits.
struct Lineage {
  const checkpoint::Tree& tree;
  std::function<bool(const CoVariableId&)> loadable;  ///< its bytes can be had
  std::function<Cell(CommitId)> cell;                 ///< of a commit of the tree
};

/// One cell that is run again.
struct Step {
  View load;                     ///< what it reads, unless it is there already
  std::set<std::string> unbind;  ///< what it may look for, and did not find then
  CommitId cell;                 ///< makes the versions of its commit
};

struct Plan {
  std::vector<Step> steps;
  std::map<CoVariableId, std::string> lost;  ///< versions that nothing brings back, and why
};

/// How long cells may run again, and how many, that nobody has allowed to.
constexpr std::int64_t kUnaskedMax_us = 60'000'000;
constexpr std::size_t kUnaskedMax = 300;

/// What must run so that each version of `target` can be loaded or is in the namespace, which shows `shown`
/// now. Loads only what cells need that run again. Time grows with the
/// depth of the tree and, for each cell in the plan, the number of names.
Plan plan(const View& target, const View& shown, const Lineage& lineage);

/// What of `target` only cells that run again bring back and may wait until something reads it, as `may_wait`
/// says of each name. What nothing brings back does not wait.
View made_when_read(const View& target, const View& shown, const Lineage& lineage,
                    const std::function<bool(const std::string&, const CoVariableId&)>& may_wait);

}  // namespace banyan::planner
