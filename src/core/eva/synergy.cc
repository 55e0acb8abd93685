#include <utility>

#include "core/eva/colocation.h"
#include "core/eva/draft.h"
#include "core/eva/policies.h"

namespace banyan::eva {

namespace {

class Synergy final : public Policy {
 public:
  Plan plan(const Snapshot& snapshot) const override {
    const Groups groups(snapshot, {.jobs = false});
    Draft draft = Draft::as_it_is(snapshot);
    std::vector<Colocation> worth;
    for (const Draft::Place& place : draft.places()) {
      worth.emplace_back(groups, place.type);
      for (const std::uint32_t task : place.tasks) worth.back().add(groups.of_task(task));
    }
    for (std::uint32_t task = 0; task < snapshot.tasks.size(); ++task) {
      if (snapshot.tasks[task].instance != kNone) continue;
      const std::uint32_t group = groups.of_task(task);
      std::size_t best = worth.size();
      std::pair<double, double> best_score;  // the sum of TNRP over the price, then suitability
      for (std::size_t i = 0; i < worth.size(); ++i) {
        if (!worth[i].has_room(group)) continue;
        const double price = snapshot.catalog.types[worth[i].type()].usd_h;
        const double value = worth[i].value_with(group);
        const std::pair score(value / price, worth[i].suitability(group));
        if (!covers(value, price) || (best != worth.size() && score <= best_score)) continue;
        best = i;
        best_score = score;
      }
      if (best == worth.size()) {
        const std::uint32_t type = groups[group].reservation.type;
        draft.open(type);
        worth.emplace_back(groups, type);
      }
      worth[best].add(group);
      draft.put(draft.places()[best], task);
    }
    return draft.plan();
  }
};

}  // namespace

std::unique_ptr<const Policy> synergy() { return std::make_unique<Synergy>(); }

}  // namespace banyan::eva
