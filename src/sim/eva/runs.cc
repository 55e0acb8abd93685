#include "sim/eva/runs.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace banyan::sim::eva {

namespace {

nlohmann::json to_json(const Outcome& out) {
  return {{"cost_usd", out.cost_usd},
          {"jct_h", out.jct_h},
          {"idle_h", out.idle_h},
          {"tasks_per_instance", out.tasks_per_instance},
          {"throughput", out.throughput},
          {"migrations_per_task", out.migrations_per_task},
          {"price_to_bound", out.price_to_bound},
          {"instances", out.instances},
          {"rounds", out.rounds},
          {"full", out.full}};
}

}  // namespace

std::string simulation_key(const std::string& list_name, const std::string& policy,
                           const std::string& setting) {
  return list_name + "-" + policy + (setting.empty() ? "" : "-" + setting);
}

Cell simulation(const std::string& list_name, SharedList list, const std::string& policy,
                const std::string& setting, const Conditions& conditions) {
  return {simulation_key(list_name, policy, setting), [list = std::move(list), policy, conditions] {
            const auto made = policy_named(policy);
            CHECK(made, "an experiment names a policy that exists");
            return to_json(simulate(*list, **made, conditions));
          }};
}

SharedList borrowed(const JobList& list) {
  return {&list, [](const JobList*) {}};
}

JobList with_large_jobs(const JobList& list, double share, std::uint64_t seed) {
  Rng rng(seed);
  JobList changed = list;
  for (Job& job : changed.jobs) {
    const Workload& workload = list.workloads[job.workload];
    const Resources& one = workload.on[0]->demand;
    if (one.milli[0] != 1000 || !rng.chance(share)) continue;
    const std::uint64_t draw = rng.below(10);
    const std::int64_t gpus = draw < 5 ? 2 : draw < 9 ? 4 : 8;
    // p3.16xlarge: 64 hyperthreads and 488 GiB for 8 GPUs.
    Resources large{{1000 * gpus, std::min(one.milli[1] * gpus, 8000 * gpus),
                     std::min(one.milli[2] * gpus, 61'000 * gpus)}};
    job.workload =
        changed.workload(workload.name + "x" + std::to_string(gpus), list.bases[job.workload], large, large);
  }
  return changed;
}

JobList with_many_tasks(const JobList& list, double share, std::uint64_t seed) {
  Rng rng(seed);
  JobList changed = list;
  for (Job& job : changed.jobs)
    if (rng.chance(share)) job.tasks = rng.chance(0.5) ? 2 : 4;
  return changed;
}

JobList with_arrivals(const JobList& list, double factor) {
  JobList changed = list;
  for (Job& job : changed.jobs)
    job.arrival_s = static_cast<std::int64_t>(static_cast<double>(job.arrival_s) / factor);
  return changed;
}

JobList with_times_dealt_anew(const JobList& list, std::uint64_t seed) {
  Rng rng(seed);
  JobList changed = list;
  for (std::size_t i = changed.jobs.size(); i > 1; --i)
    std::swap(changed.jobs[i - 1].work_s, changed.jobs[rng.below(i)].work_s);
  return changed;
}

JobList first_jobs(const JobList& list, std::size_t count) {
  JobList changed = list;
  changed.jobs.resize(std::min(count, changed.jobs.size()));
  return changed;
}

}  // namespace banyan::sim::eva
