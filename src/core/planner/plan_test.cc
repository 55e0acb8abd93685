#include "core/planner/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace banyan::planner {
namespace {

using testing::HasSubstr;

CommitId c(std::uint64_t number) { return {number}; }
CoVariableId v(std::uint64_t commit) { return {{commit}, 0}; }

/// Cells, each binding one name. Names that begin with `g` cannot be loaded.
struct History {
  checkpoint::Tree tree;
  std::map<CommitId, Cell> cells;
  std::set<CoVariableId> unloadable;

  void cell(const std::string& writes, std::set<std::string> reads = {}) {
    cell_after(cells.size(), writes, std::move(reads));
  }
  void cell_after(std::uint64_t before, const std::string& writes, std::set<std::string> reads) {
    const CommitId parent{before};
    const CommitId commit{cells.size() + 1};
    tree.add(commit, parent, {.bound = {{writes, v(commit.value)}}, .unbound = {}});
    cells[commit] = {.reads = std::move(reads), .objection = {}};
    if (writes.starts_with('g')) unloadable.insert(v(commit.value));
  }
  [[nodiscard]] Plan to(std::uint64_t target, const View& shown = {}) const {
    return plan(tree.view(c(target)), shown,
                {tree, [this](const CoVariableId& version) { return !unloadable.contains(version); },
                 [this](CommitId commit) { return cells.at(commit); }});
  }
};

std::vector<std::uint64_t> cells_of(const Plan& plan) {
  std::vector<std::uint64_t> cells;
  for (const Step& step : plan.steps) cells.push_back(step.cell.value);
  return cells;
}

TEST(Plan, WhatCanBeLoadedNeedsNoCell) {
  History history;
  history.cell("a");
  history.cell("b", {"a"});
  EXPECT_TRUE(history.to(2).steps.empty());
  EXPECT_TRUE(history.to(2).lost.empty());
}

TEST(Plan, ACellRunsAgainOnWhatItReadThen) {
  History history;
  history.cell("a");
  history.cell("g", {"a"});
  history.cell("a");
  const Plan plan = history.to(3);
  ASSERT_EQ(cells_of(plan), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(plan.steps[0].load, (View{{"a", v(1)}}));
}

TEST(Plan, EachCellThatTouchedItRunsAgainInOrder) {
  History history;
  history.cell("a");
  history.cell("g", {"a"});
  history.cell("b");
  history.cell("g", {"g"});
  EXPECT_EQ(cells_of(history.to(4)), (std::vector<std::uint64_t>{2, 4}));
}

TEST(Plan, WhatWaitsForAReaderIsNeitherThereNorLostNorNeeded) {
  History history;
  history.cell("a");
  history.cell("g1");
  history.cell("g2");
  history.cell("g3");
  history.cell("g4");
  history.cells[c(4)].objection = "it wrote a file";
  const auto waits = [&](const View& shown, const std::set<std::string>& may) {
    return made_when_read(
        history.tree.view(c(5)), shown,
        {history.tree, [&](const CoVariableId& version) { return !history.unloadable.contains(version); },
         [&](CommitId commit) { return history.cells.at(commit); }},
        [&](const std::string& name, const CoVariableId&) { return may.contains(name); });
  };
  EXPECT_EQ(waits({{"g2", v(3)}}, {"a", "g1", "g2", "g3"}), (View{{"g1", v(2)}}));
  EXPECT_EQ(waits({}, {}), View{});
  EXPECT_EQ(waits({{"g1", v(1)}}, {"g1", "g4"}), (View{{"g1", v(2)}, {"g4", v(5)}}))
      << "another version is no help";
}

TEST(Plan, GoesOnFromWhatTheNamespaceShows) {
  History history;
  history.cell("a");
  history.cell("g", {"a"});
  history.cell("g", {"g"});
  EXPECT_EQ(cells_of(history.to(3, {{"g", v(2)}})), (std::vector<std::uint64_t>{3}));
  EXPECT_TRUE(history.to(3, {{"g", v(3)}}).steps.empty());
  EXPECT_EQ(cells_of(history.to(2, {{"g", v(3)}})), (std::vector<std::uint64_t>{2}));
}

TEST(Plan, WhatACellSpoilsIsMadeAnew) {
  History history;
  history.cell("g");          // 1
  history.cell("gh", {"g"});  // 2
  history.cell("g");          // 3
  // The namespace has the later g only. gh needs the first g, which takes that one's place, so that the later
  // g has to be made again too.
  EXPECT_EQ(cells_of(history.to(3, {{"g", v(3)}})), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(Plan, SaysWhatIsLostAndWhy) {
  History history;
  history.cell("g");
  history.cell("gb", {"g"});
  history.cell("gc");
  history.cells[c(1)].objection = "it writes a file";
  const Plan plan = history.to(3);
  EXPECT_EQ(cells_of(plan), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(plan.lost.at(v(1)), "it writes a file");
  EXPECT_THAT(plan.lost.at(v(2)), HasSubstr("'g': it writes a file"));
}

TEST(Plan, TheReasonIsSaidOnceHoweverManyCellsAreInBetween) {
  History history;
  history.cell("g");
  for (int i = 0; i < 25; ++i) history.cell("g", {"g"});
  history.cells[c(1)].objection = "it wrote a file";
  EXPECT_EQ(history.to(26).lost.at(v(26)), "it is made of 'g': it wrote a file");
}

TEST(Plan, ForgottenCommitsCannotRunAgain) {
  History history;
  history.cell("a");
  history.cell("g", {"a"});
  history.tree.forget(c(1));
  EXPECT_THAT(history.to(2).lost.at(v(2)), HasSubstr("not kept"));
}

TEST(Plan, LongWorkIsNotRepeatedUnasked) {
  History history;
  history.cell("g");
  history.cells[c(1)].runtime_us = kUnaskedMax_us + 1;
  EXPECT_TRUE(history.to(1).steps.empty());
  EXPECT_THAT(history.to(1).lost.at(v(1)), HasSubstr("long"));
  history.cells[c(1)].allowed = true;
  EXPECT_EQ(history.to(1).steps.size(), 1U);
}

TEST(Plan, NorAreVeryManyCells) {
  History history;
  for (std::size_t i = 0; i <= kUnaskedMax; ++i) history.cell("g", {"g"});
  EXPECT_TRUE(history.to(kUnaskedMax + 1).steps.empty());
  EXPECT_EQ(history.to(kUnaskedMax).steps.size(), kUnaskedMax);
}

/// Executes plans on a model in which each value says how it came about.
TEST(Plan, AnyPlanMakesTheViewThatTheCellsMadeFirst) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    History history;
    std::vector<std::map<std::string, std::string>> states{{}};
    const auto run = [&](std::uint64_t commit, std::map<std::string, std::string>& values) {
      std::string made = std::to_string(commit) + "(";
      for (const std::string& name : history.cells.at(c(commit)).reads)
        made += (values.contains(name) ? values.at(name) : "-") + ",";
      values[history.tree.change(c(commit)).bound.begin()->first] = made + ")";
    };
    const std::vector<std::string> names{"a", "b", "g1", "g2", "g3"};
    const std::uint64_t count = 3 + rng.below(8);
    for (std::uint64_t i = 1; i <= count; ++i) {
      std::set<std::string> reads;
      for (const auto& name : names) {
        if (rng.chance(0.3)) reads.insert(name);
      }
      const std::uint64_t before = rng.chance(0.7) ? i - 1 : rng.below(i);
      history.cell_after(before, names[rng.below(names.size())], reads);
      states.push_back(states[before]);
      run(i, states.back());
    }
    const std::uint64_t from = rng.below(count + 1), to = rng.below(count + 1);
    View shown = history.tree.view(c(from));
    std::map<std::string, std::string> values = states[from];
    for (const auto& [name, version] : history.tree.view(c(from))) {
      if (!rng.chance(0.3)) continue;
      shown.erase(name);
      values.erase(name);
    }
    const auto load = [&](const std::string& name, const CoVariableId& version) {
      ASSERT_FALSE(history.unloadable.contains(version));
      values[name] = states[version.commit.value].at(name);
      shown[name] = version;
    };
    const Plan plan = history.to(to, shown);
    EXPECT_TRUE(plan.lost.empty());
    for (const Step& step : plan.steps) {
      for (const auto& [name, version] : step.load) load(name, version);
      for (const auto& name : step.unbind) {
        values.erase(name);
        shown.erase(name);
      }
      run(step.cell.value, values);
      checkpoint::apply(shown, history.tree.change(step.cell));
    }
    const checkpoint::Change rest = checkpoint::difference(shown, history.tree.view(c(to)));
    for (const auto& [name, version] : rest.bound) load(name, version);
    for (const auto& name : rest.unbound) values.erase(name);
    EXPECT_EQ(values, states[to]);
  }
}

}  // namespace
}  // namespace banyan::planner
