#include "core/session/transfer.h"

#include <gtest/gtest.h>

#include <limits>

namespace banyan::session {
namespace {

using Times = std::map<std::string, std::int64_t>;

class Costs : public testing::Test {
 protected:
  const Ended& run(std::int64_t runtime_us, Times serialised_us) {
    const ExecutionId cell{"c" + std::to_string(++cells)};
    session.apply(Propose{.execution = cell, .replica = {1}, .code = "x = make()"});
    Commit commit{.execution = cell, .epoch = session.epoch(), .execution_count = cells};
    commit.runtime_us = runtime_us;
    commit.delta.footprint.serialised_us = std::move(serialised_us);
    session.apply(std::move(commit));
    return session.history().at({cells});
  }
  std::int64_t foreseen_us(CommitId cell, std::int64_t runtime_us) {
    return costs_of(session, speeds, way_at(1e6), planner::Take::kMean)
        .run_us({.commit = cell, .objection = {}, .runtime_us = runtime_us, .reads = {}});
  }

  Session session{{"s"}, {}, {{{1}, {"h1"}}}};
  planner::Speeds speeds;
  std::uint64_t cells = 0;
};

TEST_F(Costs, RunningAgainIsForeseenByCodeAndTypesApart) {
  run(1'000'000, {{"list", 300'000}, {"dict", 600'000}});
  for (const std::int64_t code_us : {10'000, 40'000, 900'000, 10'000, 40'000, 900'000}) {
    const Ended& first = run(code_us + 80'000, {{"list", 30'000}, {"dict", 50'000}});
    learn_of_repeat(speeds, first, 2 * code_us + 120'000 + 25'000, {{"list", 120'000}, {"dict", 25'000}});
  }
  EXPECT_NEAR(static_cast<double>(foreseen_us({1}, 1'000'000)), 2 * 100'000 + 4 * 300'000 + 0.5 * 600'000,
              150'000);
}

TEST_F(Costs, WhatNobodySerialisedTheSecondTimeCountsAsCode) {
  run(1'000'000, {{"list", 500'000}});
  for (int i = 0; i < 20; ++i) learn_of_repeat(speeds, session.history().at({1}), 2'000'000, {});
  EXPECT_TRUE(speeds.record().serialised.empty());
  EXPECT_NEAR(static_cast<double>(speeds.run(1'000'000).us), 2'000'000, 200'000);
}

TEST_F(Costs, WhatIsSaidOfSerialisingIsNoLongerThanItsCell) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Ended& cell = run(100'000, {{"a", kMost}, {"b", -1}, {"c", 60'000}, {"d", 60'000}});
  learn_of_repeat(speeds, cell, 100'000, {{"a", kMost}, {"b", 1}, {"c", 60'000}, {"d", kMost}});
  const auto known = speeds.record();
  EXPECT_EQ(known.serialised.size(), 1U);
  EXPECT_TRUE(known.serialised.contains("c"));
  EXPECT_EQ(known.run.at(0).units, 40'000);
  EXPECT_EQ(known.run.at(0).took_us, 40'000);
  EXPECT_EQ(foreseen_us({7}, 50'000), speeds.run(50'000).us) << "a cell that is not kept";
}

}  // namespace
}  // namespace banyan::session
