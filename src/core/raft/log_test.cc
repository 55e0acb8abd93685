#include "core/raft/log.h"

#include <gtest/gtest.h>

namespace banyan::raft {
namespace {

Entry entry(std::uint64_t term, std::uint64_t index, EntryType type = EntryType::kCommand) {
  return {{term}, {index}, type, Blob(std::string(10, 'x'))};
}

/// Terms of the entries 2, 3, ..., after a base (1, 1).
Log log_of(const std::vector<std::uint64_t>& terms) {
  Log log({1}, {1});
  for (const std::uint64_t term : terms) log.append({term}, EntryType::kCommand, Blob("x"));
  return log;
}

TEST(Log, ABaseHasATermAndNoEntry) {
  const Log log({5}, {2});
  EXPECT_EQ(log.first(), Index{6});
  EXPECT_EQ(log.last(), Index{5});
  EXPECT_EQ(log.term({5}), Term{2});
  EXPECT_EQ(log.term({4}), std::nullopt);
  EXPECT_EQ(log.term({6}), std::nullopt);
  EXPECT_EQ(log.commit(), Index{5});
}

TEST(Log, MergeKeepsWhatIsThereAndReplacesFromTheFirstDifference) {
  Log log = log_of({1, 1, 2, 2});
  EXPECT_EQ(log.merge(std::vector{entry(1, 2), entry(1, 3)}), std::nullopt);
  EXPECT_EQ(log.last(), Index{5}) << "a shorter message that agrees removes nothing";
  EXPECT_EQ(log.merge(std::vector{entry(1, 3), entry(3, 4)}), Index{4});
  EXPECT_EQ(log.last(), Index{4});
  EXPECT_EQ(log.last_term(), Term{3});
  EXPECT_EQ(log.merge(std::vector{entry(3, 5)}), Index{5});
}

TEST(Log, MergeSkipsWhatIsCompacted) {
  Log log = log_of({1, 1, 2});
  log.commit_to({3});
  log.compact({3});
  EXPECT_EQ(log.merge(std::vector{entry(1, 2), entry(1, 3), entry(2, 4), entry(2, 5)}), Index{5});
}

TEST(LogDeathTest, CommittedEntriesAreNeverReplaced) {
  Log log = log_of({1, 1});
  log.commit_to({3});
  EXPECT_DEATH((void)log.merge(std::vector{entry(2, 3)}), "committed entry");
  EXPECT_DEATH(log.commit_to({4}), "beyond the log");
}

TEST(LogDeathTest, EntriesThatDoNotFollowTheLogAreNotTaken) {
  Log log = log_of({1, 1});
  EXPECT_DEATH((void)log.merge(std::vector{entry(1, 5)}), "contiguous");
}

TEST(Log, UpToDateMeansALaterTermOrTheSameTermAndNoShorter) {
  const Log log = log_of({1, 2, 2});
  EXPECT_TRUE(log.not_ahead_of({4}, {2}));
  EXPECT_TRUE(log.not_ahead_of({1}, {3}));
  EXPECT_FALSE(log.not_ahead_of({3}, {2}));
  EXPECT_FALSE(log.not_ahead_of({9}, {1}));
}

TEST(Log, AHintSkipsAllEntriesOfLaterTerms) {
  const Log log = log_of({1, 3, 3, 5});
  EXPECT_EQ(log.last_not_above({9}, {5}), Index{5});
  EXPECT_EQ(log.last_not_above({5}, {4}), Index{4});
  EXPECT_EQ(log.last_not_above({4}, {2}), Index{2});
  EXPECT_EQ(log.last_not_above({4}, {0}), Index{1}) << "the base is committed: logs always agree there";
}

TEST(Log, ASliceStopsBeforeTheLimitButHoldsAtLeastOne) {
  Log log({1}, {1});
  ASSERT_TRUE(log.merge(std::vector{entry(1, 2), entry(1, 3), entry(1, 4)}).has_value());
  const std::uint64_t one = cost(log.at({2}));
  EXPECT_EQ(log.slice({2}, {4}, 2 * one).size(), 2U);
  EXPECT_EQ(log.slice({2}, {4}, 2 * one - 1).size(), 1U);
  EXPECT_EQ(log.slice({2}, {4}, 0).size(), 1U);
  EXPECT_EQ(log.slice({3}, {4}, 100 * one).size(), 2U);
}

TEST(Log, AResetLogHasNoChangesOfBefore) {
  Log log({1}, {1});
  log.append({1}, EntryType::kChange, {});
  log.reset({1}, {1});
  EXPECT_EQ(log.change_after({0}), std::nullopt);
}

TEST(Log, FindsChangesThroughTruncationAndCompaction) {
  Log log({1}, {1});
  ASSERT_TRUE(
      log.merge(std::vector{entry(1, 2, EntryType::kChange), entry(1, 3), entry(1, 4, EntryType::kChange)})
          .has_value());
  EXPECT_EQ(log.change_after({0}), Index{2});
  EXPECT_EQ(log.change_after({2}), Index{4});
  ASSERT_TRUE(log.merge(std::vector{entry(2, 4)}).has_value());
  EXPECT_EQ(log.change_after({2}), std::nullopt);
  log.commit_to({3});
  log.compact({3});
  EXPECT_EQ(log.change_after({0}), std::nullopt);
}

}  // namespace
}  // namespace banyan::raft
