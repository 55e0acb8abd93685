#include "core/schedule/policies.h"

namespace banyan::schedule {

namespace {

class Spread final : public Placement {
 public:
  std::vector<HostId> place(const Snapshot& snapshot) const override {
    return first_hosts(snapshot.hosts, snapshot.wanted, [](const HostLoad& a, const HostLoad& b) {
      return a.replicas != b.replicas ? a.replicas < b.replicas : a.host < b.host;
    });
  }
};

}  // namespace

std::unique_ptr<const Placement> spread() { return std::make_unique<Spread>(); }

}  // namespace banyan::schedule
