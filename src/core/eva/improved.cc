#include <limits>
#include <map>
#include <ranges>
#include <utility>

#include "core/eva/columns.h"
#include "core/eva/improve.h"
#include "core/eva/policies.h"
#include "core/eva/reconfigure.h"

namespace banyan::eva {

namespace {

class Improved final : public Policy {
 public:
  explicit Improved(Weighing weighing) : weighing_(weighing) {}

  Plan plan(const Snapshot& snapshot) const override {
    const Groups groups(snapshot);
    if (snapshot.instances.empty()) return cheapest_fleet(groups, weighing_);
    const Plan from_partial = improve(groups, partial_reconfiguration(groups), weighing_);
    Plan from_full = improve(groups, full_reconfiguration(groups), weighing_);
    from_full.full = true;
    return weight_usd_h(groups, from_full, weighing_) < weight_usd_h(groups, from_partial, weighing_) - kGain
               ? from_full
               : from_partial;
  }
  bool watches_time() const override { return weighing_.remaining; }

 private:
  static constexpr double kGain = 0.01;  // a difference of a cent an hour decides nothing
  Weighing weighing_;
};

}  // namespace

Plan cheapest_fleet(const Groups& groups, const Weighing& weighing) {
  constexpr std::size_t kVariants = 12;  // so many roundings, which are cheap
  constexpr std::size_t kImproved = 4;   // local searches, which are not, from so many of the best starts
  std::multimap<double, Plan> starts;    // by their weight
  const auto add = [&](Plan plan) {
    const double weight = weight_usd_h(groups, plan, weighing);
    starts.emplace(weight, std::move(plan));
  };
  add(full_reconfiguration(groups));
  const std::size_t variants = groups.size() <= 40 ? kVariants : 1;
  for (std::size_t variant = 0; variant < variants; ++variant)
    add(settle(groups, round_relaxation(groups, weighing.loss, variant)));
  Plan best;
  double best_weight = std::numeric_limits<double>::infinity();
  for (const auto& start : starts | std::views::values | std::views::take(kImproved)) {
    Plan plan = improve(groups, start, weighing);
    const double weight = weight_usd_h(groups, plan, weighing);
    if (weight < best_weight) best = std::move(plan), best_weight = weight;
  }
  best.full = true;
  return best;
}

std::unique_ptr<const Policy> improved() { return std::make_unique<Improved>(Weighing{}); }
std::unique_ptr<const Policy> lookahead() {
  return std::make_unique<Improved>(Weighing{.horizon_h = 2, .remaining = true});
}

}  // namespace banyan::eva
