#include "core/eva/improve.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/eva/colocation.h"

namespace banyan::eva {

namespace {

constexpr double kGain = 1e-7;  // in $/h; smaller differences of sums may be rounding
constexpr int kPassesMax = 30;

/// An instance of the layout. Without tasks it costs nothing, because it is not hired or will be released.
struct Site {
  std::uint32_t type = 0;
  std::uint32_t existing = kNone;
  std::vector<std::uint32_t> tasks;
  double weight = 0;
};

class Layout {
 public:
  Layout(const Groups& groups, const Plan& plan, const Weighing& weighing)
      : groups_(groups), snapshot_(groups.snapshot()), weighing_(weighing) {
    std::vector<bool> used(snapshot_.instances.size());
    for (const PlannedInstance& instance : plan.instances) {
      const auto tasks = plan.tasks_of(instance);
      sites_.push_back({instance.type, instance.existing, {tasks.begin(), tasks.end()}});
      if (instance.existing != kNone) used[instance.existing] = true;
    }
    for (std::uint32_t i = 0; i < used.size(); ++i)
      if (!used[i]) sites_.push_back({snapshot_.instances[i].type, i, {}});
    for (Site& site : sites_) site.weight = weight(site);
  }

  [[nodiscard]] double weight() const {
    double sum = 0;
    for (const Site& site : sites_) sum += site.weight;
    return sum;
  }

  void improve() {
    for (int pass = 0; pass < kPassesMax; ++pass) {
      bool better = false;
      for (std::size_t a = 0; a < sites_.size(); ++a) {
        if (sites_[a].tasks.empty()) continue;
        better = move_one(a) || better;
        better = retype(a) || better;
        for (std::size_t b = a + 1; b < sites_.size(); ++b) better = merge(a, b) || swap(a, b) || better;
      }
      if (!better) return;
    }
  }

  [[nodiscard]] Plan plan() const {
    Plan plan;
    for (const Site& site : sites_) {
      if (!site.tasks.empty()) plan.add(site.type, site.existing, site.tasks);
    }
    return plan;
  }

 private:
  [[nodiscard]] const Task& task(std::uint32_t index) const { return snapshot_.tasks[index]; }
  [[nodiscard]] double horizon_h(std::uint32_t index) const {
    if (!weighing_.remaining || task(index).remaining_s < 0) return weighing_.horizon_h;
    return std::clamp(task(index).remaining_s / 3600, 0.05, weighing_.horizon_h);
  }

  [[nodiscard]] bool holds(const Site& site) const {
    const InstanceType& type = snapshot_.catalog.types[site.type];
    Resources demand;
    for (const std::uint32_t index : site.tasks) {
      const Profile* profile = groups_.profile(groups_.of_task(index), type.family);
      if (profile == nullptr) return false;
      demand += profile->demand;
    }
    return fits(demand, type.capacity);
  }

  /// What a site costs; its tasks must fit.
  [[nodiscard]] double weight(const Site& site) const {
    if (site.tasks.empty()) return 0;
    const double price = snapshot_.catalog.types[site.type].usd_h;
    Colocation here(groups_, site.type);
    double alone = 0;
    double moves = 0;
    double longest_h = 0;
    for (const std::uint32_t index : site.tasks) {
      const std::uint32_t group = groups_.of_task(index);
      here.add(group);
      alone += groups_[group].reservation.usd_h;
      longest_h = std::max(longest_h, horizon_h(index));
      if (task(index).instance == kNone || task(index).instance == site.existing) continue;
      moves += task(index).move_usd / horizon_h(index);
      if (site.existing == kNone)  // the task stands still until the new instance is there
        moves += groups_[group].reservation.usd_h * snapshot_.new_instance_s / 3600 / horizon_h(index);
    }
    if (site.existing == kNone) moves += price * snapshot_.new_instance_s / 3600 / longest_h;
    return price + weighing_.loss * (alone - here.value()) + moves;
  }

  [[nodiscard]] std::optional<double> weight_if_it_holds(const Site& site) const {
    return holds(site) ? std::optional(weight(site)) : std::nullopt;
  }

  [[nodiscard]] bool pinned(const Site& site) const {
    return std::ranges::any_of(site.tasks, [&](std::uint32_t index) { return task(index).pinned; });
  }

  static Site without(const Site& site, std::uint32_t index) {
    Site rest = site;
    std::erase(rest.tasks, index);
    return rest;
  }
  static Site with(const Site& site, std::uint32_t index) {
    Site more = site;
    more.tasks.push_back(index);
    return more;
  }
  void become(Site& site, Site other, double weight) {
    site = std::move(other);
    site.weight = weight;
  }

  /// Moves tasks of a site to where that lowers the weight most: to another site, or to a new one of the type
  /// that is cheapest for the task alone. Whether anything moved.
  bool move_one(std::size_t from) {
    bool moved = false;
    for (std::size_t i = 0; i < sites_[from].tasks.size(); ++i) {
      const std::uint32_t index = sites_[from].tasks[i];
      if (task(index).pinned) continue;
      Site rest = without(sites_[from], index);
      const double saved = sites_[from].weight - (rest.weight = weight(rest));
      std::optional<Site> best;
      std::size_t best_at = 0;
      double best_gain = kGain;
      const auto consider = [&](const Site& site, std::size_t at) {
        if (!has_room(site, index)) return;
        Site more = with(site, index);
        more.weight = weight(more);
        const double gain = saved - (more.weight - site.weight);
        if (gain > best_gain) best = std::move(more), best_at = at, best_gain = gain;
      };
      for (std::size_t to = 0; to < sites_.size(); ++to)
        if (to != from) consider(sites_[to], to);
      if (sites_[from].tasks.size() > 1)
        consider({groups_[groups_.of_task(index)].reservation.type, kNone, {}, 0}, sites_.size());
      if (!best) continue;
      sites_[from] = std::move(rest);
      if (best_at == sites_.size())
        sites_.push_back(std::move(*best));
      else
        sites_[best_at] = std::move(*best);
      moved = true;
      --i;
    }
    return moved;
  }

  [[nodiscard]] bool has_room(const Site& site, std::uint32_t index) const {
    return holds(with(site, index));
  }

  /// Moves all tasks of a site to a new instance of another type, if that weighs less.
  bool retype(std::size_t at) {
    if (sites_[at].tasks.empty() || pinned(sites_[at])) return false;
    Site other = sites_[at];
    other.existing = kNone;
    return change_type(at, std::move(other), sites_[at].weight, nullptr);
  }

  /// Moves all tasks of two sites to one new instance, if that weighs less.
  bool merge(std::size_t a, std::size_t b) {
    if (sites_[a].tasks.empty() || sites_[b].tasks.empty() || pinned(sites_[a]) || pinned(sites_[b]))
      return false;
    Site both = sites_[a];
    both.existing = kNone;
    both.tasks.insert(both.tasks.end(), sites_[b].tasks.begin(), sites_[b].tasks.end());
    return change_type(a, std::move(both), sites_[a].weight + sites_[b].weight, &sites_[b]);
  }

  /// Replaces the site `at` by the best new instance for the candidate's tasks, if that weighs less than
  /// `before`. The site `emptied`, whose tasks are among them, is then released, too.
  bool change_type(std::size_t at, Site candidate, double before, Site* emptied) {
    std::optional<Site> best;
    double best_weight = before - kGain;
    for (std::uint32_t type = 0; type < snapshot_.catalog.types.size(); ++type) {
      if (snapshot_.catalog.types[type].usd_h >= best_weight) continue;
      candidate.type = type;
      const auto weighs = weight_if_it_holds(candidate);
      if (!weighs || *weighs >= best_weight) continue;
      best_weight = *weighs;
      best = candidate;
    }
    if (!best) return false;
    release(at);
    if (emptied != nullptr) {
      const auto other = static_cast<std::size_t>(emptied - sites_.data());
      release(other);
    }
    best->weight = best_weight;
    sites_.push_back(std::move(*best));
    return true;
  }

  void release(std::size_t at) {
    sites_[at].tasks.clear();
    sites_[at].weight = 0;
  }

  /// Exchanges a task of one site for one of another, if that lowers the weight.
  bool swap(std::size_t a, std::size_t b) {
    for (std::size_t i = 0; i < sites_[a].tasks.size(); ++i) {
      for (std::size_t j = 0; j < sites_[b].tasks.size(); ++j) {
        const std::uint32_t x = sites_[a].tasks[i], y = sites_[b].tasks[j];
        if (task(x).pinned || task(y).pinned || groups_.of_task(x) == groups_.of_task(y)) continue;
        Site left = with(without(sites_[a], x), y);
        Site right = with(without(sites_[b], y), x);
        if (!holds(left) || !holds(right)) continue;
        left.weight = weight(left);
        right.weight = weight(right);
        if (left.weight + right.weight >= sites_[a].weight + sites_[b].weight - kGain) continue;
        sites_[a] = std::move(left);
        sites_[b] = std::move(right);
        return true;
      }
    }
    return false;
  }

  const Groups& groups_;
  const Snapshot& snapshot_;
  const Weighing& weighing_;
  std::vector<Site> sites_;
};

}  // namespace

double weight_usd_h(const Groups& groups, const Plan& plan, const Weighing& weighing) {
  return Layout(groups, plan, weighing).weight();
}

Plan improve(const Groups& groups, const Plan& start, const Weighing& weighing) {
  Layout layout(groups, start, weighing);
  layout.improve();
  return layout.plan();
}

}  // namespace banyan::eva
