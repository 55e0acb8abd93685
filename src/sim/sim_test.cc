// Whole schedules: they repeat, they are clean, and planted bugs are found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/conditions.h"
#include "sim/schedule.h"
#include "sim/shrink.h"

namespace banyan::sim {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ScheduleResult run(std::uint64_t seed, std::uint64_t cells = 60, Plant plant = Plant::kNone) {
  return run_schedule({.seed = seed, .cells = cells, .plant = plant, .faults = {}, .trace = {}});
}

TEST(Schedule, EqualSeedsHaveEqualTraces) {
  for (const std::uint64_t seed : {7, 8}) {
    const ScheduleResult first = run(seed);
    const ScheduleResult second = run(seed);
    EXPECT_EQ(first.trace_hash, second.trace_hash) << "seed " << seed;
    EXPECT_EQ(first.events, second.events);
    EXPECT_EQ(first.took, second.took);
  }
  EXPECT_NE(run(7).trace_hash, run(8).trace_hash);
}

TEST(Schedule, IsTheSameWhenItIsTraced) {
  std::size_t lines = 0;
  const ScheduleResult traced =
      run_schedule({.seed = 9, .cells = 30, .faults = {}, .trace = [&](const std::string&) { ++lines; }});
  EXPECT_EQ(traced.trace_hash, run(9, 30).trace_hash);
  EXPECT_GT(lines, traced.cells);
}

TEST(Schedule, RunsAllItsCells) {
  const ScheduleResult result = run(3, 100);
  EXPECT_THAT(result.violations, IsEmpty());
  EXPECT_GE(result.cells, 100U);
}

TEST(Schedule, KeepsItsPromisesWhenEveryFrameIsEncoded) {
  const ScheduleResult result =
      run_schedule({.seed = 5, .cells = 40, .faults = {}, .codec_share = 1, .trace = {}});
  EXPECT_THAT(result.violations, IsEmpty());
}

TEST(Schedule, ACalmReplicaNeedsNoWholeTick) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const ScheduleResult looked_at =
        run_schedule({.seed = seed, .cells = 60, .faults = {}, .whole_ticks = true, .trace = {}});
    EXPECT_EQ(run(seed).trace_hash, looked_at.trace_hash) << "seed " << seed;
  }
}

TEST(Schedule, OldBugsStayFixed) {
  std::ifstream file(BANYAN_SOURCE_DIR "/src/sim/testdata/regressions.txt");
  ASSERT_TRUE(file.is_open());
  std::size_t seeds = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::uint64_t seed = 0;
    std::uint64_t cells = 0;
    ASSERT_TRUE(words >> seed >> cells) << line;
    EXPECT_THAT(run(seed, cells).violations, IsEmpty()) << line;
    ++seeds;
  }
  EXPECT_GT(seeds, 0U);
}

TEST(Schedule, EveryFaultStrikesInSomeSchedule) {
  std::set<std::string> struck;
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto look = [&](const std::string& line) {
      const std::size_t at = line.find("fault ");
      if (at != std::string::npos && line.find("nemesis") < at)
        struck.insert(line.substr(line.find(": ", at) + 2));
    };
    lost += run_schedule({.seed = seed, .cells = 60, .faults = {}, .trace = look}).lost;
  }
  for (std::size_t i = 0; i < kFaults; ++i)
    EXPECT_TRUE(struck.contains(std::string(name_of(static_cast<Fault>(i)))))
        << name_of(static_cast<Fault>(i));
  EXPECT_GT(lost, 0U);
}

TEST(Schedule, SessionsAreExportedAndImportedInSomeSchedules) {
  std::uint64_t with = 0, transfers = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const ScheduleResult result = run(seed);
    with += result.transfers > 0 ? 1 : 0;
    transfers += result.transfers;
  }
  EXPECT_GT(with, 4U);
  EXPECT_LT(with, 16U);
  EXPECT_GT(transfers, 4 * with);
}

TEST(Schedule, HostsReadADataStoreInSomeSchedules) {
  std::uint64_t with = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) with += run(seed).from_store > 0 ? 1 : 0;
  EXPECT_GT(with, 3U);
  EXPECT_LT(with, 20U);
}

TEST(Schedule, IsTheSameUpToTheFirstFaultThatIsLeftOut) {
  const ScheduleResult whole = run(11);
  ASSERT_GT(whole.faults, 2U);
  std::set<std::uint64_t> all;
  for (std::uint64_t number = 1; number <= whole.faults; ++number) all.insert(number);
  EXPECT_EQ(run_schedule({.seed = 11, .cells = 60, .faults = all, .trace = {}}).trace_hash, whole.trace_hash);
  std::vector<std::string> lines, fewer;
  run_schedule({.seed = 11, .cells = 60, .faults = {}, .trace = [&](const std::string& line) {
                  lines.push_back(line);
                }});
  all.erase(2);
  run_schedule({.seed = 11, .cells = 60, .faults = all, .trace = [&](const std::string& line) {
                  fewer.push_back(line);
                }});
  const auto [at, other] = std::ranges::mismatch(lines, fewer);
  ASSERT_NE(at, lines.end());
  EXPECT_THAT(*at, HasSubstr("fault 2:"));
}

TEST(Shrinking, LeavesOutWhatAFailureDoesNotNeed) {
  ScheduleOptions options{
      .seed = 1, .cells = 60, .plant = Plant::kReportLosesChange, .faults = {}, .trace = {}};
  while (run_schedule(options).violations.empty()) ++options.seed;
  const ScheduleResult whole = run_schedule(options);
  std::uint64_t most = 0;
  const auto failing = shrink(options, 2, [&](std::uint64_t tried, const Failing&) { most = tried; });
  ASSERT_TRUE(failing.has_value());
  EXPECT_EQ(kind_of(failing->result), kind_of(whole));
  ASSERT_TRUE(failing->options.faults.has_value());
  EXPECT_THAT(*failing->options.faults, IsEmpty()) << "the bug needs none";
  EXPECT_LT(failing->options.cells, 60U);
  EXPECT_GT(most, 1U);
  EXPECT_EQ(run_schedule(failing->options).violations, failing->result.violations);
}

/// A process that ends cannot say which faults it has met.
TEST(Shrinking, FindsTheFaultsThatEndAProcess) {
  ScheduleOptions options{.seed = 1, .cells = 60, .plant = Plant::kTailForgotten, .faults = {}, .trace = {}};
  const auto quietly = [](std::uint64_t, const Failing&) {};
  const std::string_view ended = "the process ended";
  auto failing = shrink(options, 2, quietly);
  for (; !failing || kind_of(failing->result) != ended; failing = shrink(options, 2, quietly)) ++options.seed;
  ASSERT_TRUE(failing->options.faults.has_value());
  EXPECT_THAT(*failing->options.faults, testing::SizeIs(testing::AllOf(testing::Ge(1U), testing::Le(10U))));
}

TEST(Shrinking, NeedsAScheduleThatFails) {
  const auto failing =
      shrink({.seed = 3, .cells = 20, .faults = {}, .trace = {}}, 1, [](std::uint64_t, const Failing&) {});
  ASSERT_FALSE(failing.has_value());
  EXPECT_EQ(failing.error().kind, ErrorKind::kInvalid);
}

struct Planted {
  Plant plant;
  const char* found_as;  ///< part of one of the violations
  std::uint64_t seeds = 60;
};

class PlantedBug : public testing::TestWithParam<Planted> {};

/// A bug shows only under some circumstances, which not every schedule has; one of the `seeds` must have
/// them.
TEST_P(PlantedBug, IsFound) {
  std::string seen;
  for (std::uint64_t seed = 1; seed <= GetParam().seeds; ++seed) {
    for (const std::string& violation : run(seed, 60, GetParam().plant).violations) {
      if (violation.find(GetParam().found_as) != std::string::npos) return;
      seen += violation + "\n";
    }
  }
  FAIL() << "no schedule of " << GetParam().seeds << " finds " << name_of(GetParam().plant) << "; others:\n"
         << seen;
}

INSTANTIATE_TEST_SUITE_P(
    Plants, PlantedBug,
    testing::Values(
        Planted{Plant::kDiskAcksEarly, "P1: "}, Planted{Plant::kDeviceShared, "still uses"},
        Planted{Plant::kDeviceUseUntold, "still uses"},
        Planted{Plant::kLeaseIgnored, "still runs elsewhere", 1000},
        Planted{Plant::kClockRunsFast, "still runs elsewhere", 1000},
        Planted{Plant::kFenceIgnored, "before its LEAD is on a majority's disks"},
        Planted{Plant::kRefusalIgnored, "P2: ", 1000}, Planted{Plant::kViewLosesValue, "ran in a namespace"},
        Planted{Plant::kViewKeepsDeleted, "ran in a namespace"},
        Planted{Plant::kReportLosesChange, "ran in a namespace"},
        Planted{Plant::kCaptureTorn, "is stored with other bytes"},
        Planted{Plant::kChunkNotStored, "on no majority's disks"},
        Planted{Plant::kReplySentTwice, "is answered twice"}, Planted{Plant::kOutputDropped, "missing"},
        Planted{Plant::kOutputsSwapped, "is missing before"},
        Planted{Plant::kReplyDropped, "no answer comes"},
        Planted{Plant::kExportIsOld, "is older than what was committed"},
        Planted{Plant::kExportLacksValues, "was left behind"}, Planted{Plant::kImportMixedUp, "and not with"},
        Planted{Plant::kStoreForgets, "says that the data store has"},
        Planted{Plant::kStoreMixedUp, "is stored with other bytes"}),
    [](const auto& info) {
      std::string name(name_of(info.param.plant));
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

/// Raft itself notices that acknowledged entries are gone, and ends the process rather than go on.
TEST(PlantedBugDeathTest, AForgottenTailIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run_many = [] {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) run(seed, 60, Plant::kTailForgotten);
  };
  EXPECT_DEATH(run_many(), "entries were lost after they were acknowledged");
}

}  // namespace
}  // namespace banyan::sim
