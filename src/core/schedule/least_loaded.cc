#include <algorithm>

#include "core/schedule/policies.h"

namespace banyan::schedule {

namespace {

class LeastLoaded final : public Placement {
 public:
  std::vector<HostId> place(const Snapshot& snapshot) const override {
    return first_hosts(snapshot.hosts, snapshot.wanted, holds_less);
  }
};

class LeastLoadedExecutor final : public ExecutorChoice {
 public:
  std::vector<ReplicaId> order(const cluster::Demand& demand,
                               std::vector<Candidate> candidates) const override {
    std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
      if (demand.gpus > 0 && a.load.idle_gpus != b.load.idle_gpus) return a.load.idle_gpus > b.load.idle_gpus;
      if (a.eligible.worker_ready != b.eligible.worker_ready) return a.eligible.worker_ready;
      return runs_less(a.load, b.load);
    });
    std::vector<ReplicaId> replicas;
    for (const Candidate& candidate : candidates) replicas.push_back(candidate.eligible.replica);
    return replicas;
  }
};

}  // namespace

std::unique_ptr<const Placement> least_loaded() { return std::make_unique<LeastLoaded>(); }
std::unique_ptr<const ExecutorChoice> least_loaded_executor() {
  return std::make_unique<LeastLoadedExecutor>();
}

}  // namespace banyan::schedule
