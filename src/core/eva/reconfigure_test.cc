#include "core/eva/reconfigure.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/eva/colocation.h"
#include "core/eva/test_fleet.h"

namespace banyan::eva {
namespace {

std::vector<std::vector<std::uint32_t>> contents(const Plan& plan) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const PlannedInstance& instance : plan.instances) {
    const auto tasks = plan.tasks_of(instance);
    all.emplace_back(tasks.begin(), tasks.end());
    std::ranges::sort(all.back());
  }
  std::ranges::sort(all);
  return all;
}

TEST(Reconfigure, Table3ReservationPrices) {
  const TestFleet fleet = table3();
  const double expected[] = {12, 3, 0.8, 0.4};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_DOUBLE_EQ(reservation(fleet.catalog, fleet.workloads[i])->usd_h, expected[i]);
}

TEST(Reconfigure, Table3CostsTwelveEightyInsteadOfSixteenTwenty) {
  TestFleet fleet = table3();
  fleet.throughputs = ThroughputTable(4, 1);  // the walk-through has no interference
  const Snapshot snapshot = fleet.snapshot();
  const Plan plan = full_reconfiguration(Groups(snapshot));
  EXPECT_EQ(fault(snapshot, plan), std::nullopt);
  EXPECT_NEAR(price_usd_h(fleet.catalog, plan), 12.8, 1e-9);
  // τ1, τ2 and τ4 share it1; τ3 is alone on it3.
  EXPECT_EQ(contents(plan), (std::vector<std::vector<std::uint32_t>>{{0, 1, 3}, {2}}));
  const Plan alone = (*policy_named("no_packing"))->plan(snapshot);
  EXPECT_NEAR(price_usd_h(fleet.catalog, alone), 16.2, 1e-9);
}

TEST(Reconfigure, TasksThatDisturbEachOtherTooMuchStayApart) {
  TestFleet fleet = table3();
  for (std::uint32_t a = 0; a < 4; ++a)
    for (std::uint32_t b = 0; b < 4; ++b) fleet.throughputs.record(a, {{b}}, 0.5);
  EXPECT_NEAR(price_usd_h(fleet.catalog, full_reconfiguration(Groups(fleet.snapshot()))), 16.2, 1e-9);
}

TEST(Reconfigure, ATaskOfAJobOfTwoLosesForBoth) {
  TestFleet fleet = table3();
  fleet.throughputs = ThroughputTable(4, 0.9);
  fleet.tasks[1].job_tasks = 2;
  const Snapshot snapshot = fleet.snapshot();
  const Groups groups(snapshot);
  Colocation both(groups, 0);
  both.add(0);
  both.add(1);
  // TNRP(τ1) = 0.9 · 12; TNRP(τ2) = 3 − 2 · (1 − 0.9) · 3.
  EXPECT_NEAR(both.value(), 0.9 * 12 + 3 - 2 * 0.1 * 3, 1e-12);
}

TEST(Reconfigure, PartialLeavesInstancesThatEarnTheirPriceAlone) {
  TestFleet fleet = table3();
  fleet.throughputs = ThroughputTable(4, 1);
  fleet.instances = {{7, 0}, {8, 1}};
  fleet.tasks[0].instance = 0;  // alone on it1, which costs its reservation price
  const Snapshot snapshot = fleet.snapshot();
  const Plan plan = partial_reconfiguration(Groups(snapshot));
  EXPECT_EQ(fault(snapshot, plan), std::nullopt);
  EXPECT_EQ(plan.instances[0].existing, 0U);
  // The other tasks fill the room beside it; it2 has no task and is released.
  EXPECT_NEAR(price_usd_h(fleet.catalog, plan), 12.8, 1e-9);
}

TEST(Reconfigure, PartialDissolvesAnInstanceThatNoLongerEarnsItsPrice) {
  TestFleet fleet = table3();
  fleet.instances = {{7, 0}};
  fleet.tasks = {{.id = 0, .workload = 3, .instance = 0}};  // $0.4 of task on $12 of instance
  const Plan plan = partial_reconfiguration(Groups(fleet.snapshot()));
  EXPECT_NEAR(price_usd_h(fleet.catalog, plan), 0.4, 1e-9);
}

TEST(Reconfigure, AnInstanceIsTakenOverByTheBinThatSavesMostMoves) {
  TestFleet fleet = table3();
  fleet.throughputs = ThroughputTable(4, 1);
  fleet.instances = {{1, 2}, {2, 0}};
  fleet.tasks[2].instance = 0;
  fleet.tasks[0].instance = fleet.tasks[1].instance = fleet.tasks[3].instance = 1;
  const Snapshot snapshot = fleet.snapshot();
  const Plan plan = full_reconfiguration(Groups(snapshot));
  EXPECT_EQ(migration_usd(snapshot, plan), 0);
  for (const PlannedInstance& instance : plan.instances) EXPECT_NE(instance.existing, kNone);
}

TEST(Reconfigure, NewInstancesCostFiveMinutesBeforeTheyEarn) {
  const TestFleet fleet = table3();
  const Snapshot snapshot = fleet.snapshot();
  const Plan plan = (*policy_named("no_packing"))->plan(snapshot);
  EXPECT_NEAR(migration_usd(snapshot, plan), 16.2 * 300 / 3600, 1e-9);
}

TEST(Reconfigure, TheExpectedDurationIsThatOfAGeometricNumberOfEvents) {
  // 101 events in 1,000 s: λ = 0.1; 20 of them reconfigured in full.
  const History history{.events = 101, .first_event_s = 0, .last_event_s = 1000, .full_reconfigurations = 20};
  EXPECT_NEAR(expected_duration_s(history, 5000), -1 / (0.1 * std::log(1 - 20.0 / 101)), 1e-9);
  EXPECT_EQ(expected_duration_s({}, 5000), 5000);
}

}  // namespace
}  // namespace banyan::eva
