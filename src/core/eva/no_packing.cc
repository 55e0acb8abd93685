#include "core/eva/draft.h"
#include "core/eva/policies.h"

namespace banyan::eva {

namespace {

class NoPacking final : public Policy {
 public:
  Plan plan(const Snapshot& snapshot) const override {
    Draft draft = Draft::as_it_is(snapshot);
    for (std::uint32_t task = 0; task < snapshot.tasks.size(); ++task) {
      if (snapshot.tasks[task].instance != kNone) continue;
      const Workload& workload = snapshot.workloads[snapshot.tasks[task].workload];
      const std::size_t place = draft.open(reservation(snapshot.catalog, workload)->type);
      draft.put(draft.places()[place], task);
    }
    return draft.plan();
  }
};

}  // namespace

std::unique_ptr<const Policy> no_packing() { return std::make_unique<NoPacking>(); }

}  // namespace banyan::eva
