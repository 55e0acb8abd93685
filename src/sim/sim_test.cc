// Whole schedules: they repeat, they are clean, and planted bugs are found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "sim/schedule.h"

namespace banyan::sim {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ScheduleResult run(std::uint64_t seed, std::uint64_t cells = 60, Plant plant = Plant::kNone) {
  return run_schedule({.seed = seed, .cells = cells, .plant = plant, .trace = {}});
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
      run_schedule({.seed = 9, .cells = 30, .trace = [&](const std::string&) { ++lines; }});
  EXPECT_EQ(traced.trace_hash, run(9, 30).trace_hash);
  EXPECT_GT(lines, traced.cells);
}

TEST(Schedule, RunsAllItsCells) {
  const ScheduleResult result = run(3, 100);
  EXPECT_THAT(result.violations, IsEmpty());
  EXPECT_GE(result.cells, 100U);
}

TEST(Schedule, KeepsItsPromisesWhenEveryFrameIsEncoded) {
  const ScheduleResult result = run_schedule({.seed = 5, .cells = 40, .codec_share = 1, .trace = {}});
  EXPECT_THAT(result.violations, IsEmpty());
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

struct Planted {
  Plant plant;
  const char* found_as;  ///< part of one of the violations
  std::uint64_t seeds = 60;
};

class PlantedBug : public testing::TestWithParam<Planted> {};

/// Not each schedule meets the circumstances of each bug; one of the `seeds` must.
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

INSTANTIATE_TEST_SUITE_P(Plants, PlantedBug,
                         testing::Values(Planted{Plant::kDiskAcksEarly, "P1: "},
                                         Planted{Plant::kLeaseIgnored, "still runs elsewhere", 1000},
                                         Planted{Plant::kClockRunsFast, "still runs elsewhere", 1000},
                                         Planted{Plant::kFenceIgnored,
                                                 "before its LEAD is on a majority's disks"},
                                         Planted{Plant::kRefusalIgnored, "P2: ", 1000},
                                         Planted{Plant::kViewLosesValue, "ran in a namespace"},
                                         Planted{Plant::kViewKeepsDeleted, "ran in a namespace"},
                                         Planted{Plant::kReportLosesChange, "ran in a namespace"},
                                         Planted{Plant::kReplySentTwice, "is answered twice"},
                                         Planted{Plant::kOutputDropped, "missing"},
                                         Planted{Plant::kOutputsSwapped, "is missing before"},
                                         Planted{Plant::kReplyDropped, "no answer comes"}),
                         [](const auto& info) {
                           std::string name(name_of(info.param.plant));
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

/// A machine that meets the loss itself stops rather than go on.
TEST(PlantedBugDeathTest, AForgottenTailIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run_many = [] {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) run(seed, 60, Plant::kTailForgotten);
  };
  EXPECT_DEATH(run_many(), "entries were lost after they were acknowledged");
}

}  // namespace
}  // namespace banyan::sim
