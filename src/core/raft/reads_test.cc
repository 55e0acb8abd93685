#include "core/raft/reads.h"

#include <gtest/gtest.h>

namespace banyan::raft {
namespace {

TEST(Reads, ARoundIsConfirmedWhenLaterOnesHaveStarted) {
  Reads reads;
  const std::uint64_t first = reads.start_round(1);
  const std::uint64_t second = reads.start_round(2);
  EXPECT_EQ(reads.confirmed_tick(), std::nullopt);
  (void)reads.confirm(first);
  EXPECT_EQ(reads.confirmed_tick(), 1U);
  (void)reads.confirm(second);
  EXPECT_EQ(reads.confirmed_tick(), 2U);
}

TEST(Reads, OfTheRoundsOfATickTheLastOneIsKept) {
  Reads reads;
  const std::uint64_t first = reads.start_round(1);
  const std::uint64_t second = reads.start_round(1);
  (void)reads.confirm(first);
  EXPECT_EQ(reads.confirmed_tick(), std::nullopt);
  (void)reads.confirm(second);
  EXPECT_EQ(reads.confirmed_tick(), 1U);
}

TEST(Reads, OldRoundsAreForgotten) {
  Reads reads;
  const std::uint64_t first = reads.start_round(1);
  for (std::uint64_t tick = 2; tick <= 64; ++tick) (void)reads.start_round(tick);
  Reads full = reads;
  (void)full.confirm(first);
  EXPECT_EQ(full.confirmed_tick(), 1U) << "64 are kept";
  (void)reads.start_round(65);
  (void)reads.confirm(first);
  EXPECT_EQ(reads.confirmed_tick(), std::nullopt);
}

TEST(Reads, AReadWaitsForARoundThatStartsAfterIt) {
  Reads reads;
  const std::uint64_t before = reads.start_round(1);
  reads.add({.from = {2}, .context = 7, .index = {5}});
  EXPECT_TRUE(reads.round_wanted());
  EXPECT_TRUE(reads.confirm(before).empty());
  const std::uint64_t after = reads.start_round(1);
  EXPECT_FALSE(reads.round_wanted());
  const auto proven = reads.confirm(after);
  ASSERT_EQ(proven.size(), 1U);
  EXPECT_EQ(proven[0].context, 7U);
  EXPECT_EQ(reads.count(), 0U);
}

}  // namespace
}  // namespace banyan::raft
