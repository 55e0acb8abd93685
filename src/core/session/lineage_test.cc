#include "core/session/lineage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const ReplicaId kA{1};

enum class May { kNot, kRunAgain };

/// A session whose cells end as a test says; one commit for each.
class Lineages : public testing::Test {
 protected:
  CommitId run(Commit ending, May may = May::kNot) {
    const std::string cell = "c" + std::to_string(++cells_);
    session.apply(Propose{.execution = {cell}, .replica = kA});
    ending.execution = {cell};
    ending.epoch = session.epoch();
    session.apply(std::move(ending));
    if (may == May::kRunAgain) allow(session.last());
    return session.last();
  }
  void allow(CommitId commit) {
    session.apply(Amend{std::to_string(++amendments_),
                        {checkpoint::AllowRepeat{{commit}}},
                        session.last(),
                        session.amended()});
  }
  CommitId with(Footprint footprint, May may = May::kNot) {
    Commit ending;
    ending.delta.footprint = std::move(footprint);
    return run(std::move(ending), may);
  }
  std::string objection(CommitId commit, std::uint64_t gpus = kAnyGpus, CommitId since = kNoCell) {
    return lineage_of(session, false, gpus, since).cell(commit).objection;
  }

  Session session{{"s"}, {}, {{kA, {"h1"}}}};

 private:
  int cells_ = 0;
  int amendments_ = 0;
};

TEST_F(Lineages, ACellThatSaysNothingAgainstItMayRunAgain) {
  const CommitId commit = with({.reads = {"a", "b"}, .reads_all = true});
  const planner::Cell cell = lineage_of(session).cell(commit);
  EXPECT_EQ(cell.objection, "");
  EXPECT_THAT(cell.reads, ElementsAre("a", "b"));
  EXPECT_TRUE(cell.reads_all);
  EXPECT_FALSE(cell.allowed);
}

TEST_F(Lineages, ACellThatDidNotEndAsItselfDoesNotRunAgainEvenIfItMay) {
  session.apply(Propose{.execution = {"lost"}, .replica = kA});
  session.apply(TakeOver{session.epoch(), "silent"});
  allow(session.last());
  EXPECT_THAT(objection(session.last()), HasSubstr("did not end"));
  EXPECT_THAT(objection(run({.status = Status::kAborted}, May::kRunAgain)), HasSubstr("did not end"));
  const std::string interrupt = R"({"ename":"KeyboardInterrupt"})";
  EXPECT_THAT(objection(run({.status = Status::kError, .reply = interrupt}, May::kRunAgain)),
              HasSubstr("interrupted"));
  EXPECT_THAT(objection(run({.asked_history = true}, May::kRunAgain)), HasSubstr("history"));
}

TEST_F(Lineages, AnErrorIsNoReasonUnlessItWasAnInterrupt) {
  EXPECT_EQ(objection(run({.status = Status::kError, .reply = R"({"ename":"ValueError"})"})), "");
  EXPECT_EQ(objection(run({.status = Status::kError, .reply = "no JSON"})), "");
  EXPECT_EQ(objection(run({.status = Status::kOk, .reply = R"({"ename":"KeyboardInterrupt"})"})), "");
}

TEST_F(Lineages, ACellThatUsedAGpuRunsWhereThereIsOne) {
  const CommitId commit = with({.gpus = 2});
  EXPECT_EQ(objection(commit), "") << "nobody knows the host yet";
  EXPECT_EQ(objection(commit, 1), "");
  EXPECT_THAT(objection(commit, 0), HasSubstr("GPU"));
  EXPECT_EQ(objection(with({}), 0), "") << "one that used none";
  EXPECT_EQ(objection(with({.gpus = 1}, May::kRunAgain), 0), "") << "its author wants it to";
}

TEST_F(Lineages, WorkInTheBackgroundIsBegunAgainOnlyInItsOwnProcess) {
  const CommitId commit = with({.begun = {"thread w"}});
  EXPECT_THAT(objection(commit), HasSubstr("twice what it has begun (thread w)"));
  EXPECT_EQ(objection(commit, kAnyGpus, commit), "") << "its process is that of this cell and of later ones";
  EXPECT_THAT(objection(commit, kAnyGpus, {commit.value + 1}), HasSubstr("twice"));
  EXPECT_EQ(objection(with({.begun = {"thread w"}}, May::kRunAgain)), "");
}

TEST_F(Lineages, EffectsAreNamedUpToThreeAndMayBeForbidden) {
  EXPECT_THAT(objection(with({.effects = {"wrote a"}})), HasSubstr("(wrote a), and its author has not said"));
  EXPECT_THAT(objection(with({.effects = {"1", "2", "3"}})), HasSubstr("(1, 2, 3)"));
  EXPECT_THAT(objection(with({.effects = {"1", "2", "3", "4"}})), HasSubstr("(1, 2, 3, …)"));
  EXPECT_THAT(objection(with({.effects = {"a", "%rerun never"}})), Not(HasSubstr("has not said")));
  EXPECT_EQ(objection(with({.effects = {"wrote a"}}, May::kRunAgain)), "");
}

TEST_F(Lineages, AsIfEveryCellHadBeenAllowed) {
  const CommitId commit = with({.effects = {"wrote a"}});
  EXPECT_EQ(lineage_of(session, true).cell(commit).objection, "");
  EXPECT_TRUE(lineage_of(session, true).cell(commit).allowed);
}

TEST_F(Lineages, ACellThatIsNotKeptDoesNotRunAgain) {
  EXPECT_THAT(objection({77}), HasSubstr("not kept any more"));
}

TEST_F(Lineages, WhatOneProcessKnowsComesBeforeWhatTheLogSays) {
  const CommitId commit = with({}), other = with({});
  const std::map<CommitId, std::string> failed{{commit, "came out otherwise"}};
  const auto lineage = lineage_of(session, [](const CoVariableId&) { return false; }, failed, 0, kNoCell);
  EXPECT_EQ(lineage.cell(commit).objection, "came out otherwise");
  EXPECT_EQ(lineage.cell(other).objection, "");
  EXPECT_FALSE(lineage.loadable({commit, 0}));
}

TEST_F(Lineages, WhatACellMadeIsThereOnceHoweverManyNamesItHas) {
  const auto value = [](std::vector<std::string> names, const std::string& bytes) {
    return CoVariable{std::move(names), {{digest_of(bytes), bytes.size(), Blob(bytes)}}, {1}};
  };
  Commit ending;
  ending.delta.changed = {value({"a", "b"}, "one"), value({"c"}, "two")};
  const CommitId first = run(std::move(ending));
  EXPECT_EQ(made_by(session, first).size(), 2U);
  EXPECT_THAT(made_by(session, with({})), IsEmpty());
}

TEST_F(Lineages, WhatSharesNothingMayWaitUnlessItIsBesideTheVariables) {
  Commit ending;
  ending.delta.failed = {"<hooks: sys.stdout>", "lock", "pair"};
  ending.delta.alone = {"<hooks: sys.stdout>", "lock"};
  run(std::move(ending));
  const auto waits = [&](const std::string& name) {
    return may_wait(session, name, session.view().at(name));
  };
  EXPECT_TRUE(waits("lock"));
  EXPECT_FALSE(waits("pair")) << "others may change it";
  EXPECT_FALSE(waits("<hooks: sys.stdout>")) << "any cell reads it";
}

}  // namespace
}  // namespace banyan::session
