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
    refs.committed({number});
  }
  std::string error(std::string_view word) { return refs.resolve(tree, word).error().message; }

  Tree tree;
  Refs refs{kSession};
};

TEST_F(RefsTest, TheCurrentBranchFollowsItsCommits) {
  commit(1);
  commit(2);
  EXPECT_EQ(refs.head(), CommitId{2});
  EXPECT_EQ(refs.current(), "main");
  EXPECT_EQ(refs.branches().at("main"), CommitId{2});
}

TEST_F(RefsTest, WorkThatGoesOnFromAnOldCommitBeginsABranch) {
  commit(1);
  commit(2);
  refs.moved({1});
  EXPECT_EQ(refs.current(), std::nullopt);
  commit(3);
  EXPECT_EQ(refs.current(), "branch-2");
  EXPECT_EQ(refs.branches().at("main"), CommitId{2});
  refs.moved({2});
  EXPECT_EQ(refs.current(), "main");
  commit(4);
  EXPECT_EQ(refs.branches(), (std::map<std::string, CommitId>{{"main", {4}}, {"branch-2", {3}}}));
}

TEST_F(RefsTest, ABranchMadeAtHeadIsTheOneThatGoesOn) {
  commit(1);
  ASSERT_TRUE(refs.branch("try", {1}));
  commit(2);
  EXPECT_EQ(refs.branches(), (std::map<std::string, CommitId>{{"main", {1}}, {"try", {2}}}));
  ASSERT_TRUE(refs.branch("old", {1}));
  EXPECT_EQ(refs.current(), "try");
  ASSERT_TRUE(refs.rename("better"));
  EXPECT_EQ(refs.branches().at("better"), CommitId{2});
  EXPECT_FALSE(refs.branches().contains("try"));
  EXPECT_EQ(refs.drop_branch("better").error().kind, ErrorKind::kConflict);
  EXPECT_TRUE(refs.drop_branch("old"));
  EXPECT_EQ(refs.drop_branch("old").error().kind, ErrorKind::kNotFound);
}

TEST_F(RefsTest, NamesThatCannotBeTakenSayWhy) {
  commit(1);
  ASSERT_TRUE(refs.tag("v1.0/first_try-2", {1}));
  for (const char* bad : {"", "a b", "-x", "HEAD", "x~1", "\"q\"", "../x", "é"})
    EXPECT_EQ(refs.tag(bad, {1}).error().kind, ErrorKind::kInvalid) << bad;
  EXPECT_EQ(refs.tag(std::string(101, 'x'), {1}).error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(refs.tag("cafe", {1}).error().message, HasSubstr("could be a commit's id"));
  EXPECT_THAT(refs.branch("v1.0/first_try-2", {1}).error().message, HasSubstr("a tag"));
  EXPECT_THAT(refs.tag("main", {1}).error().message, HasSubstr("a branch"));
  EXPECT_TRUE(refs.drop_tag("v1.0/first_try-2"));
  EXPECT_EQ(refs.drop_tag("v1.0/first_try-2").error().kind, ErrorKind::kNotFound);
}

TEST_F(RefsTest, AWordNamesACommit) {
  for (std::uint64_t number = 1; number <= 5; ++number) commit(number);
  ASSERT_TRUE(refs.tag("good", {2}));
  EXPECT_EQ(refs.resolve(tree, "HEAD"), CommitId{5});
  EXPECT_EQ(refs.resolve(tree, "main~"), CommitId{4});
  EXPECT_EQ(refs.resolve(tree, "HEAD~5"), CommitId{0});
  EXPECT_EQ(refs.resolve(tree, "good~1"), CommitId{1});
  EXPECT_EQ(refs.resolve(tree, full_id(kSession, {3})), CommitId{3});
  EXPECT_EQ(refs.resolve(tree, refs.short_id(tree, {3})), CommitId{3});
  EXPECT_THAT(error("HEAD~6"), HasSubstr("only 5 commits"));
  EXPECT_THAT(error("HEAD~x"), HasSubstr("a number"));
  EXPECT_THAT(error("nowhere"), HasSubstr("names no commit"));
  EXPECT_THAT(error("abc"), HasSubstr("first 4 digits"));
}

TEST_F(RefsTest, AnAmbiguousBeginningNamesTheCandidatesAndShortIdsAreUnique) {
  for (std::uint64_t number = 1; number <= 2000; ++number) commit(number);
  std::map<std::string, int> first_four;
  std::set<std::string> shown;
  for (const CommitId commit : tree.commits()) ++first_four[full_id(kSession, commit).substr(0, 4)];
  for (const CommitId commit : {CommitId{1}, CommitId{777}, CommitId{2000}}) {
    const std::string id = refs.short_id(tree, commit);
    EXPECT_GE(id.size(), 7U);
    EXPECT_EQ(refs.resolve(tree, id), commit);
  }
  const auto twice = std::ranges::find_if(first_four, [](const auto& item) { return item.second > 1; });
  ASSERT_NE(twice, first_four.end());
  EXPECT_EQ(refs.resolve(tree, twice->first).error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(error(twice->first), HasSubstr("give more digits"));
}

}  // namespace
}  // namespace banyan::checkpoint
