#include <algorithm>

#include "core/schedule/policies.h"

namespace banyan::schedule {

namespace {

class LeastLoaded final : public Placement {
 public:
  std::vector<HostId> place(const Snapshot& snapshot) const override {
    std::vector<const HostLoad*> hosts;
    for (const HostLoad& load : snapshot.hosts) hosts.push_back(&load);
    const auto end =
        hosts.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(snapshot.wanted, hosts.size()));
    std::partial_sort(hosts.begin(), end, hosts.end(),
                      [](const HostLoad* a, const HostLoad* b) { return holds_less(*a, *b); });
    std::vector<HostId> chosen;
    for (auto load = hosts.begin(); load != end; ++load) chosen.push_back((*load)->host);
    return chosen;
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
