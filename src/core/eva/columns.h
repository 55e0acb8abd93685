// The linear relaxation of the cheapest fleet, by column generation (Gilmore, Gomory 1961): a proven lower
// bound, and the instances that an optimal fleet is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "core/eva/groups.h"
#include "core/eva/packing.h"

namespace banyan::eva {

/// The contents of one instance, and how many such instances the relaxation uses.
struct Column {
  std::uint32_t type = 0;
  std::vector<GroupCount> members;
  double cost = 0;  ///< the cost in $/h
  double use = 0;
};

/// The solution of: min Σ cost · use, where the uses place every task.
struct Relaxation {
  double bound_usd_h = 0;       ///< no placement of these tasks costs less
  std::vector<Column> columns;  ///< the columns with use > 0
  std::vector<double> worth;    ///< by group: what one more task of it adds to the cost, in $/h
};

/// Solves the relaxation for `counts[g]` tasks of each group g. A column costs the price of its type, and
/// `loss` for each $ of reservation price that interference takes at the very least (with each member beside
/// its most harmless neighbour). The bound holds even when the search for columns is cut short. O(pivots ·
/// (groups² + types · nodes)).
Relaxation relax(const Groups& groups, const std::vector<std::uint32_t>& counts, double loss);

/// Places all tasks: the whole uses of the relaxation's columns first, then those of the relaxation of what
/// is left, and so on, until few tasks are left for pack(). Where no use is whole, one is rounded up: the
/// first time the one with the `variant`-th largest fraction, later the one with the largest.
std::vector<Bin> round_relaxation(const Groups& groups, double loss, std::size_t variant = 0);

}  // namespace banyan::eva
