// The linear relaxation of the cheapest fleet, by column generation (Gilmore, Gomory 1961): a proven lower
// bound, and the instances that an optimal fleet is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "core/eva/groups.h"
#include "core/eva/packing.h"

namespace banyan::eva {

/// Contents of one instance, and how many of it the relaxation uses.
struct Column {
  std::uint32_t type = 0;
  std::vector<GroupCount> members;
  double cost = 0;  ///< $/h
  double use = 0;
};

/// min Σ cost · use, where the uses place every task.
struct Relaxation {
  double bound_usd_h = 0;       ///< no placement of these tasks costs less
  std::vector<Column> columns;  ///< with use > 0
  std::vector<double> worth;    ///< by group: what one more task of it adds to the cost, $/h
};

/// Of `counts[g]` tasks of each group. A column costs its type's price and `loss` for each $ of reservation
/// price that interference takes at the very least (each member beside its most harmless neighbour). The
/// bound holds also where the search for columns is cut short. O(pivots · (groups² + types · nodes)).
Relaxation relax(const Groups& groups, const std::vector<std::uint32_t>& counts, double loss);

/// Places all tasks: whole columns of the relaxation, then the relaxation of what is left, until few are left
/// for pack().
/// Where no column is whole, one is rounded up: the one with the `variant`-th largest fraction the first
/// time, the largest from then on.
std::vector<Bin> round_relaxation(const Groups& groups, double loss, std::size_t variant = 0);

}  // namespace banyan::eva
