#include "node/view_costs.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace banyan::node {
namespace {

const ReplicaId kHere{1};

/// A session on h1 of which the values are large, and not here.
class ViewCosts : public ::testing::Test {
 protected:
  session::CoVariableId commit(const std::string& name, bool may_repeat = false,
                               std::int64_t runtime_us = 0) {
    const ExecutionId cell{"c" + std::to_string(++cells_)};
    session_.apply(session::Propose{.execution = cell, .replica = kHere});
    session::Commit ending{.execution = cell, .epoch = session_.epoch()};
    ending.runtime_us = runtime_us;
    ending.delta.changed.push_back(
        {.names = {name}, .blocks = {{digest_of("value of " + name), 10'000'000}}, .parts = {1}});
    if (may_repeat) ending.actions.emplace_back(checkpoint::AllowRepeat{.commits = {CommitId{cells_}}});
    for (const session::Event& event : session_.apply(std::move(ending)))
      if (const auto* moved = std::get_if<session::ValuesMoved>(&event)) sync_.follow(*moved, session_);
    return session_.view().at(name);
  }
  planner::Costs costs(const session::View& shown = {}, bool loads = true) {
    const ChunkSync::Standing standing{
        .session = session_, .self = kHere, .leader = kHere, .leaders_host = {"h1"}, .peers = {{"h2"}}};
    return view_costs(
        speeds_.now(), sync_, standing, shown, [loads](const session::CoVariableId&) { return loads; },
        planner::Take::kMean);
  }

  HostContext host_{{.id = {"h1"}, .timing = {}, .sizes = {}}, Incarnation{1}, 7};
  HostSpeeds speeds_{host_};
  HostChunks chunks_{host_, speeds_, false};
  ChunkSync sync_{host_, chunks_, speeds_, {"s"}};
  session::Session session_{{"s"}, {.kernel_name = "python3"}, {{kHere, {"h1"}}, {{2}, {"h2"}}}};
  std::uint64_t cells_ = 0;
};

TEST_F(ViewCosts, WhatIsShownCostsNothingAndWhatDoesNotLoadHasNoCost) {
  const session::CoVariableId value = commit("x");
  const auto load = costs({{"x", value}}).load(value);
  ASSERT_TRUE(load.has_value());
  EXPECT_EQ(load->way_us + load->here_us, 0);
  EXPECT_FALSE(costs({}, false).load(value).has_value());
}

TEST_F(ViewCosts, BytesThatAreLoadedAlreadyHaveNoWay) {
  const session::CoVariableId value = commit("x");
  EXPECT_GT(costs().load(value)->way_us, 0);
  sync_.load(digest_of("value of x"), Blob(std::string("x")));
  EXPECT_EQ(costs().load(value)->way_us, 0);
}

/// Perhaps the host that is away has it. Its cell may bring it back sooner.
TEST_F(ViewCosts, WhatAllLackWhoAreThereCostsTheWaitForTheOthers) {
  const session::CoVariableId value = commit("x");
  const std::int64_t before = costs().load(value)->way_us;
  const ChunkSync::Standing standing{
      .session = session_, .self = kHere, .leader = kHere, .leaders_host = {"h1"}, .peers = {{"h2"}}};
  host_.set_now({.mono = Time{1h}, .wall = {}});
  host_.set_reachable({"h2"}, false);
  sync_.fetch(standing);
  ASSERT_TRUE(sync_.on_read(digest_of("value of x")));
  sync_.on_not_found(digest_of("value of x"), standing);
  host_.set_now({.mono = Time{1h + 1s}, .wall = {}});
  sync_.fetch(standing);
  sync_.on_lacked({"h2"}, digest_of("value of x"), standing);
  EXPECT_EQ(costs().load(value)->way_us, before + 30'000'000);
  host_.set_now({.mono = Time{1h + 11s}, .wall = {}});
  EXPECT_EQ(costs().load(value)->way_us, before + 20'000'000);
}

TEST_F(ViewCosts, CellsThatNobodyAllowedRunNoLongerThanAPlanWouldLetThem) {
  commit("short", false, 1000);
  commit("long", false, planner::kUnaskedMax_us);
  EXPECT_TRUE(may_run_unasked({{1}}, session_));
  EXPECT_TRUE(may_run_unasked({{2}}, session_));
  EXPECT_FALSE(may_run_unasked({{1}, {2}}, session_)) << "together";
}

TEST_F(ViewCosts, CellsThatSomebodyAllowedDoNotCount) {
  commit("long", false, planner::kUnaskedMax_us);
  commit("allowed", true, planner::kUnaskedMax_us);
  EXPECT_TRUE(may_run_unasked({{1}, {2}}, session_));
}

TEST_F(ViewCosts, NoMoreThanSoManyRunUnasked) {
  std::set<CommitId> cells;
  for (std::size_t n = 0; n <= planner::kUnaskedMax; ++n) {
    commit("x" + std::to_string(n));
    cells.insert(session_.last());
  }
  EXPECT_FALSE(may_run_unasked(cells, session_));
  cells.erase(cells.begin());
  EXPECT_TRUE(may_run_unasked(cells, session_));
}

}  // namespace
}  // namespace banyan::node
