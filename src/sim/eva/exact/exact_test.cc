#include "sim/eva/exact/exact.h"

#include <gtest/gtest.h>

#include "core/eva/columns.h"
#include "core/eva/improve.h"
#include "core/eva/reconfigure.h"
#include "sim/eva/jobs.h"

namespace banyan::sim::eva {
namespace {

TEST(Exact, TheOptimumIsBetweenTheBoundAndTheImprovedPlan) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const JobList list = synthetic_jobs(seed, 40);
    std::vector<Task> tasks;
    for (const Job& job : list.jobs) tasks.push_back({.id = job.id, .workload = job.workload});
    const ThroughputTable throughputs(static_cast<std::uint32_t>(base_workloads().size()), 1);
    const Snapshot snapshot{.catalog = list.catalog,
                            .workloads = list.workloads,
                            .instances = {},
                            .tasks = tasks,
                            .throughputs = throughputs,
                            .history = {}};
    const Groups groups(snapshot, {.interference = false});
    const ExactPlan exact = exact_plan(groups, 10);
    EXPECT_EQ(fault(snapshot, exact.plan), std::nullopt) << "seed " << seed;
    EXPECT_NEAR(price_usd_h(list.catalog, exact.plan), exact.price_usd_h, 1e-9);
    EXPECT_LE(relax(groups, groups.counts(), 0).bound_usd_h, exact.price_usd_h + 1e-6) << "seed " << seed;
    EXPECT_LE(exact.price_usd_h, price_usd_h(list.catalog, cheapest_fleet(groups, {.loss = 0})) + 1e-6)
        << "seed " << seed;
    EXPECT_LE(exact.price_usd_h, price_usd_h(list.catalog, full_reconfiguration(groups)) + 1e-6)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace banyan::sim::eva
