// Plans: which cells to run again, and what to load for them, in order to build a view of a commit
// (ElasticNotebook reconstructs what cannot be copied in this way).
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
  std::set<std::string> reads;  ///< variables whose values from before the cell it may use
  bool reads_all = false;       ///< it may use any variable
  std::string objection;        ///< why it must not run again; empty: it may
  std::int64_t runtime_us = 0;  ///< how long its first run took
  bool allowed = false;         ///< its author wants it run again, however long that takes
};

/// What is known of the commits.
struct Lineage {
  const checkpoint::Tree& tree;
  std::function<bool(const CoVariableId&)> loadable;  ///< whether the bytes of a version can be had
  std::function<Cell(CommitId)> cell;                 ///< the cell of a commit of the tree
};

/// One cell that is run again.
struct Step {
  View load;  ///< what is loaded first, because the cell reads it and it is not there
  std::set<std::string>
      unbind;     ///< what is unbound first: the cell may look for it, and did not find it then
  CommitId cell;  ///< the cell's commit, whose versions it makes again
};

/// The steps, in order, that make what no bytes bring back.
struct Plan {
  std::vector<Step> steps;
  std::map<CoVariableId, std::string> lost;  ///< versions that nothing brings back, and why
};

/// How long all cells together may run again that nobody has allowed to, and how many they may be.
constexpr std::int64_t kUnaskedMax_us = 60'000'000;
constexpr std::size_t kUnaskedMax = 300;

/// What must run so that each version of `target` can be loaded or is in the namespace, which shows `shown`
/// now. The plan loads only what the cells need that run again; the rest of `target` is for the caller to
/// load. Time grows with the depth of the tree and, for each cell in the plan, with the number of names.
Plan plan(const View& target, const View& shown, const Lineage& lineage);

/// The part of `target` that only cells bring back and that may be left out until something reads it;
/// `may_wait` says so of each name. Versions that nothing brings back are not in it.
View made_when_read(const View& target, const View& shown, const Lineage& lineage,
                    const std::function<bool(const std::string&, const CoVariableId&)>& may_wait);

}  // namespace banyan::planner
