#include "core/eva/columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "core/eva/colocation.h"
#include "core/eva/knapsack.h"

namespace banyan::eva {

namespace {

constexpr double kTolerance = 1e-9;

/// Knows what columns cost, and finds the column that dual prices overvalue most.
class Pricing {
 public:
  Pricing(const Groups& groups, const std::vector<std::uint32_t>& counts, double loss)
      : groups_(groups), counts_(counts), loss_(loss) {
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      beside_.push_back(groups.awareness().interference ? groups.throughputs().best(groups[g].kind) : 1);
      speed_max_.push_back(0);
      for (std::uint32_t family = 0; family < groups.snapshot().catalog.families.size(); ++family)
        if (const Profile* profile = groups.profile(g, family))
          speed_max_[g] = std::max(speed_max_[g], profile->speed);
    }
  }

  struct Answer {
    std::optional<Column> column;  ///< a column that is worth more than it costs, if there is one
    double overvalued = 1;         ///< no column is worth more than this times what it costs
  };

  [[nodiscard]] Answer operator()(const std::vector<double>& worth) const {
    const Catalog& catalog = groups_.snapshot().catalog;
    Answer answer;
    double most = kTolerance;
    // The worth of tasks is bounded relative to their cost: if they are worth at most `at_most` more than
    // they lose, then they are worth at most at_most/price times the sum of price and losses.
    const auto offer = [&](const Column& column, double net, double at_most) {
      const double price = catalog.types[column.type].usd_h;
      answer.overvalued = std::max(answer.overvalued, at_most / price);
      if (net - price > most) most = net - price, answer.column = column;
    };
    for (std::uint32_t t = 0; t < catalog.types.size(); ++t) {
      const InstanceType& type = catalog.types[t];
      std::vector<Item> items;
      for (std::uint32_t g = 0; g < groups_.size(); ++g) {
        const Profile* profile = groups_.profile(g, type.family);
        if (counts_[g] == 0 || profile == nullptr || !fits(profile->demand, type.capacity)) continue;
        const double net_alone = worth[g] - lost(g, t, 1);
        offer(alone(g, t), net_alone, net_alone);
        const double net = worth[g] - lost(g, t, beside_[g]);
        if (net > kTolerance) items.push_back({g, counts_[g], profile->demand, net});
      }
      const Filling best = fill_best(items, type.capacity);
      Column column{t, best.members, type.usd_h};
      for (const GroupCount& member : best.members)
        column.cost += member.count * lost(member.group, t, beside_[member.group]);
      offer(column, best.value, best.at_most);
    }
    return answer;
  }

  /// The column of one task by itself.
  [[nodiscard]] Column alone(std::uint32_t group, std::uint32_t type) const {
    const double price = groups_.snapshot().catalog.types[type].usd_h;
    return {type, {{group, 1}}, price + lost(group, type, 1)};
  }

  /// What all tasks would gain by running at their greatest speed. The costs here count what they lose
  /// against that, so the bound has to be lowered by it.
  [[nodiscard]] double gained() const {
    double sum = 0;
    for (std::uint32_t g = 0; g < groups_.size(); ++g)
      sum += counts_[g] * loss_ * groups_[g].reservation.usd_h * (speed_max_[g] - 1);
    return sum;
  }

 private:
  /// What a task loses against running alone where it is fastest, $/h.
  [[nodiscard]] double lost(std::uint32_t group, std::uint32_t type, double throughput) const {
    const Profile& profile = *groups_.profile(group, groups_.snapshot().catalog.types[type].family);
    return loss_ * groups_[group].reservation.usd_h * (speed_max_[group] - profile.speed * throughput);
  }

  const Groups& groups_;
  const std::vector<std::uint32_t>& counts_;
  double loss_;
  std::vector<double> beside_;     ///< by group: its throughput beside its most harmless neighbour
  std::vector<double> speed_max_;  ///< by group: its greatest speed on any family
};

/// The basis of a primal simplex over columns with one row for each group.
class Basis {
 public:
  /// The first basis: one task alone in each column.
  Basis(const Groups& groups, const std::vector<std::uint32_t>& counts, const Pricing& price)
      : rows_(groups.size()), inverse_(rows_ * rows_) {
    for (std::uint32_t g = 0; g < rows_; ++g) {
      inverse_[g * rows_ + g] = 1;
      columns_.push_back(price.alone(g, groups[g].reservation.type));
      columns_.back().use = counts[g];
    }
  }

  /// Dual prices: what a task of each group costs in this basis.
  [[nodiscard]] std::vector<double> worth() const {
    std::vector<double> worth(rows_);
    for (std::size_t row = 0; row < rows_; ++row)
      for (std::size_t g = 0; g < rows_; ++g) worth[g] += columns_[row].cost * inverse_[row * rows_ + g];
    return worth;
  }

  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }

  /// Takes a column into the basis. The column leaves whose use would be the first to fall below 0.
  void enter(Column column) {
    std::vector<double> direction(rows_);
    for (std::size_t row = 0; row < rows_; ++row)
      for (const GroupCount& member : column.members)
        direction[row] += inverse_[row * rows_ + member.group] * member.count;
    std::size_t leaves = rows_;
    double step = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      if (direction[row] <= kTolerance) continue;
      const double ratio = std::max(0.0, columns_[row].use) / direction[row];
      if (leaves == rows_ || ratio < step) leaves = row, step = ratio;
    }
    if (leaves == rows_) return;  // cannot be: no column that places a task can be used without end
    for (std::size_t g = 0; g < rows_; ++g) inverse_[leaves * rows_ + g] /= direction[leaves];
    for (std::size_t row = 0; row < rows_; ++row) {
      if (row == leaves) continue;
      columns_[row].use -= step * direction[row];
      if (direction[row] == 0) continue;
      for (std::size_t g = 0; g < rows_; ++g)
        inverse_[row * rows_ + g] -= direction[row] * inverse_[leaves * rows_ + g];
    }
    column.use = step;
    columns_[leaves] = std::move(column);
  }

 private:
  std::size_t rows_;
  std::vector<double> inverse_;
  std::vector<Column> columns_;
};

}  // namespace

Relaxation relax(const Groups& groups, const std::vector<std::uint32_t>& counts, double loss) {
  const Pricing price(groups, counts, loss);
  Basis basis(groups, counts, price);
  Relaxation relaxation;
  const std::size_t pivots_max = 100 + 20 * groups.size();
  for (std::size_t pivot = 0; pivot <= pivots_max; ++pivot) {
    const std::vector<double> worth = basis.worth();
    Pricing::Answer answer = price(worth);
    // The dual prices prove a bound when they are scaled down until no column is worth more than its cost
    // (Farley 1990).
    double value = 0;
    for (std::uint32_t g = 0; g < groups.size(); ++g) value += worth[g] * counts[g];
    relaxation.bound_usd_h = std::max(relaxation.bound_usd_h, value / answer.overvalued - price.gained());
    relaxation.worth = worth;
    if (!answer.column) break;
    basis.enter(std::move(*answer.column));
  }
  for (const Column& column : basis.columns())
    if (column.use > kTolerance) relaxation.columns.push_back(column);
  return relaxation;
}

std::vector<Bin> round_relaxation(const Groups& groups, double loss, std::size_t variant) {
  std::vector<std::uint32_t> left = groups.counts();
  std::vector<Bin> bins;
  const auto take = [&](const Column& column, std::uint32_t times) {
    for (const GroupCount& member : column.members)
      times = std::min(times, left[member.group] / member.count);
    if (times == 0) return false;
    for (const GroupCount& member : column.members) left[member.group] -= times * member.count;
    bins.push_back({.type = Colocation(groups, column.type, column.members).cheapest_type(),
                    .times = times,
                    .members = column.members});
    return true;
  };
  // Each round solves a smaller relaxation of the rest. Where that takes long, there are few rounds.
  const int rounds = groups.size() <= 40 ? 200 : 3;
  for (int round = 0;
       round < rounds && std::ranges::any_of(left, [](auto tasks) { return tasks > 0; }); ++round) {
    Relaxation relaxation = relax(groups, left, loss);
    std::ranges::sort(relaxation.columns, [](const Column& a, const Column& b) {
      return std::tuple(-(a.use - std::floor(a.use)), a.type) <
             std::tuple(-(b.use - std::floor(b.use)), b.type);
    });
    bool whole = false;
    for (const Column& column : relaxation.columns)
      whole = take(column, static_cast<std::uint32_t>(column.use + kTolerance)) || whole;
    if (whole) continue;
    const std::size_t up = std::exchange(variant, 0) % std::max<std::size_t>(1, relaxation.columns.size());
    if (relaxation.columns.empty() || !take(relaxation.columns[up], 1)) break;
  }
  std::vector<Bin> rest = pack(groups, std::move(left));
  bins.insert(bins.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return bins;
}

}  // namespace banyan::eva
