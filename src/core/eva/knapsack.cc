#include "core/eva/knapsack.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace banyan::eva {

namespace {

/// Prices of the resources by which the whole instance costs 1.
using Prices = std::array<double, kResources>;

double cost(const Prices& prices, const Resources& amount) {
  double sum = 0;
  for (std::size_t r = 0; r < kResources; ++r) sum += prices[r] * static_cast<double>(amount.milli[r]);
  return sum;
}

/// The best ratio of value to price among the items. No contents are worth more than this times the price of
/// their room.
double best_density(std::span<const Item> items, const Prices& prices) {
  double best = 0;
  for (const Item& item : items)
    best = std::max(best, item.value / std::max(1e-12, cost(prices, item.demand)));
  return best;
}

/// The prices, on a grid of the resources' shares in the instance's cost, that make the bound (best_density)
/// smallest.
Prices good_prices(std::span<const Item> items, const Resources& capacity) {
  const auto of = [&](const std::array<double, kResources>& share) {
    Prices prices{};
    for (std::size_t r = 0; r < kResources; ++r)
      if (capacity.milli[r] > 0) prices[r] = share[r] / static_cast<double>(capacity.milli[r]);
    return prices;
  };
  constexpr int kSteps = 8;
  Prices best{};
  double best_bound = 0;
  for (int gpu = 0; gpu <= kSteps; ++gpu) {
    for (int cpu = 0; cpu + gpu <= kSteps; ++cpu) {
      const int ram = kSteps - gpu - cpu;
      if ((gpu > 0 && capacity.milli[0] == 0) || (cpu > 0 && capacity.milli[1] == 0) ||
          (ram > 0 && capacity.milli[2] == 0))
        continue;
      const Prices prices = of({gpu / 8.0, cpu / 8.0, ram / 8.0});
      const double bound = best_density(items, prices);
      if (best_bound == 0 || bound < best_bound) best = prices, best_bound = bound;
    }
  }
  return best;
}

/// Items by falling ratio of value to price, so that the first one left bounds all that follow.
struct Order {
  std::vector<Item> items;
  std::vector<double> density;  ///< the ratio of each item, and a 0 behind the last
  Prices prices;

  Order(std::span<const Item> all, const Resources& capacity)
      : items(all.begin(), all.end()), prices(good_prices(all, capacity)) {
    const auto of = [&](const Item& item) { return item.value / std::max(1e-12, cost(prices, item.demand)); };
    std::ranges::sort(items, [&](const Item& a, const Item& b) {
      return std::tuple(-of(a), a.group) < std::tuple(-of(b), b.group);
    });
    for (const Item& item : items) density.push_back(of(item));
    density.push_back(0);
  }

  /// The most that contents can be worth which are worth `value` so far, and to which items from `next` on
  /// may come.
  [[nodiscard]] double at_most(std::size_t next, const Resources& free, double value) const {
    return value + density[next] * cost(prices, free);
  }

  /// How many of an item fit into the free room.
  [[nodiscard]] std::uint32_t count(std::size_t next, const Resources& free) const {
    const Item& item = items[next];
    std::uint32_t count = item.count;
    for (std::size_t r = 0; r < kResources; ++r)
      if (item.demand.milli[r] > 0)
        count =
            static_cast<std::uint32_t>(std::min<std::int64_t>(count, free.milli[r] / item.demand.milli[r]));
    return count;
  }
};

/// Calls act(taken, room) for each number of the item, from as many as fit down to none.
template <class Act>
void each_count(const Order& order, std::size_t next, const Resources& free, Act act) {
  const std::uint32_t most = order.count(next, free);
  Resources room = free;
  for (std::uint32_t i = 0; i < most; ++i) room -= order.items[next].demand;
  for (std::uint32_t taken = most + 1; taken-- > 0; room += order.items[next].demand) act(taken, room);
}

class Search {
 public:
  Search(std::span<const Item> items, const Resources& capacity, std::uint32_t nodes_max)
      : order_(items, capacity), taken_(items.size()), nodes_left_(nodes_max) {
    descend(0, capacity, 0);
    best_.at_most = std::max(best_.value, unexplored_);
  }

  [[nodiscard]] Filling result() && { return std::move(best_); }

 private:
  void descend(std::size_t next, const Resources& free, double value) {
    if (value > best_.value) {
      best_.value = value;
      best_.members.clear();
      for (std::size_t i = 0; i < next; ++i)
        if (taken_[i] > 0) best_.members.push_back({order_.items[i].group, taken_[i]});
    }
    if (next == order_.items.size()) return;
    const double bound = order_.at_most(next, free, value);
    if (bound <= best_.value * (1 + 1e-9)) return;
    if (nodes_left_ == 0) {
      unexplored_ = std::max(unexplored_, bound);
      return;
    }
    --nodes_left_;
    each_count(order_, next, free, [&](std::uint32_t taken, const Resources& room) {
      taken_[next] = taken;
      descend(next + 1, room, value + taken * order_.items[next].value);
    });
  }

  Order order_;
  std::vector<std::uint32_t> taken_;
  std::uint32_t nodes_left_;
  double unexplored_ = 0;  ///< the greatest bound of a branch that was cut off for want of nodes
  Filling best_;
};

class Enumeration {
 public:
  Enumeration(std::span<const Item> items, const Resources& capacity, double at_least, std::size_t count_max)
      : order_(items, capacity), taken_(items.size()), at_least_(at_least), count_max_(count_max) {
    descend(0, capacity, 0);
  }

  [[nodiscard]] std::optional<std::vector<std::vector<GroupCount>>> result() && {
    if (found_.size() > count_max_) return std::nullopt;
    return std::move(found_);
  }

 private:
  void descend(std::size_t next, const Resources& free, double value) {
    if (found_.size() > count_max_ || order_.at_most(next, free, value) < at_least_) return;
    if (next < order_.items.size()) {
      each_count(order_, next, free, [&](std::uint32_t taken, const Resources& room) {
        taken_[next] = taken;
        descend(next + 1, room, value + taken * order_.items[next].value);
      });
      return;
    }
    std::vector<GroupCount> members;
    for (std::size_t i = 0; i < next; ++i) {
      if (taken_[i] < order_.items[i].count && fits(order_.items[i].demand, free)) return;
      if (taken_[i] > 0) members.push_back({order_.items[i].group, taken_[i]});
    }
    found_.push_back(std::move(members));
  }

  Order order_;
  std::vector<std::uint32_t> taken_;
  double at_least_;
  std::size_t count_max_;
  std::vector<std::vector<GroupCount>> found_;
};

}  // namespace

Filling fill_best(std::span<const Item> items, const Resources& capacity, std::uint32_t nodes_max) {
  if (items.empty()) return {};
  return Search(items, capacity, nodes_max).result();
}

std::optional<std::vector<std::vector<GroupCount>>> all_fillings(std::span<const Item> items,
                                                                 const Resources& capacity, double at_least,
                                                                 std::size_t count_max) {
  if (items.empty()) return std::vector<std::vector<GroupCount>>{};
  return Enumeration(items, capacity, at_least, count_max).result();
}

}  // namespace banyan::eva
