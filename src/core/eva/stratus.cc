#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "core/eva/draft.h"
#include "core/eva/policies.h"

namespace banyan::eva {

namespace {

using Place = Draft::Place;

/// Packs tasks that end at about the same time, so that instances end with them.
class Round {
 public:
  explicit Round(const Snapshot& snapshot) : snapshot_(snapshot), draft_(Draft::as_it_is(snapshot)) {}

  Plan plan() {
    std::vector<std::uint32_t> waiting;
    for (std::uint32_t task = 0; task < snapshot_.tasks.size(); ++task)
      if (snapshot_.tasks[task].instance == kNone) waiting.push_back(task);
    scale_out(fill(waiting));
    const std::size_t places = draft_.places().size();
    for (std::size_t i = 0; i < places; ++i) repack(i);
    return draft_.plan();
  }

 private:
  [[nodiscard]] double remaining_s(std::uint32_t task) const {
    return std::max(1.0, snapshot_.tasks[task].remaining_s);
  }
  [[nodiscard]] double remaining_s(const Place& place) const {
    double longest = 0;
    for (const std::uint32_t task : place.tasks) longest = std::max(longest, remaining_s(task));
    return longest;
  }
  static int bin(double remaining_s) {
    return remaining_s < 1 ? 0 : static_cast<int>(std::floor(std::log2(remaining_s)));
  }

  /// Puts each task on an instance: one of an equal bin of run times (with the closest end), or else of a
  /// higher bin, or else of a lower one (with the most room). Returns the tasks that fit nowhere.
  std::vector<std::uint32_t> fill(const std::vector<std::uint32_t>& tasks) {
    std::vector<std::uint32_t> left;
    for (const std::uint32_t task : tasks) {
      Place* best[3] = {};  // by rank: an equal, a higher or a lower bin
      double score[3] = {};
      for (Place& place : draft_.places()) {
        if (place.tasks.empty() || !draft_.has_room(place, task)) continue;
        const int above = bin(remaining_s(place)) - bin(remaining_s(task));
        const std::size_t rank = above == 0 ? 0 : above > 0 ? 1 : 2;
        const double fit =
            above == 0 ? -std::abs(remaining_s(place) - remaining_s(task))
                       : static_cast<double>(std::reduce(place.free.milli.begin(), place.free.milli.end()));
        if (best[rank] == nullptr || fit > score[rank]) best[rank] = &place, score[rank] = fit;
      }
      Place* place = best[0] != nullptr ? best[0] : best[1] != nullptr ? best[1] : best[2];
      if (place == nullptr)
        left.push_back(task);
      else
        draft_.put(*place, task);
    }
    return left;
  }

  /// What a group of tasks needs on a type; nullopt when it does not fit.
  [[nodiscard]] std::optional<Resources> demand(std::span<const std::uint32_t> tasks,
                                                std::uint32_t type) const {
    Resources total;
    for (const std::uint32_t task : tasks) {
      const auto one = draft_.demand(task, type);
      if (!one) return std::nullopt;
      total += *one;
    }
    return fits(total, snapshot_.catalog.types[type].capacity) ? std::optional(total) : std::nullopt;
  }

  /// How much of its constraining resource a group of tasks uses for each $. The unit is the capacity of the
  /// smallest type that has the resource.
  [[nodiscard]] double efficiency(const Resources& demand, const InstanceType& type) const {
    std::size_t constraining = 0;
    double most = -1;
    for (std::size_t r = 0; r < kResources; ++r) {
      if (type.capacity.milli[r] == 0) continue;
      const double used = static_cast<double>(demand.milli[r]) / static_cast<double>(type.capacity.milli[r]);
      if (used > most) most = used, constraining = r;
    }
    std::int64_t unit = type.capacity.milli[constraining];
    for (const InstanceType& other : snapshot_.catalog.types)
      if (const auto has = other.capacity.milli[constraining]; has > 0) unit = std::min(unit, has);
    return static_cast<double>(demand.milli[constraining]) / static_cast<double>(unit) / type.usd_h;
  }

  [[nodiscard]] std::uint32_t most_efficient(std::span<const std::uint32_t> tasks) const {
    std::uint32_t best = kNone;
    double best_score = 0;
    for (std::uint32_t type = 0; type < snapshot_.catalog.types.size(); ++type) {
      const auto needs = demand(tasks, type);
      if (!needs) continue;
      const double score = efficiency(*needs, snapshot_.catalog.types[type]);
      if (best == kNone || score > best_score) best = type, best_score = score;
    }
    return best;
  }

  /// Puts the tasks, by descending run time, on new instances: groups of 1, then up to 2, up to 3, …, each on
  /// the type that it uses best.
  void scale_out(std::vector<std::uint32_t> tasks) {
    std::sort(tasks.begin(), tasks.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(-remaining_s(a), a) < std::tuple(-remaining_s(b), b);
    });
    std::size_t size_max = 1;
    for (std::size_t begin = 0; begin < tasks.size(); ++size_max) {
      std::size_t size = 1;
      while (size < size_max && begin + size < tasks.size() &&
             most_efficient(std::span(tasks).subspan(begin, size + 1)) != kNone)
        ++size;
      const auto group = std::span(tasks).subspan(begin, size);
      const std::size_t place = draft_.open(most_efficient(group));
      for (const std::uint32_t task : group) draft_.put(draft_.places()[place], task);
      begin += size;
    }
  }

  /// Clears an instance of which less than half of every resource is used, if there is a better place for its
  /// tasks.
  void repack(std::size_t index) {
    Place& place = draft_.places()[index];
    const InstanceType& type = snapshot_.catalog.types[place.type];
    for (const std::uint32_t task : place.tasks)
      if (snapshot_.tasks[task].pinned) return;
    for (std::size_t r = 0; r < kResources; ++r) {
      const std::int64_t full = type.capacity.milli[r];
      if (2 * (full - place.free.milli[r]) >= full && full > 0) return;
    }
    if (place.tasks.size() == 1) {
      const Workload& workload = snapshot_.workloads[snapshot_.tasks[place.tasks[0]].workload];
      if (reservation(snapshot_.catalog, workload)->type == place.type) return;
    }
    const std::vector<std::uint32_t> tasks = std::move(place.tasks);
    place.tasks.clear();
    scale_out(fill(tasks));
  }

  const Snapshot& snapshot_;
  Draft draft_;
};

class Stratus final : public Policy {
 public:
  Plan plan(const Snapshot& snapshot) const override { return Round(snapshot).plan(); }
  bool watches_time() const override { return true; }
};

}  // namespace

std::unique_ptr<const Policy> stratus() { return std::make_unique<Stratus>(); }

}  // namespace banyan::eva
