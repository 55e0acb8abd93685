#include <algorithm>
#include <utility>

#include "base/random.h"
#include "core/schedule/policies.h"

namespace banyan::schedule {

namespace {

class AtRandom final : public Placement {
 public:
  std::vector<HostId> place(const Snapshot& snapshot) const override {
    std::vector<HostId> hosts;
    for (const HostLoad& load : snapshot.hosts) hosts.push_back(load.host);
    Rng rng(snapshot.draw);
    for (std::size_t left = hosts.size(); left > 1; --left)
      std::swap(hosts[left - 1], hosts[rng.below(left)]);
    hosts.resize(std::min<std::size_t>(hosts.size(), snapshot.wanted));
    return hosts;
  }
};

}  // namespace

std::unique_ptr<const Placement> at_random() { return std::make_unique<AtRandom>(); }

}  // namespace banyan::schedule
