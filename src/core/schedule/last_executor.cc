#include <algorithm>
#include <utility>

#include "core/schedule/policies.h"

namespace banyan::schedule {

namespace {

class LastExecutor final : public ExecutorChoice {
 public:
  std::vector<ReplicaId> order(const cluster::Demand& demand,
                               std::vector<Candidate> candidates) const override {
    ReplicaId last;
    for (const Candidate& candidate : candidates) {
      if (candidate.eligible.executed_last) last = candidate.eligible.replica;
    }
    std::vector<ReplicaId> replicas = least_loaded_executor()->order(demand, std::move(candidates));
    const auto found = std::find(replicas.begin(), replicas.end(), last);
    if (found != replicas.end()) std::rotate(replicas.begin(), found, found + 1);
    return replicas;
  }
};

}  // namespace

std::unique_ptr<const ExecutorChoice> last_executor() { return std::make_unique<LastExecutor>(); }

}  // namespace banyan::schedule
