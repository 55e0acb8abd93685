#include "core/session/session.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/session/test_session.h"

namespace banyan::session {
namespace {

TEST(Election, TheFirstCommittedLeadWinsAndTheSecondIsTold) {
  Session session = fresh();
  const auto won = session.apply(lead("c1", kB));
  ASSERT_NE(first<Started>(won), nullptr);
  EXPECT_EQ(first<Started>(won)->executor, kB);
  const auto late = session.apply(lead("c1", kA));
  ASSERT_NE(first<BidLost>(late), nullptr);
  EXPECT_EQ(first<BidLost>(late)->replica, kA);
  EXPECT_EQ(session.executor(), kB);
}

TEST(Election, AnExecutorKeepsItsEpochAndAnotherOpensANewOne) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  const Epoch epoch = session.epoch();
  session.apply(commit("c1", epoch));
  session.apply(lead("c2", kA));
  EXPECT_EQ(session.epoch(), epoch);
  session.apply(commit("c2", epoch));
  session.apply(lead("c3", kB));
  EXPECT_GT(session.epoch(), epoch);
}

TEST(Election, AllYieldFailsAndALaterRoundCanWin) {
  Session session = fresh();
  session.apply(yield("c1", kA));
  session.apply(yield("c1", kB));
  EXPECT_NE(first<AllYielded>(session.apply(yield("c1", kC))), nullptr);
  EXPECT_NE(first<Started>(session.apply(lead("c1", kC))), nullptr);
}

TEST(Election, ALeadAfterSomeYieldsWins) {
  Session session = fresh();
  session.apply(yield("c1", kA));
  EXPECT_NE(first<Started>(session.apply(lead("c1", kB))), nullptr);
}

TEST(Election, ARepeatedBidOfTheWinnerIsHarmless) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  EXPECT_TRUE(session.apply(lead("c1", kA)).empty());
}

TEST(Election, AStrangerCannotLead) {
  Session session = fresh();
  EXPECT_EQ(first<Started>(session.apply(lead("c1", {9}))), nullptr);
  EXPECT_FALSE(session.running().has_value());
}

TEST(PromiseP2, ACellThatEndedNeverStartsAgain) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  session.apply(commit("c1", session.epoch()));
  EXPECT_EQ(first<Started>(session.apply(lead("c1", kA))), nullptr);
  EXPECT_EQ(first<Started>(session.apply(lead("c1", kB))), nullptr);
  session.apply(lead("c2", kA));
  session.apply(TakeOver{session.epoch(), "silent"});
  EXPECT_EQ(first<Started>(session.apply(lead("c2", kB))), nullptr) << "a lost cell may have run";
}

TEST(PromiseP3, ACommitOfAnOlderEpochIsRefused) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  const Epoch old = session.epoch();
  const auto taken = session.apply(TakeOver{old, "the host is silent"});
  ASSERT_NE(first<LeadTaken>(taken), nullptr);
  EXPECT_TRUE(first<LeadTaken>(taken)->was_running);
  EXPECT_EQ(first<CellEnded>(taken)->status, Status::kLost);
  const auto late = session.apply(commit("c1", old, {.changed = {variable({"x"}, "1")}}));
  EXPECT_NE(first<CommitRefused>(late), nullptr);
  EXPECT_TRUE(session.view().empty());
}

TEST(PromiseP3, ATakeOverOfAnOlderEpochHasNoEffect) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  session.apply(commit("c1", session.epoch()));
  const Epoch old = session.epoch();
  session.apply(lead("c2", kB));
  EXPECT_TRUE(session.apply(TakeOver{old, ""}).empty());
  EXPECT_TRUE(session.running().has_value());
}

TEST(PromiseP4, EveryStartedCellEndsOnceAndCanBeAskedFor) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  EXPECT_EQ(session.find({"c1"}), nullptr);
  session.apply(
      Commit{.execution = {"c1"}, .epoch = session.epoch(), .status = Status::kError, .reply = "{}"});
  ASSERT_NE(session.find({"c1"}), nullptr);
  EXPECT_EQ(session.find({"c1"})->status, Status::kError);
  EXPECT_NE(first<CommitRefused>(session.apply(commit("c1", session.epoch()))), nullptr);
}

TEST(Namespace, CoVariablesMergeSplitAndDisappear) {
  Session session = fresh();
  const auto run = [&](const std::string& cell, Delta delta) {
    session.apply(lead(cell, kA));
    session.apply(commit(cell, session.epoch(), std::move(delta)));
  };
  run("c1", {.changed = {variable({"a", "b"}, "shared"), variable({"c"}, "alone")}});
  EXPECT_EQ(session.view().at("a"), session.view().at("b"));
  const View before = session.view();
  run("c2", {.changed = {variable({"b"}, "split")}, .deleted = {"c"}, .failed = {}});
  EXPECT_NE(session.view().at("a"), session.view().at("b"));
  const checkpoint::Change step = checkpoint::difference(before, session.view());
  EXPECT_EQ(step.bound, (View{{"b", session.view().at("b")}}));
  EXPECT_EQ(step.unbound, std::set<std::string>{"c"});
  run("c3", {.changed = {}, .deleted = {}, .failed = {"a"}});
  EXPECT_FALSE(session.co_variable(session.view().at("a")).serialised())
      << "a value that cannot be replicated is not shown with its old value";
}

TEST(Namespace, ClearEmptiesItOnceForEachRequest) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  session.apply(commit("c1", session.epoch(), {.changed = {variable({"a"}, "1")}}));
  EXPECT_NE(first<Cleared>(session.apply(Clear{7})), nullptr);
  EXPECT_TRUE(session.view().empty());
  EXPECT_EQ(session.execution_count(), 0U);
  EXPECT_TRUE(session.apply(Clear{7}).empty());
}

TEST(History, TheOldestOutputsGoWhenTheJournalOutgrowsItsLimitAlsoAfterARestore) {
  Session session = fresh();
  const jupyter::Message output{.header = {}, .content = Blob(std::string(Keep{}.journal / 2 - 1000, 'x'))};
  const auto run = [&](const std::string& cell) {
    session.apply(lead(cell, kA));
    session.apply(
        Commit{.execution = {cell}, .epoch = session.epoch(), .outputs = {output}, .outputs_total = 1});
  };
  run("c1");
  run("c2");
  EXPECT_EQ(session.find({"c1"})->outputs.size(), 1U);
  session = *Session::restore(session.snapshot());
  run("c3");
  EXPECT_TRUE(session.find({"c1"})->outputs.empty());
  EXPECT_EQ(session.find({"c1"})->outputs_total, 1U);
  EXPECT_EQ(session.find({"c2"})->outputs.size(), 1U);
  EXPECT_EQ(session.find({"c3"})->outputs.size(), 1U);
}

// ---- time travel

using checkpoint::Checkout;
using Step = Checkout::Step;

class TimeTravel : public testing::Test {
 protected:
  std::vector<Event> run(Delta delta, std::vector<checkpoint::Action> actions = {}) {
    const std::string cell = "c" + std::to_string(++cells);
    session.apply(Propose{.execution = {cell}, .replica = kA, .restarts = session.last_clear()});
    return session.apply(Commit{.execution = {cell},
                                .epoch = session.epoch(),
                                .execution_count = cells,
                                .delta = std::move(delta),
                                .actions = std::move(actions)});
  }
  std::string text(const std::string& name) {
    return std::string(session.co_variable(session.view().at(name)).blocks.front().bytes->view());
  }
  std::uint64_t cells = 0;
  Session session = fresh();
};

TEST_F(TimeTravel, ACheckoutMovesHeadAndLosesNothing) {
  run({.changed = {variable({"a", "b"}, "one")}});
  const CommitId first_commit = session.refs().head();
  run({.changed = {variable({"a"}, "two"), variable({"b"}, "split")}, .deleted = {}, .failed = {}});
  const auto events = run({}, {Checkout{first_commit, Step::kUndo}});
  EXPECT_EQ(first<CellEnded>(events)->change, Change{}) << "the worker has done nothing yet";
  EXPECT_EQ(session.view().at("a"), session.view().at("b"));
  EXPECT_EQ(text("a"), "one");
  EXPECT_EQ(session.last(), CommitId{3});
  EXPECT_FALSE(session.tree().contains({3})) << "a cell that only moves head is no place to come back to";
  run({}, {Checkout{{2}, Step::kRedo}});
  EXPECT_EQ(text("b"), "split");
  EXPECT_EQ(session.refs().names().current, "main");
}

TEST_F(TimeTravel, ACellThatChangesAndMovesHeadLeavesItsCommit) {
  run({.changed = {variable({"a"}, "one")}});
  const auto events = run({.changed = {variable({"x"}, "late")}}, {Checkout{{0}, Step::kJump}});
  EXPECT_EQ(first<CellEnded>(events)->change.bound.size(), 1U);
  EXPECT_TRUE(session.view().empty());
  run({}, {Checkout{{2}, Step::kJump}});
  EXPECT_EQ(text("x"), "late");
}

TEST_F(TimeTravel, ARedoHoldsAlsoInACellThatChangesSomething) {
  run({.changed = {variable({"a"}, "one")}});
  run({}, {Checkout{{0}, Step::kUndo}});
  run({.changed = {variable({"b"}, "beside")}}, {Checkout{{1}, Step::kRedo}});
  EXPECT_EQ(text("a"), "one");
  EXPECT_FALSE(session.view().contains("b"));
  EXPECT_TRUE(session.tree().contains({3}));
}

TEST_F(TimeTravel, WhatACellAskedForCountsFromWhereItBegan) {
  run({.changed = {variable({"a"}, "one")}});
  run({.changed = {variable({"a"}, "two")}});
  run({.changed = {variable({"b"}, "beside")}},
      {Checkout{{1}, Step::kUndo}, Checkout{{2}, Step::kRedo}, checkpoint::MakeTag{"here", {2}}});
  EXPECT_EQ(text("a"), "two");
  EXPECT_FALSE(session.view().contains("b"));
  EXPECT_EQ(session.refs().names().tags.at("here"), CommitId{2});
  EXPECT_EQ(session.refs().names().branches.at("main"), CommitId{3}) << "nothing is lost";
}

TEST_F(TimeTravel, WhatACellAsksForHoldsAlsoWhenItChangesSomething) {
  run({.changed = {variable({"a"}, "one")}});
  run({.changed = {variable({"b"}, "x")}}, {checkpoint::MakeBranch{"try", {1}}});
  EXPECT_EQ(session.refs().names().branches.at("try"), CommitId{2}) << "the current one when the cell ended";
  EXPECT_EQ(session.refs().names().branches.at("main"), CommitId{1});
  run({.changed = {variable({"b"}, "y")}}, {checkpoint::RenameBranch{"exp"}, Checkout{{1}, Step::kUndo}});
  EXPECT_FALSE(session.view().contains("b"));
  EXPECT_TRUE(session.refs().names().branches.contains("exp"));
  EXPECT_TRUE(std::ranges::any_of(session.refs().names().branches, [](const auto& branch) {
    return branch.second == CommitId{3};
  })) << "the change of the cell is on a branch";
}

TEST_F(TimeTravel, ACellThatOnlyLooksBeginsNoBranch) {
  run({.changed = {variable({"a"}, "one")}});
  run({.changed = {variable({"a"}, "two")}});
  run({}, {Checkout{{1}, Step::kUndo}});
  run({});
  EXPECT_EQ(session.refs().head(), CommitId{1});
  EXPECT_EQ(session.refs().names().branches.size(), 1U);
  EXPECT_EQ(session.tree().nodes().size(), 2U);
}

TEST_F(TimeTravel, WhatACellShowsIsKeptUnlessItLooksAtTheHistory) {
  run({.changed = {variable({"a"}, "one")}});
  const std::vector<CoVariable> shown{variable({std::string(checkpoint::kShown)}, "text")};
  session.apply(lead("looks", kA));
  session.apply(Commit{
      .execution = {"looks"}, .epoch = session.epoch(), .delta = {.changed = shown}, .asked_history = true});
  EXPECT_EQ(session.refs().head(), CommitId{1});
  EXPECT_FALSE(session.view().contains(std::string(checkpoint::kShown)));
  run({.changed = shown});
  EXPECT_EQ(session.refs().head(), CommitId{3});
}

TEST_F(TimeTravel, OfTwoAmendmentsChosenAtOnceOneIsDone) {
  run({.changed = {variable({"a"}, "one")}});
  run({.changed = {variable({"a"}, "two")}});
  const Amend undo{"r", {Checkout{{1}, Step::kUndo}}, session.last(), session.amended()};
  EXPECT_FALSE(first<Amended>(session.apply(undo))->refused.has_value());
  EXPECT_EQ(first<Amended>(session.apply(undo))->refused->kind, ErrorKind::kConflict);
}

TEST_F(TimeTravel, ARestartCanBeUndone) {
  run({.changed = {variable({"a"}, "one")}});
  session.apply(Clear{1});
  EXPECT_TRUE(session.view().empty());
  run({}, {Checkout{session.tree().parent(session.refs().head()), Step::kUndo}});
  EXPECT_EQ(text("a"), "one");
}

TEST_F(TimeTravel, AnAmendmentWaitsForNoCellAndIsDoneWhollyOrNotAtAll) {
  run({.changed = {variable({"a"}, "one")}});
  session.apply(lead("busy", kA));
  EXPECT_TRUE(first<Amended>(session.apply(Amend{"r1", {Checkout{}}, session.last(), session.amended()}))
                  ->refused.has_value());
  session.apply(commit("busy", session.epoch()));
  const auto half = session.apply(
      Amend{"r2", {checkpoint::MakeTag{"t", {1}}, Checkout{{99}}}, session.last(), session.amended()});
  EXPECT_EQ(first<Amended>(half)->refused->kind, ErrorKind::kNotFound);
  EXPECT_TRUE(session.refs().names().tags.empty());
  EXPECT_TRUE(first<Amended>(session.apply(Amend{"late", {Checkout{{0}}}, {1}}))->refused.has_value());
  EXPECT_FALSE(first<Amended>(session.apply(Amend{"r3", {Checkout{{0}}}, session.last(), session.amended()}))
                   ->refused.has_value());
  EXPECT_TRUE(session.view().empty());
}

TEST_F(TimeTravel, OldCommitsGoButNotWhatANameOrAnotherCommitHolds) {
  session = fresh({.cells = 3});
  run({.changed = {variable({"stays"}, "s"), variable({"goes"}, "first")}});
  run({.changed = {variable({"goes"}, "second")}}, {});
  session.apply(Amend{"", {checkpoint::MakeTag{"kept", {2}}}, session.last(), session.amended()});
  for (int i = 0; i < 10; ++i) run({.changed = {variable({"goes"}, std::to_string(i))}});
  EXPECT_EQ(session.tree().nodes().size(), 3U);
  EXPECT_EQ(session.value_bytes(), 1U + std::string("second").size() + 2U);
  EXPECT_EQ(text("stays"), "s");
  run({}, {Checkout{{2}}});
  EXPECT_EQ(text("goes"), "second");
  EXPECT_EQ(text("stays"), "s");
}

TEST_F(TimeTravel, OldCommitsGoWhenTheirValuesAreTooLarge) {
  session = fresh({.values = 1000});
  for (int i = 0; i < 20; ++i)
    run({.changed = {variable({"a"}, std::string(300, static_cast<char>('a' + i)))}});
  EXPECT_EQ(session.value_bytes(), 900U);
}

TEST_F(TimeTravel, OldValuesLeaveTheMemoryInTheSameWayEverywhere) {
  const Keep keep{.inline_values = 1000};
  session = fresh(keep);
  std::set<Digest> chunks;
  for (int i = 0; i < 40; ++i) {
    const auto events = run({.changed = {variable({"a"}, std::string(100, static_cast<char>('0' + i)))},
                             .deleted = {},
                             .failed = {}});
    if (const auto* moved = first<ValuesMoved>(events)) {
      for (const Blob& bytes : moved->spilled) chunks.insert(digest_of(bytes.view()));
      for (const Digest& digest : moved->wanted) EXPECT_TRUE(chunks.contains(digest));
    }
    if (i == 17) session = *Session::restore(session.snapshot());
  }
  EXPECT_FALSE(chunks.empty());
  EXPECT_EQ(session.chunks().size(), chunks.size());
  EXPECT_LE(session.snapshot().size(), 40'000U);
  EXPECT_TRUE(session.co_variable(session.view().at("a")).blocks.front().bytes.has_value());
  Session other = *Session::restore(session.snapshot());
  EXPECT_EQ(other.chunks(), session.chunks());
  EXPECT_EQ(other.value_bytes(), session.value_bytes());
}

TEST(Snapshot, RestoresTheWholeState) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  session.apply(commit("c1", session.epoch(), {.changed = {variable({"a"}, "1")}}));
  session.apply(lead("c2", kB));
  const auto back = Session::restore(session.snapshot());
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->snapshot(), session.snapshot());
  EXPECT_EQ(back->running()->execution, ExecutionId{"c2"});
  EXPECT_FALSE(Session::restore(Blob("junk")).has_value());
}

TEST(Suspension, LastsUntilItIsResumedOrACellComes) {
  Session session = fresh();
  session.apply(amend(session, checkpoint::Suspend{true}));
  EXPECT_TRUE(session.suspended());
  EXPECT_TRUE(Session::restore(session.snapshot())->suspended());
  session.apply(amend(session, checkpoint::Suspend{false}));
  EXPECT_FALSE(session.suspended());
  session.apply(amend(session, checkpoint::Suspend{true}));
  session.apply(lead("c1", kA));
  EXPECT_FALSE(session.suspended());
  EXPECT_TRUE(first<Amended>(session.apply(amend(session, checkpoint::Suspend{true})))->refused)
      << "a cell runs";
  session.apply(commit("c1", session.epoch()));
  session.apply(amend(session, checkpoint::Suspend{true}));
  session.apply(Clear{1});
  EXPECT_FALSE(session.suspended());
}

TEST(HandOver, OpensANewEpochForTheOtherReplica) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  EXPECT_TRUE(first<Amended>(session.apply(amend(session, checkpoint::HandOver{kB})))->refused)
      << "a cell runs";
  EXPECT_EQ(session.executor(), kA);
  session.apply(commit("c1", session.epoch()));
  const Epoch epoch = session.epoch();
  const auto events = session.apply(amend(session, checkpoint::HandOver{kB}));
  ASSERT_NE(first<LeadTaken>(events), nullptr);
  EXPECT_EQ(first<LeadTaken>(events)->from, kA);
  EXPECT_EQ(session.executor(), kB);
  EXPECT_GT(session.epoch(), epoch);
  session.apply(amend(session, checkpoint::HandOver{{9}}));
  EXPECT_EQ(session.executor(), kB) << "a stranger does not lead";
}

TEST(Aborts, ACellThatHasNotStartedEndsAndNoBidForItWins) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  session.apply(commit("c1", session.epoch(), {.changed = {variable({"a"}, "1")}}));
  const Epoch epoch = session.epoch();
  const CommitId head = session.refs().head();
  auto aborts = std::get<Propose>(lead("c2", kB));
  aborts.aborts = true;
  const auto events = session.apply(aborts);
  EXPECT_EQ(first<Started>(events), nullptr);
  ASSERT_NE(first<CellEnded>(events), nullptr);
  EXPECT_EQ(session.find({"c2"})->status, Status::kAborted);
  EXPECT_EQ(session.executor(), kA);
  EXPECT_EQ(session.epoch(), epoch);
  EXPECT_EQ(session.refs().head(), head) << "it is no commit";
  EXPECT_NE(first<BidLost>(session.apply(lead("c2", kA))), nullptr);
  EXPECT_FALSE(session.running());
}

TEST(Aborts, ACellThatRunsOrHasEndedIsNotAborted) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  auto aborts = std::get<Propose>(lead("c1", kB));
  aborts.aborts = true;
  EXPECT_NE(first<BidLost>(session.apply(aborts)), nullptr);
  ASSERT_TRUE(session.running());
  session.apply(commit("c1", session.epoch(), {}));
  EXPECT_NE(first<BidLost>(session.apply(aborts)), nullptr);
  EXPECT_EQ(session.find({"c1"})->status, Status::kOk);
}

TEST(Members, AReplicaThatJoinedMayLead) {
  Session session = fresh();
  session.apply(SetMembers{{{kA, {"h1"}}, {kB, {"h2"}}, {{4}, {"h4"}}}});
  EXPECT_NE(first<Started>(session.apply(lead("c1", {4}))), nullptr);
}

}  // namespace
}  // namespace banyan::session
