#include "sim/eva/exact/exact.h"

#include <coin/Cbc_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/eva/columns.h"
#include "core/eva/improve.h"
#include "core/eva/knapsack.h"
#include "core/eva/packing.h"

namespace banyan::sim::eva {

using namespace banyan::eva;  // NOLINT(google-build-using-namespace): the optimum of exactly this

namespace {

constexpr std::size_t kColumnsMax = 400'000;
constexpr double kUnbounded = std::numeric_limits<double>::max();  // CBC's value for infinity

/// The contents of instances that an optimal plan may have; not all of them when there are too many.
struct Candidates {
  std::vector<Column> columns;
  bool exhaustive = true;
};

Candidates candidates(const Groups& groups, const Relaxation& relaxation, double gap_usd_h) {
  const Catalog& catalog = groups.snapshot().catalog;
  const std::vector<std::uint32_t> counts = groups.counts();
  Candidates found{.columns = relaxation.columns};
  for (std::uint32_t t = 0; t < catalog.types.size(); ++t) {
    std::vector<Item> items;
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      const Profile* profile = groups.profile(g, catalog.types[t].family);
      if (profile != nullptr && fits(profile->demand, catalog.types[t].capacity))
        items.push_back({g, counts[g], profile->demand, std::max(0.0, relaxation.worth[g])});
    }
    const auto fillings =
        all_fillings(items, catalog.types[t].capacity, catalog.types[t].usd_h - gap_usd_h - 1e-6,
                     kColumnsMax - found.columns.size());
    if (!fillings) {
      found.exhaustive = false;
      continue;
    }
    for (const auto& members : *fillings) found.columns.push_back({t, members, catalog.types[t].usd_h, 0});
  }
  return found;
}

/// How many instances of each column; empty when CBC has found nothing within its time.
struct Solution {
  std::vector<std::uint32_t> uses;
  double bound_usd_h = 0;
  bool optimal = false;
};

Solution solve(const Groups& groups, const std::vector<Column>& columns, double cutoff_usd_h,
               double limit_s) {
  std::vector<CoinBigIndex> start{0};
  std::vector<int> rows;
  std::vector<double> values, low(columns.size()), high(columns.size(), kUnbounded), cost;
  for (const Column& column : columns) {
    for (const GroupCount& member : column.members) {
      rows.push_back(static_cast<int>(member.group));
      values.push_back(member.count);
    }
    start.push_back(static_cast<CoinBigIndex>(rows.size()));
    cost.push_back(column.cost);
  }
  std::vector<double> demand, any(groups.size(), kUnbounded);
  for (const std::uint32_t count : groups.counts()) demand.push_back(count);
  Cbc_Model* model = Cbc_newModel();
  Cbc_setLogLevel(model, 0);
  Cbc_loadProblem(model, static_cast<int>(columns.size()), static_cast<int>(groups.size()), start.data(),
                  rows.data(), values.data(), low.data(), high.data(), cost.data(), demand.data(),
                  any.data());
  for (int c = 0; c < static_cast<int>(columns.size()); ++c) Cbc_setInteger(model, c);
  const std::string seconds = std::to_string(limit_s);
  const std::string cutoff = std::to_string(cutoff_usd_h + 1e-6);
  Cbc_setParameter(model, "log", "0");
  Cbc_setParameter(model, "sec", seconds.c_str());
  Cbc_setParameter(model, "ratio", "0.00001");
  Cbc_setParameter(model, "cutoff", cutoff.c_str());
  Cbc_solve(model);
  Solution solution{.uses = {},
                    .bound_usd_h = Cbc_getBestPossibleObjValue(model),
                    .optimal = Cbc_isProvenOptimal(model) != 0 || Cbc_isProvenInfeasible(model) != 0};
  const double* uses = Cbc_bestSolution(model);
  if (uses != nullptr)
    for (std::size_t c = 0; c < columns.size(); ++c)
      solution.uses.push_back(static_cast<std::uint32_t>(std::lround(uses[c])));
  Cbc_deleteModel(model);
  return solution;
}

/// The bins of a solution. Where its columns offer more places than there are tasks, places stay free.
std::vector<Bin> bins(const Groups& groups, const std::vector<Column>& columns,
                      const std::vector<std::uint32_t>& uses) {
  std::vector<std::uint32_t> left = groups.counts();
  std::vector<Bin> bins;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (std::uint32_t use = 0; use < uses[c]; ++use) {
      Bin bin{.type = columns[c].type};
      for (const GroupCount& member : columns[c].members) {
        const std::uint32_t count = std::min(member.count, left[member.group]);
        if (count > 0) bin.members.push_back({member.group, count});
        left[member.group] -= count;
      }
      if (!bin.members.empty()) bins.push_back(std::move(bin));
    }
  }
  return bins;
}

class Exact final : public Policy {
 public:
  explicit Exact(double limit_s) : limit_s_(limit_s) {}
  Plan plan(const Snapshot& snapshot) const override {
    return exact_plan(Groups(snapshot, {.interference = false}), limit_s_).plan;
  }

 private:
  double limit_s_;
};

}  // namespace

ExactPlan exact_plan(const Groups& groups, double limit_s) {
  const Catalog& catalog = groups.snapshot().catalog;
  const Plan start = improve(groups, settle(groups, round_relaxation(groups, 0)), {.loss = 0});
  ExactPlan best{.plan = start, .price_usd_h = price_usd_h(catalog, start)};
  best.plan.full = true;
  const Relaxation relaxation = relax(groups, groups.counts(), 0);
  best.bound_usd_h = relaxation.bound_usd_h;
  const Candidates found = candidates(groups, relaxation, best.price_usd_h - best.bound_usd_h);
  const Solution solution = solve(groups, found.columns, best.price_usd_h, limit_s);
  if (!solution.uses.empty()) {
    Plan plan = settle(groups, bins(groups, found.columns, solution.uses));
    plan.full = true;
    if (const double price = price_usd_h(catalog, plan); price < best.price_usd_h) {
      best.plan = std::move(plan);
      best.price_usd_h = price;
    }
  }
  best.optimal = solution.optimal && found.exhaustive;
  if (best.optimal) best.bound_usd_h = best.price_usd_h;
  return best;
}

std::unique_ptr<const Policy> exact(double limit_s) { return std::make_unique<Exact>(limit_s); }

}  // namespace banyan::sim::eva
