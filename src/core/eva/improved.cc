#include "core/eva/improve.h"
#include "core/eva/policies.h"
#include "core/eva/reconfigure.h"
#include <cstdlib>

namespace banyan::eva {

namespace {
double env(const char* n,double d){const char* v=getenv(n);return v?atof(v):d;}

class Improved final : public Policy {
 public:
  explicit Improved(Weighing weighing) : weighing_(weighing) {}

  Plan plan(const Snapshot& snapshot) const override {
    Weighing w=weighing_; w.loss=env("LOSS",0.6); w.horizon_h=env("HOR",1);
    const Groups groups(snapshot, {.join = kJoin});
    const Plan from_partial = improve(groups, partial_reconfiguration(groups), w);
    if (env("MULTI",1)==0) return from_partial;
    Plan from_full = improve(groups, full_reconfiguration(groups), w);
    from_full.full = true;
    return weight_usd_h(groups, from_full, w) < weight_usd_h(groups, from_partial, w) - 0.01 ? from_full
                                                                                              : from_partial;
  }
  bool watches_time() const override { return weighing_.remaining; }

 private:
  Weighing weighing_;
};

}  // namespace

std::unique_ptr<const Policy> improved() { return std::make_unique<Improved>(Weighing{}); }
std::unique_ptr<const Policy> lookahead() { return std::make_unique<Improved>(Weighing{.horizon_h = 8, .remaining = true}); }

}  // namespace banyan::eva
