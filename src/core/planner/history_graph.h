// The Application History Graph (ElasticNotebook, VLDB'24, §4.1). It is derived from the commits each time,
// so that nothing is stored twice.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/planner/plan.h"

namespace banyan::planner {

/// Whether variables that share objects are seen as one.
enum class Links : std::uint8_t {
  kKept,
  /// A cell counts as changing only what it names, as in Helix (VLDB'19); other variables that share objects
  /// with it count as unchanged. For comparison: a view that is built so may be wrong.
  kIgnored,
};

/// Versions of co-variables, the cells that made them, and the versions that these cells read, as far as they
/// lead to what is wanted. Cells are in the order of their commits, so that what a cell reads was made by
/// cells before it.
class HistoryGraph {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = std::numeric_limits<Index>::max();

  struct Version {
    CoVariableId id;
    Index maker = kNone;  ///< the cell that made it
  };
  struct CellNode {
    CommitId commit;
    std::string objection;        ///< why it must not run again; empty: it may
    std::int64_t runtime_us = 0;  ///< how long its first run took
    std::vector<Index> reads;     ///< the versions that it read
  };

  /// The graph that leads to the versions of `shown`. Time grows with the number of commits that lead there
  /// and with their reads.
  HistoryGraph(const View& shown, const Lineage& lineage, Links links = Links::kKept);

  [[nodiscard]] std::span<const Version> versions() const { return versions_; }
  [[nodiscard]] std::span<const CellNode> cells() const { return cells_; }
  /// The versions that are wanted, each once.
  [[nodiscard]] std::span<const Index> wanted() const { return wanted_; }

 private:
  std::vector<Version> versions_;
  std::vector<CellNode> cells_;
  std::vector<Index> wanted_;
};

}  // namespace banyan::planner
