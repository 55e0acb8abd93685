// Randomized runs. A failure prints its seed; BANYAN_RAFT_SEED=n repeats exactly that run.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/raft/test_cluster.h"

namespace banyan::raft {
namespace {

void run_seeds(ReadMode mode, std::uint64_t first, std::uint64_t count) {
  if (const char* only = std::getenv("BANYAN_RAFT_SEED")) {
    first = std::strtoull(only, nullptr, 10);
    count = 1;
  }
  std::size_t operations = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Cluster cluster({.seed = seed, .read_mode = mode});
    const std::string violation = cluster.run();
    operations += cluster.operations();
    ASSERT_EQ(violation, "") << "repeat with: BANYAN_RAFT_SEED=" << seed << " core_raft_test --gtest_filter="
                             << testing::UnitTest::GetInstance()->current_test_info()->test_suite_name()
                             << "." << testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  // The properties hold trivially where nothing happens.
  EXPECT_GT(operations, count * 10);
}

TEST(Properties, HoldUnderEveryFaultWithQuorumReads) { run_seeds(ReadMode::kQuorum, 1, 100); }
TEST(Properties, HoldUnderEveryFaultWithLeaseReads) { run_seeds(ReadMode::kLease, 1, 60); }

/// Runs seeds until the planted defect shows, and ends the process with what was violated.
[[noreturn]] void hunt(Plant plant, std::uint64_t first_seed) {
  constexpr std::uint64_t kSeeds = 300;
  const ReadMode mode = plant == Plant::kSkewedClocks ? ReadMode::kLease : ReadMode::kQuorum;
  for (std::uint64_t seed = first_seed; seed < first_seed + kSeeds; ++seed) {
    const std::string violation = Cluster({.seed = seed, .read_mode = mode, .plant = plant}).run();
    if (!violation.empty()) check_failed(__FILE__, __LINE__, "caught", violation);
  }
  std::exit(0);
}

// What a defect breaks shows as a violated property or, a step later, as a CHECK of the core itself. The
// first seeds are close to ones that show it, to save time.
TEST(PlantedDefectDeathTest, ADiskThatLies) {
  EXPECT_DEATH(hunt(Plant::kLyingDisk, 1), "beyond the log|lacks a committed|two entries|overwritten");
}
TEST(PlantedDefectDeathTest, AReplicaThatForgetsItsVote) {
  EXPECT_DEATH(hunt(Plant::kForgetsVotes, 150), "two leaders in one term|two replicas lead");
}
TEST(PlantedDefectDeathTest, ReadsFromTheLocalState) {
  EXPECT_DEATH(hunt(Plant::kLocalReads, 1), "not linearizable");
}
TEST(PlantedDefectDeathTest, OverlappingChangesOfTheMembership) {
  EXPECT_DEATH(hunt(Plant::kUncheckedChanges, 260), "lacks a committed|two entries|overwritten|recover");
}
TEST(PlantedDefectDeathTest, LeasesWithSkewedClocks) {
  EXPECT_DEATH(hunt(Plant::kSkewedClocks, 80), "not linearizable");
}

using Kind = RegisterOp::Kind;

TEST(Linearizability, AReadMaySeeAConcurrentWriteButNeverAnOverwrittenOne) {
  const RegisterOp first{Kind::kWrite, 1, 1, 10};
  const RegisterOp second{Kind::kWrite, 2, 20, 30};
  EXPECT_TRUE(linearizable({first, {Kind::kRead, 0, 5, 6}}));
  EXPECT_TRUE(linearizable({first, {Kind::kRead, 1, 5, 6}}));
  EXPECT_TRUE(linearizable({first, second, {Kind::kRead, 1, 25, 26}}));
  EXPECT_FALSE(linearizable({first, second, {Kind::kRead, 1, 31, 32}}));
  EXPECT_FALSE(linearizable({first, second, {Kind::kRead, 2, 21, 22}, {Kind::kRead, 1, 23, 24}}));
  EXPECT_FALSE(linearizable({first, {Kind::kRead, 3, 5, 6}}));
}

TEST(Linearizability, ALostWriteMayHappenAnyTimeAfterItsCall) {
  const RegisterOp lost{Kind::kWrite, 1, 10, RegisterOp::kNever};
  EXPECT_TRUE(linearizable({lost, {Kind::kRead, 0, 50, 60}, {Kind::kRead, 1, 70, 80}}));
  EXPECT_FALSE(linearizable({lost, {Kind::kRead, 1, 50, 60}, {Kind::kRead, 0, 70, 80}}));
  EXPECT_FALSE(linearizable({lost, {Kind::kRead, 1, 5, 6}}));
}

/// The definition itself: tries every order (Wing and Gong, 1993).
bool some_order_explains(std::vector<RegisterOp> left, std::uint64_t value) {
  std::uint64_t first_return = RegisterOp::kNever;
  for (const RegisterOp& op : left) first_return = std::min(first_return, op.returned);
  if (first_return == RegisterOp::kNever) return true;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const RegisterOp op = left[i];
    if (op.invoked > first_return || (op.kind == Kind::kRead && op.value != value)) continue;
    std::vector<RegisterOp> rest = left;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    if (some_order_explains(std::move(rest), op.kind == Kind::kWrite ? op.value : value)) return true;
  }
  return false;
}

TEST(Linearizability, AgreesWithTheDefinitionOnRandomHistories) {
  Rng rng(20261121);
  int linear = 0;
  constexpr int kHistories = 20000;
  for (int round = 0; round < kHistories; ++round) {
    std::vector<RegisterOp> history;
    const std::uint64_t writes = 1 + rng.below(3);
    for (std::uint64_t op = 0; op < writes + 3; ++op) {
      const bool write = op < writes;
      const std::uint64_t invoked = 1 + rng.below(12);
      const std::uint64_t returned = write && rng.chance(0.2) ? RegisterOp::kNever : invoked + rng.below(6);
      history.push_back(
          {write ? Kind::kWrite : Kind::kRead, write ? op + 1 : rng.below(writes + 1), invoked, returned});
    }
    const bool expected = some_order_explains(history, 0);
    ASSERT_EQ(linearizable(history), expected) << "history " << round;
    linear += expected ? 1 : 0;
  }
  EXPECT_GT(linear, kHistories / 10);
  EXPECT_LT(linear, kHistories * 9 / 10);
}

}  // namespace
}  // namespace banyan::raft
