#include "core/schedule/policies.h"

namespace banyan::schedule {

namespace {

class Packed final : public Placement {
 public:
  std::vector<HostId> place(const Snapshot& snapshot) const override {
    return first_hosts(snapshot.hosts, snapshot.wanted, [](const HostLoad& a, const HostLoad& b) {
      const auto order = compare_held(a, b);
      return order != 0 ? order > 0 : a.host < b.host;
    });
  }
};

}  // namespace

std::unique_ptr<const Placement> packed() { return std::make_unique<Packed>(); }

}  // namespace banyan::schedule
