#include "core/eva/policies.h"
#include "core/eva/reconfigure.h"

namespace banyan::eva {

namespace {

class Ensemble final : public Policy {
 public:
  explicit Ensemble(Awareness awareness) : awareness_(awareness) {}

  Plan plan(const Snapshot& snapshot) const override {
    const Groups groups(snapshot, awareness_);
    Plan partial = partial_reconfiguration(groups);
    Plan full = full_reconfiguration(groups);
    const double hours = expected_duration_s(snapshot.history, snapshot.now_s) / 3600;
    const auto net_usd = [&](const Plan& plan) {
      return saving_usd_h(groups, plan) * hours - migration_usd(snapshot, plan);
    };
    return net_usd(full) > net_usd(partial) + 0.01 ? full
                                                   : partial;  // a difference of a cent decides nothing
  }

 private:
  Awareness awareness_;
};

class FullOnly final : public Policy {
 public:
  Plan plan(const Snapshot& snapshot) const override { return full_reconfiguration(Groups(snapshot)); }
};

class PartialOnly final : public Policy {
 public:
  Plan plan(const Snapshot& snapshot) const override { return partial_reconfiguration(Groups(snapshot)); }
};

}  // namespace

std::unique_ptr<const Policy> ensemble(Awareness awareness) { return std::make_unique<Ensemble>(awareness); }
std::unique_ptr<const Policy> full_only() { return std::make_unique<FullOnly>(); }
std::unique_ptr<const Policy> partial_only() { return std::make_unique<PartialOnly>(); }

}  // namespace banyan::eva
