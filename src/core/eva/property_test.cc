// What every plan must keep, over random fleets. A failure prints its seed.

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/eva/colocation.h"
#include "core/eva/columns.h"
#include "core/eva/improve.h"
#include "core/eva/reconfigure.h"
#include "core/eva/test_fleet.h"

namespace banyan::eva {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif
constexpr std::uint64_t kCases =
    kSanitized ? 5'000 : 100'000;  // with a sanitizer a run takes thirty times as long

double value(const Groups& groups, const Plan& plan, const PlannedInstance& instance) {
  Colocation here(groups, instance.type);
  for (const std::uint32_t task : plan.tasks_of(instance)) here.add(groups.of_task(task));
  return here.value();
}

bool same(const Plan& a, const Plan& b) {
  const auto key = [](const PlannedInstance& i) { return std::tuple(i.type, i.existing, i.begin, i.end); };
  return a.tasks == b.tasks && a.full == b.full && std::ranges::equal(a.instances, b.instances, {}, key, key);
}

TEST(FleetProperties, FullReconfigurationPlacesEachTaskOnceAndEachNewInstanceEarnsItsPrice) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    TestFleet fleet = random_fleet(seed);
    const Snapshot snapshot = fleet.snapshot();
    const Groups groups(snapshot);
    const Plan plan = full_reconfiguration(groups);
    ASSERT_EQ(fault(snapshot, plan), std::nullopt) << "seed " << seed;
    for (const PlannedInstance& instance : plan.instances) {
      // Pinned tasks stay where they are, whatever that costs.
      if (std::ranges::any_of(plan.tasks_of(instance), [&](auto task) { return fleet.tasks[task].pinned; }))
        continue;
      ASSERT_TRUE(covers(value(groups, plan, instance), fleet.catalog.types[instance.type].usd_h))
          << "seed " << seed;
    }
  }
}

TEST(FleetProperties, PartialReconfigurationTouchesOnlyWhatItMay) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    TestFleet fleet = random_fleet(seed);
    const Snapshot snapshot = fleet.snapshot();
    const Groups groups(snapshot);
    const Plan plan = partial_reconfiguration(groups);
    ASSERT_EQ(fault(snapshot, plan), std::nullopt) << "seed " << seed;
    std::vector<std::uint32_t> now(fleet.tasks.size(), kNone);
    for (const PlannedInstance& instance : plan.instances)
      for (const std::uint32_t task : plan.tasks_of(instance)) now[task] = instance.existing;
    for (std::uint32_t i = 0; i < fleet.instances.size(); ++i) {
      if (groups.on(i).empty()) continue;
      Colocation before(groups, fleet.instances[i].type);
      for (const std::uint32_t task : groups.on(i)) before.add(groups.of_task(task));
      if (!covers(before.value(), fleet.catalog.types[fleet.instances[i].type].usd_h)) continue;
      for (const std::uint32_t task : groups.on(i)) ASSERT_EQ(now[task], i) << "seed " << seed;
    }
  }
}

TEST(FleetProperties, EqualSnapshotsGiveEqualPlans) {
  for (const char* name :
       {"no_packing", "stratus", "synergy", "owl", "eva", "eva_rp", "eva_single", "full", "partial"}) {
    const auto policy = policy_named(name);
    for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
      const TestFleet fleet = random_fleet(seed), again = random_fleet(seed);
      const Plan plan = (*policy)->plan(fleet.snapshot());
      ASSERT_EQ(fault(fleet.snapshot(), plan), std::nullopt) << name << ", seed " << seed;
      ASSERT_TRUE(same(plan, (*policy)->plan(again.snapshot()))) << name << ", seed " << seed;
    }
  }
}

TEST(FleetProperties, ImprovingNeverMakesWorseAndNothingIsBelowTheBound) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    const TestFleet fleet = random_fleet(seed);
    const Snapshot snapshot = fleet.snapshot();
    const Groups groups(snapshot);
    const Weighing weighing;
    const Plan start = partial_reconfiguration(groups);
    const Plan better = improve(groups, start, weighing);
    ASSERT_EQ(fault(snapshot, better), std::nullopt) << "seed " << seed;
    ASSERT_LE(weight_usd_h(groups, better, weighing), weight_usd_h(groups, start, weighing) + 1e-6)
        << "seed " << seed;
    for (const double loss : {0.0, 0.6}) {
      const double bound = relax(groups, groups.counts(), loss).bound_usd_h;
      Weighing still{.loss = loss};
      ASSERT_LE(bound, weight_usd_h(groups, better, still) * (1 + 1e-9))
          << "seed " << seed << ", loss " << loss;
    }
    const Plan rounded = settle(groups, round_relaxation(groups, 0.6));
    for (const PlannedInstance& instance : rounded.instances)
      ASSERT_LT(instance.begin, instance.end) << "seed " << seed;
  }
}

}  // namespace
}  // namespace banyan::eva
