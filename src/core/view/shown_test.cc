#include "core/view/shown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::view {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ReplicaId kSelf{1};

/// A session whose first cell bound `a` and `b`, and whose second deleted `b` and bound `c`.
class Shown : public ::testing::Test {
 protected:
  Shown() {
    end({"a", "b"}, {});
    end({"c"}, {"b"});
  }

  void end(const std::vector<std::string>& bound, const std::vector<std::string>& deleted) {
    const ExecutionId cell{"c" + std::to_string(++cells_)};
    session_.apply(session::Propose{.execution = cell, .replica = kSelf});
    session::Commit commit{.execution = cell, .epoch = session_.epoch()};
    commit.delta.failed = commit.delta.alone = bound;
    commit.delta.deleted = deleted;
    session_.apply(std::move(commit));
  }
  std::string repeated(CommitId commit, const std::vector<std::string>& made,
                       const std::vector<std::string>& changed = {}, const std::string& error = {}) {
    return note_repeated(shown_, session_,
                         {.commit = commit, .made = made, .changed = changed, .error = error},
                         [this](const CoVariableId&) { return loads_; });
  }
  CoVariableId version(const std::string& name) { return session_.tree().change({1}).bound.at(name); }

  Session session_{{"s"}, {.kernel_name = "python3"}, {{kSelf, {"h1"}}}};
  View shown_;
  bool loads_ = false;

 private:
  int cells_ = 0;
};

TEST_F(Shown, VersionsThatAreUnderAnotherNameAreNotShown) {
  const CoVariableId one{{1}, 0}, two{{1}, 1};
  const View view{{"x", one}, {"y", one}, {"z", two}};
  EXPECT_TRUE(shows(view, "x", one));
  EXPECT_FALSE(shows(view, "x", two));
  EXPECT_FALSE(shows(view, "w", one));
  EXPECT_THAT(names_by_version(view), ElementsAre(std::pair(one, std::vector<std::string>{"x", "y"}),
                                                  std::pair(two, std::vector<std::string>{"z"})));
  EXPECT_THAT(not_shown({{"x", one}, {"z", one}}, view), ElementsAre(one, two));
  EXPECT_THAT(not_shown(view, {{"x", one}}), IsEmpty());
}

TEST_F(Shown, WhatACellMadeAgainIsItsVersion) {
  EXPECT_EQ(repeated({1}, {"a", "b"}), "");
  EXPECT_EQ(shown_, (View{{"a", version("a")}, {"b", version("b")}}));
}

TEST_F(Shown, WhatItMadeOtherwiseIsNoVersionAndAReason) {
  EXPECT_NE(repeated({1}, {"a"}), "");
  EXPECT_EQ(shown_, (View{{"a", version("a")}, {"b", unknown_after({1})}}));
}

TEST_F(Shown, WhatCanBeLoadedNeedNotBeMadeAgain) {
  loads_ = true;
  EXPECT_EQ(repeated({1}, {"a"}), "");
  EXPECT_EQ(shown_.at("b"), unknown_after({1}));
}

TEST_F(Shown, BindingANameToAnEqualValueIsNoChange) {
  shown_ = {{"b", version("b")}};
  EXPECT_EQ(repeated({1}, {"a"}), "");
  EXPECT_EQ(shown_.at("b"), version("b"));
}

TEST_F(Shown, OtherNamesThatItChangedAreNoVersions) {
  EXPECT_EQ(repeated({1}, {"a", "b"}, {"w"}), "");
  EXPECT_EQ(shown_.at("w"), unknown_after({1}));
}

TEST_F(Shown, WhatItDeletedIsGoneUnlessItFailed) {
  shown_ = {{"b", version("b")}};
  EXPECT_EQ(repeated({2}, {"c"}), "");
  EXPECT_FALSE(shown_.contains("b"));
  shown_ = {{"b", version("b")}};
  EXPECT_EQ(repeated({2}, {"c"}, {}, "it raised"), "it raised");
  EXPECT_EQ(shown_.at("b"), unknown_after({2})) << "it may be there still";
}

/// A cell that failed because there was nothing to undo then, and has nothing to undo now.
TEST_F(Shown, WhereItEndsOtherwiseOnlyBytesTellWhatIsTheSame) {
  session_.apply(session::Propose{.execution = {"three"}, .replica = kSelf});
  session::Commit commit{.execution = {"three"}, .epoch = session_.epoch()};
  commit.delta.changed = {{.names = {"g"}, .blocks = {{digest_of("g"), 1, Blob("g")}}, .parts = {1}}};
  commit.delta.failed = commit.delta.alone = {"f"};
  session_.apply(std::move(commit));
  const auto& bound = session_.tree().change({3}).bound;
  EXPECT_EQ(repeated({3}, {"f", "g"}, {}, "it raised"), "it raised") << "f may be another one";
  EXPECT_EQ(shown_, (View{{"f", unknown_after({3})}, {"g", bound.at("g")}}));
  shown_ = {{"f", bound.at("f")}};
  EXPECT_EQ(repeated({3}, {"g"}, {}, "it raised"), "") << "it makes what only it can make";
  EXPECT_EQ(shown_, bound);
}

TEST_F(Shown, OfACommitThatIsForgottenOnlyTheErrorIsKnown) {
  EXPECT_EQ(repeated({99}, {"a"}, {"w"}, "it raised"), "it raised");
  EXPECT_EQ(shown_, (View{{"w", unknown_after({99})}}));
}

TEST_F(Shown, WhatItDidNotDeleteAgainIsNotThereWhereItWasNot) {
  EXPECT_EQ(repeated({2}, {"c"}, {}, "it raised"), "it raised");
  EXPECT_FALSE(shown_.contains("b"));
}

TEST_F(Shown, WhatAForgottenCommitMadeIsNotOfTheCellThatCameAfterIt) {
  const CoVariableId a = version("a");
  session_.apply(session::Amend{"r", {checkpoint::Prune{1}}, session_.last(), session_.amended()});
  ASSERT_EQ(session_.tree().change({2}).bound.at("a"), a);
  EXPECT_EQ(repeated({2}, {"c"}), "");
  EXPECT_FALSE(shown_.contains("a"));
}

}  // namespace
}  // namespace banyan::view
