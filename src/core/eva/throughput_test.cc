#include "core/eva/throughput.h"

#include <gtest/gtest.h>

namespace banyan::eva {
namespace {

using Kinds = std::vector<std::uint32_t>;

TEST(Throughput, AnUnseenPairIsTheDefaultAnUnseenSetTheProductOfItsPairs) {
  ThroughputTable table(3);
  EXPECT_EQ(table.of(0, Kinds{}), 1);
  EXPECT_EQ(table.of(0, Kinds{1}), 0.95);
  table.record(0, Kinds{1}, 0.8);
  EXPECT_NEAR(table.of(0, Kinds{1, 2}), 0.8 * 0.95, 1e-12);
  EXPECT_EQ(table.of(1, Kinds{0}), 0.95) << "what one loses says nothing of the other";
}

TEST(Throughput, ARecordedSetCountsAsRecordedAndObservationsAreAveraged) {
  ThroughputTable table(3);
  table.record(0, Kinds{1, 2}, 0.6);
  table.record(0, Kinds{1, 2}, 0.7);
  EXPECT_NEAR(table.of(0, Kinds{1, 2}), 0.65, 1e-12);
  EXPECT_EQ(table.recorded(1, Kinds{0, 2}), std::nullopt) << "the same instance, another victim";
  EXPECT_EQ(table.best(0), 0.95);
}

TEST(Throughput, RevisionsChangeOnlyWithWhatPlansSee) {
  ThroughputTable table(2);
  table.record(0, Kinds{1}, 0.8);
  const auto revision = table.revision();
  table.record(0, Kinds{1}, 0.8);
  EXPECT_EQ(table.revision(), revision);
  table.record(0, Kinds{1}, 0.7);
  EXPECT_NE(table.revision(), revision);
}

// Eva §4.4: of what a job of several tasks reports, one entry learns.

TEST(Throughput, WithNothingRecordedTheMostCrowdedTaskIsTheVictim) {
  ThroughputTable table(4);
  table.record_job(std::vector<Observation>{{0, {1}}, {0, {1, 2}}}, 0.7);
  EXPECT_EQ(table.recorded(0, Kinds{1, 2}), 0.7);
  EXPECT_EQ(table.recorded(0, Kinds{1}), std::nullopt);
}

TEST(Throughput, ARecordedVictimThatExplainsTheReportLearns) {
  ThroughputTable table(4);
  table.record(0, Kinds{1}, 0.6);
  table.record_job(std::vector<Observation>{{0, {1}}, {0, {2, 3}}}, 0.7);
  EXPECT_NEAR(*table.recorded(0, Kinds{1}), 0.65, 1e-12);
  EXPECT_EQ(table.recorded(0, Kinds{2, 3}), std::nullopt);
}

TEST(Throughput, WhenAllRecordedAreFasterAnUnrecordedTaskMustBeTheVictim) {
  ThroughputTable table(4);
  table.record(0, Kinds{1}, 0.9);
  table.record_job(std::vector<Observation>{{0, {1}}, {0, {2}}, {0, {2, 3}}}, 0.7);
  EXPECT_EQ(table.recorded(0, Kinds{2, 3}), 0.7);
  EXPECT_EQ(table.recorded(0, Kinds{2}), std::nullopt);
  EXPECT_EQ(table.recorded(0, Kinds{1}), 0.9);
}

TEST(Throughput, WithAllRecordedTheLowestLearns) {
  ThroughputTable table(4);
  table.record(0, Kinds{1}, 0.9);
  table.record(0, Kinds{2}, 0.8);
  table.record_job(std::vector<Observation>{{0, {1}}, {0, {2}}}, 0.6);
  EXPECT_NEAR(*table.recorded(0, Kinds{2}), 0.7, 1e-12);
  EXPECT_EQ(table.recorded(0, Kinds{1}), 0.9);
}

}  // namespace
}  // namespace banyan::eva
