#include "core/checkpoint/refs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::checkpoint {
namespace {

using testing::HasSubstr;

const SessionId kSession{"0b5c4b46-7a4c-4f0e-9d57-1f6a9b3d2a11"};

class RefsTest : public testing::Test {
 protected:
  void commit(std::uint64_t number) {
    tree.add({number}, refs.head(), {});
    refs.committed({number}, true);
  }
  Result<Done> act(const Action& action) { return refs.perform(tree, action); }
  Result<CommitId> resolve(std::string_view word) { return refs.resolve(kSession, tree, word); }
  std::string error(std::string_view word) { return resolve(word).error().message; }
  const std::map<std::string, CommitId>& branches() { return refs.names().branches; }
  const std::optional<std::string>& current() { return refs.names().current; }

  Tree tree;
  Refs refs;
};

TEST_F(RefsTest, TheCurrentBranchFollowsItsCommits) {
  commit(1);
  commit(2);
  EXPECT_EQ(refs.head(), CommitId{2});
  EXPECT_EQ(current(), "main");
  EXPECT_EQ(branches().at("main"), CommitId{2});
}

TEST_F(RefsTest, WorkThatGoesOnFromAnOldCommitBeginsABranch) {
  commit(1);
  commit(2);
  ASSERT_TRUE(act(Checkout{{1}}));
  EXPECT_EQ(current(), std::nullopt);
  commit(3);
  EXPECT_EQ(current(), "branch-2");
  EXPECT_EQ(branches().at("main"), CommitId{2});
  ASSERT_TRUE(act(Checkout{{2}}));
  EXPECT_EQ(current(), "main");
  commit(4);
  EXPECT_EQ(branches(), (std::map<std::string, CommitId>{{"main", {4}}, {"branch-2", {3}}}));
}

TEST_F(RefsTest, ABranchMadeAtHeadIsTheOneThatGoesOn) {
  commit(1);
  ASSERT_TRUE(act(MakeBranch{"try", {1}}));
  commit(2);
  EXPECT_EQ(branches(), (std::map<std::string, CommitId>{{"main", {1}}, {"try", {2}}}));
  ASSERT_TRUE(act(MakeBranch{"old", {1}}));
  EXPECT_EQ(current(), "try");
  ASSERT_TRUE(act(RenameBranch{"better"}));
  EXPECT_EQ(branches().at("better"), CommitId{2});
  EXPECT_FALSE(branches().contains("try"));
  EXPECT_EQ(act(DropBranch{"better"}).error().kind, ErrorKind::kConflict);
  EXPECT_TRUE(act(DropBranch{"old"}));
  EXPECT_EQ(act(DropBranch{"old"}).error().kind, ErrorKind::kNotFound);
}

TEST_F(RefsTest, NamesThatCannotBeTakenSayWhy) {
  commit(1);
  ASSERT_TRUE(act(MakeTag{"v1.0/first_try-2", {1}}));
  for (const char* bad : {"", "a b", "-x", "HEAD", "x~1", "\"q\"", "../x", "é"})
    EXPECT_EQ(act(MakeTag{bad, {1}}).error().kind, ErrorKind::kInvalid) << bad;
  EXPECT_EQ(act(MakeTag{std::string(101, 'x'), {1}}).error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(act(MakeTag{"cafe", {1}}).error().message, HasSubstr("could be a commit's id"));
  EXPECT_THAT(act(MakeBranch{"v1.0/first_try-2", {1}}).error().message, HasSubstr("a tag"));
  EXPECT_THAT(act(MakeTag{"main", {1}}).error().message, HasSubstr("a branch"));
  EXPECT_TRUE(act(DropTag{"v1.0/first_try-2"}));
  EXPECT_EQ(act(DropTag{"v1.0/first_try-2"}).error().kind, ErrorKind::kNotFound);
}

TEST_F(RefsTest, AWordNamesACommit) {
  for (std::uint64_t number = 1; number <= 5; ++number) commit(number);
  ASSERT_TRUE(act(MakeTag{"good", {2}}));
  EXPECT_EQ(resolve("HEAD"), CommitId{5});
  EXPECT_EQ(resolve("main~"), CommitId{4});
  EXPECT_EQ(resolve("HEAD~5"), CommitId{0});
  EXPECT_EQ(resolve("good~1"), CommitId{1});
  EXPECT_EQ(resolve(full_id(kSession, {3})), CommitId{3});
  EXPECT_EQ(resolve(short_ids(kSession, tree).at({3})), CommitId{3});
  EXPECT_THAT(error("HEAD~6"), HasSubstr("only 5 commits"));
  EXPECT_THAT(error("HEAD~x"), HasSubstr("a number"));
  EXPECT_THAT(error("nowhere"), HasSubstr("names no commit"));
  EXPECT_THAT(error("abc"), HasSubstr("first 4 digits"));
}

TEST_F(RefsTest, AnAmbiguousBeginningNamesTheCandidatesAndShortIdsAreUnique) {
  for (std::uint64_t number = 1; number <= 2000; ++number) commit(number);
  std::map<std::string, int> first_four;
  const auto ids = short_ids(kSession, tree);
  for (const CommitId commit : tree.commits()) ++first_four[full_id(kSession, commit).substr(0, 4)];
  for (const CommitId commit : {CommitId{1}, CommitId{777}, CommitId{2000}}) {
    const std::string& id = ids.at(commit);
    EXPECT_GE(id.size(), 7U);
    EXPECT_EQ(resolve(id), commit);
  }
  const auto twice = std::ranges::find_if(first_four, [](const auto& item) { return item.second > 1; });
  ASSERT_NE(twice, first_four.end());
  EXPECT_EQ(resolve(twice->first).error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(error(twice->first), HasSubstr("give more digits"));
}

TEST_F(RefsTest, UndoCanBeRedoneUntilAVariableChanges) {
  using Step = Checkout::Step;
  for (std::uint64_t number = 1; number <= 3; ++number) commit(number);
  ASSERT_TRUE(act(Checkout{{2}, Step::kUndo}));
  ASSERT_TRUE(act(Checkout{{1}, Step::kUndo}));
  EXPECT_EQ(act(Checkout{{3}, Step::kRedo}).error().kind, ErrorKind::kConflict);
  ASSERT_TRUE(act(Checkout{{2}, Step::kRedo}));
  tree.add({4}, {2}, {});
  refs.committed({4}, false);  // the commit of a cell that only looked
  EXPECT_EQ(current(), "branch-2");
  ASSERT_TRUE(act(Checkout{{3}, Step::kRedo}));
  EXPECT_EQ(current(), "main");
  ASSERT_TRUE(act(Checkout{{2}, Step::kUndo}));
  tree.add({5}, {2}, {});
  refs.committed({5}, true);
  EXPECT_EQ(act(Checkout{{3}, Step::kRedo}).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(refs.head(), CommitId{5});
}

TEST_F(RefsTest, AMessageIsAnyTextAndWhatIsReferredToIsKnown) {
  commit(1);
  commit(2);
  const std::string text = "it's \"quoted\"\nand long";
  ASSERT_TRUE(act(Describe{{1}, text}));
  EXPECT_EQ(refs.names().messages.at({1}), text);
  EXPECT_FALSE(refs.refers_to({1}));
  ASSERT_TRUE(act(MakeTag{"one", {1}}));
  EXPECT_TRUE(refs.refers_to({1}));
  EXPECT_EQ(act(Checkout{{9}}).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(act(Describe{{0}, "x"}).error().kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace banyan::checkpoint
