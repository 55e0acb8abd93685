// The Application History Graph (ElasticNotebook, VLDB'24, §4.1), derived from the commits: nothing is kept
// twice.
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
  /// A cell changes only what it names, as Helix (VLDB'19) has it: whoever shares objects with that stays as
  /// it was. To compare with: a view that is built so may be wrong.
  kIgnored,
};

/// Versions of co-variables, the cells that made them, and the versions that these read: as far as they lead
/// to what is wanted. Cells are in the order of their commits, so that what one reads was made by those
/// before it.
class HistoryGraph {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = std::numeric_limits<Index>::max();

  struct Version {
    CoVariableId id;
    Index maker = kNone;  ///< a cell
  };
  struct CellNode {
    CommitId commit;
    std::string objection;        ///< why it is not run again; empty: it may be
    std::int64_t runtime_us = 0;  ///< of its first run
    std::vector<Index> reads;     ///< versions
  };

  /// Of the versions that `shown` holds. Time grows with the number of commits that lead there and of their
  /// reads.
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
