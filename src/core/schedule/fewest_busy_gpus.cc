#include "core/schedule/policies.h"

namespace banyan::schedule {

namespace {

class FewestBusyGpus final : public Placement {
 public:
  std::vector<HostId> place(const Snapshot& snapshot) const override {
    return first_hosts(snapshot.hosts, snapshot.wanted, [](const HostLoad& a, const HostLoad& b) {
      return a.busy_gpus != b.busy_gpus ? a.busy_gpus < b.busy_gpus : holds_less(a, b);
    });
  }
};

}  // namespace

std::unique_ptr<const Placement> fewest_busy_gpus() { return std::make_unique<FewestBusyGpus>(); }

}  // namespace banyan::schedule
