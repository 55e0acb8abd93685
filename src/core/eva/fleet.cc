#include "core/eva/fleet.h"

#include <string>

#include "core/eva/policies.h"

namespace banyan::eva {

Result<std::unique_ptr<const Policy>> policy_named(std::string_view name) {
  if (name == "no_packing") return no_packing();
  if (name == "stratus") return stratus();
  if (name == "synergy") return synergy();
  if (name == "owl") return owl();
  if (name == "eva") return ensemble({});
  if (name == "eva_rp") return ensemble({.interference = false});
  if (name == "eva_single") return ensemble({.jobs = false});
  if (name == "improved") return improved();
  if (name == "lookahead") return lookahead();
  if (name == "full") return full_only();
  if (name == "partial") return partial_only();
  return fail(ErrorKind::kNotFound,
              "no fleet policy '" + std::string(name) +
                  "'; there are: no_packing, stratus, synergy, owl, eva, eva_rp, eva_single, "
                  "full, partial, improved, lookahead");
}

double price_usd_h(const Catalog& catalog, const Plan& plan) {
  double price = 0;
  for (const PlannedInstance& instance : plan.instances) price += catalog.types[instance.type].usd_h;
  return price;
}

std::optional<std::string> fault(const Snapshot& snapshot, const Plan& plan) {
  std::vector<int> placed(snapshot.tasks.size());
  std::vector<int> used(snapshot.instances.size());
  for (std::size_t i = 0; i < plan.instances.size(); ++i) {
    const PlannedInstance& instance = plan.instances[i];
    const std::string which = "planned instance " + std::to_string(i);
    if (instance.type >= snapshot.catalog.types.size()) return which + " has no type of the catalog";
    if (instance.existing != kNone) {
      if (instance.existing >= snapshot.instances.size())
        return which + " is an instance that does not exist";
      if (snapshot.instances[instance.existing].type != instance.type) return which + " changes its type";
      if (++used[instance.existing] > 1) return which + " is planned twice";
    }
    const InstanceType& type = snapshot.catalog.types[instance.type];
    Resources demand;
    for (const std::uint32_t task : plan.tasks_of(instance)) {
      const std::string what = "task " + std::to_string(snapshot.tasks[task].id);
      if (++placed[task] > 1) return what + " is placed twice";
      const auto& profile = snapshot.workloads[snapshot.tasks[task].workload].on[type.family];
      if (!profile) return what + " cannot run on " + type.name;
      demand += profile->demand;
      if (snapshot.tasks[task].pinned && snapshot.tasks[task].instance != instance.existing)
        return what + " is pinned and moves";
    }
    if (!fits(demand, type.capacity)) return which + " holds more than its capacity";
  }
  for (std::size_t task = 0; task < placed.size(); ++task)
    if (placed[task] != 1) return "task " + std::to_string(snapshot.tasks[task].id) + " is not placed";
  return std::nullopt;
}

}  // namespace banyan::eva
