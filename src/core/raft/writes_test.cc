#include "core/raft/writes.h"

#include <gtest/gtest.h>

namespace banyan::raft {
namespace {

class WritesTest : public testing::Test {
 protected:
  void append(std::uint64_t term) { log.append({term}, EntryType::kCommand, Blob("x")); }
  void replace(std::uint64_t index, std::uint64_t term) {
    const std::vector<Entry> entries{{{term}, {index}, EntryType::kCommand, {}}};
    const auto changed = log.merge(entries);
    ASSERT_TRUE(changed.has_value());
    writes.truncated(*changed);
  }
  WriteToken issue() { return writes.issue(log, state)->token; }

  Log log{{1}, {1}};
  HardState state{.term = {1}, .vote = kNobody, .commit = {1}};
  Writes writes{state, {1}};
};

TEST_F(WritesTest, NothingNewNeedsNoWrite) {
  EXPECT_FALSE(writes.issue(log, state).has_value());
  EXPECT_TRUE(writes.done(writes.barrier(log, state)));
}

TEST_F(WritesTest, ABarrierIsTheWriteThatIsStillToCome) {
  append(1);
  const WriteToken barrier = writes.barrier(log, state);
  const auto write = writes.issue(log, state);
  ASSERT_TRUE(write.has_value());
  EXPECT_EQ(write->token, barrier);
  EXPECT_EQ(write->sync, Sync::kRequired);
  EXPECT_EQ(write->truncate_after, Index{1});
  EXPECT_EQ(write->entries.size(), 1U);
  EXPECT_FALSE(writes.done(barrier));
  EXPECT_EQ(writes.barrier(log, state), barrier) << "nothing came after it";
  writes.complete(barrier);
  EXPECT_TRUE(writes.done(barrier));
  EXPECT_EQ(writes.durable_to(), Index{2});
}

TEST_F(WritesTest, ACommitIndexAloneWaitsUntilItIsWantedAndNeedsNoSync) {
  append(1);
  writes.complete(issue());
  log.commit_to({2});
  state.commit = {2};
  EXPECT_FALSE(writes.issue(log, state).has_value());
  writes.want_commit();
  const auto write = writes.issue(log, state);
  ASSERT_TRUE(write.has_value());
  EXPECT_EQ(write->sync, Sync::kLazy);
  EXPECT_EQ(write->hard_state.commit, Index{2});
}

TEST_F(WritesTest, ACommittedChangeMakesItsCommitIndexDurable) {
  log.append({1}, EntryType::kChange, {});
  writes.complete(issue());
  log.commit_to({2});
  state.commit = {2};
  const auto write = writes.issue(log, state);
  ASSERT_TRUE(write.has_value());
  EXPECT_EQ(write->sync, Sync::kRequired);
  EXPECT_EQ(writes.durable().commit, Index{1});
  writes.complete(write->token);
  EXPECT_EQ(writes.durable().commit, Index{2});
}

TEST_F(WritesTest, AnEntryThatWasReplacedIsNotMadeDurableByItsOldWrite) {
  append(1);
  const WriteToken first = issue();
  replace(2, 2);
  const WriteToken second = issue();
  replace(2, 3);
  const WriteToken third = issue();
  writes.complete(first);
  EXPECT_EQ(writes.durable_to(), Index{1});
  writes.complete(second);
  EXPECT_EQ(writes.durable_to(), Index{1});
  writes.complete(third);
  EXPECT_EQ(writes.durable_to(), Index{2});
}

TEST_F(WritesTest, ReplacingADurableEntryTakesItBack) {
  append(1);
  append(1);
  writes.complete(issue());
  EXPECT_EQ(writes.durable_to(), Index{3});
  replace(3, 2);
  EXPECT_EQ(writes.durable_to(), Index{2});
  const auto write = writes.issue(log, state);
  ASSERT_TRUE(write.has_value());
  EXPECT_EQ(write->truncate_after, Index{2});
}

TEST_F(WritesTest, AnInstalledSnapshotReplacesTheStoredLog) {
  append(1);
  const WriteToken before = issue();
  log.reset({9}, {4});
  writes.installed({.index = {9}, .term = {4}, .membership = {}, .data = {}});
  const auto write = writes.issue(log, state);
  ASSERT_TRUE(write.has_value());
  EXPECT_EQ(write->truncate_after, Index{9});
  EXPECT_TRUE(write->snapshot.has_value());
  writes.complete(before);
  EXPECT_LT(writes.durable_to(), Index{9});
  writes.complete(write->token);
  EXPECT_EQ(writes.durable_to(), Index{9});
}

TEST_F(WritesTest, OfTheLogThatASnapshotReplacesNothingIsDurable) {
  for (int count = 0; count < 11; ++count) append(1);
  writes.complete(issue());
  append(1);
  const WriteToken before = issue();
  log.reset({9}, {4});
  writes.installed({.index = {9}, .term = {4}, .membership = {}, .data = {}});
  EXPECT_EQ(writes.durable_to(), Index{0}) << "the entries on the disk reach further than the snapshot";
  writes.complete(before);
  EXPECT_EQ(writes.durable_to(), Index{0});
  writes.complete(issue());
  EXPECT_EQ(writes.durable_to(), Index{9});
}

TEST_F(WritesTest, AreSettledWhenTheDiskHasLogStateAndSnapshot) {
  EXPECT_TRUE(writes.settled(log, state));
  append(1);
  EXPECT_FALSE(writes.settled(log, state)) << "an entry is not even issued";
  const WriteToken entry = issue();
  EXPECT_FALSE(writes.settled(log, state));
  writes.complete(entry);
  EXPECT_TRUE(writes.settled(log, state));
  writes.compacted({.index = {2}, .term = {1}, .membership = {}, .data = {}});
  EXPECT_FALSE(writes.settled(log, state)) << "a snapshot is not issued";
  const WriteToken snapshot = issue();
  EXPECT_FALSE(writes.settled(log, state)) << "a write is on its way";
  writes.complete(snapshot);
  EXPECT_TRUE(writes.settled(log, state));
  state.term = {2};
  EXPECT_FALSE(writes.settled(log, state));
}

TEST_F(WritesTest, OneCompletionMayCoverSeveralWrites) {
  append(1);
  (void)issue();
  append(1);
  const WriteToken second = issue();
  writes.complete(second);
  EXPECT_EQ(writes.durable_to(), Index{3});
}

}  // namespace
}  // namespace banyan::raft
