#include "core/checkpoint/tree.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace banyan::checkpoint {
namespace {

CommitId c(std::uint64_t number) { return {number}; }
CoVariableId v(std::uint64_t commit, std::uint64_t ordinal = 0) { return {{commit}, ordinal}; }

/// A tree in which 1 defines a and b, 2 deletes a, 3 goes on from 1, and 4 goes on from 3.
Tree sample() {
  Tree tree;
  tree.add(c(1), c(0), {.bound = {{"a", v(1)}, {"b", v(1, 1)}}, .unbound = {}});
  tree.add(c(2), c(1), {.bound = {}, .unbound = {"a"}});
  tree.add(c(3), c(1), {.bound = {{"a", v(3)}}, .unbound = {}});
  tree.add(c(4), c(3), {.bound = {{"d", v(4)}}, .unbound = {"b"}});
  return tree;
}

TEST(Tree, AViewIsWhatTheLineOfACommitLeft) {
  const Tree tree = sample();
  EXPECT_EQ(tree.view(c(0)), View{});
  EXPECT_EQ(tree.view(c(2)), (View{{"b", v(1, 1)}}));
  EXPECT_EQ(tree.view(c(4)), (View{{"a", v(3)}, {"d", v(4)}}));
}

TEST(Tree, LinesMeetWhereTheyPart) {
  const Tree tree = sample();
  EXPECT_EQ(tree.line(c(4)), (std::vector<CommitId>{c(4), c(3), c(1)}));
  EXPECT_EQ(tree.children(c(1)), (std::vector<CommitId>{c(2), c(3)}));
  EXPECT_EQ(tree.meet(c(4), c(2)), c(1));
  EXPECT_EQ(tree.meet(c(4), c(3)), c(3));
  EXPECT_EQ(tree.meet(c(2), c(0)), c(0));
}

TEST(Tree, BlameNamesTheCommitsOfTheLineThatTouchedAName) {
  const Tree tree = sample();
  EXPECT_EQ(tree.blame("a", c(4)), (std::vector<CommitId>{c(3), c(1)}));
  EXPECT_EQ(tree.blame("a", c(2)), (std::vector<CommitId>{c(2), c(1)}));
  EXPECT_TRUE(tree.blame("d", c(3)).empty());
}

TEST(Tree, AForgottenCommitsVersionsGoUnlessALaterViewHoldsThem) {
  Tree tree = sample();
  tree.forget(c(3));
  EXPECT_EQ(tree.parent(c(4)), c(1));
  EXPECT_EQ(tree.view(c(4)), (View{{"a", v(3)}, {"d", v(4)}}));
  EXPECT_TRUE(tree.holds(v(3)));
  tree.forget(c(4));
  EXPECT_FALSE(tree.holds(v(3)));
  EXPECT_EQ(tree.commits(), (std::vector<CommitId>{c(1), c(2)}));
}

TEST(Tree, ADifferenceTurnsOneViewIntoTheOther) {
  const Tree tree = sample();
  const Change change = difference(tree.view(c(2)), tree.view(c(4)));
  EXPECT_EQ(change, (Change{.bound = {{"a", v(3)}, {"d", v(4)}}, .unbound = {"b"}}));
  EXPECT_EQ(difference(tree.view(c(4)), tree.view(c(4))), Change{});
}

class RandomTrees : public testing::TestWithParam<std::uint64_t> {};

// Compares the tree with a model that keeps every view whole.
TEST_P(RandomTrees, ViewsStayWhatTheyWereWhateverIsForgotten) {
  Rng rng(GetParam());
  Tree tree;
  std::map<CommitId, View> model = {{c(0), {}}};
  std::set<CoVariableId> vanished;
  const auto any = [&] {
    return std::next(model.begin(), static_cast<std::ptrdiff_t>(rng.below(model.size())))->first;
  };
  for (std::uint64_t number = 1; number <= 200; ++number) {
    if (model.size() > 1 && rng.below(4) == 0) {
      const CommitId gone = any();
      if (gone != c(0)) {
        for (const CoVariableId& version : tree.forget(gone)) vanished.insert(version);
        model.erase(gone);
      }
    }
    const CommitId parent = any();
    View view = model.at(parent);
    Change change;
    for (std::uint64_t i = 0; i < rng.below(4); ++i) {
      const std::string name(1, static_cast<char>('a' + rng.below(6)));
      if (change.bound.contains(name) || change.unbound.contains(name)) continue;
      if (rng.below(3) == 0) {
        change.unbound.insert(name);
        view.erase(name);
      } else {
        view[name] = change.bound[name] = v(number, i);
      }
    }
    tree.add(c(number), parent, change);
    model[c(number)] = view;
    const CommitId from = any(), to = any();
    const Change step = difference(model.at(from), model.at(to));
    Tree two;
    two.add(c(1), c(0), {model.at(from), {}});
    two.add(c(2), c(1), step);
    ASSERT_EQ(two.view(c(2)), model.at(to));
    const auto again = Tree::restore(tree.nodes());
    ASSERT_TRUE(again.has_value());
    ASSERT_EQ(again->commits(), tree.commits());
    std::set<CoVariableId> held;
    for (const auto& [commit, expected] : model) {
      ASSERT_EQ(tree.view(commit), expected) << "seed " << GetParam() << ", commit " << commit.value;
      for (const auto& [name, version] : expected) held.insert(version);
    }
    for (const CoVariableId& version : held) ASSERT_TRUE(tree.holds(version)) << GetParam();
    for (const CoVariableId& version : vanished) ASSERT_FALSE(held.contains(version)) << GetParam();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTrees, testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace banyan::checkpoint
