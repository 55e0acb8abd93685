#include "core/session/session.h"

#include <gtest/gtest.h>

namespace banyan::session {
namespace {

const ReplicaId kA{1}, kB{2}, kC{3};

Session fresh(Rounds rounds = Rounds::kFirstLead) {
  Spec spec;
  spec.kernel_name = "python3";
  spec.rounds = rounds;
  return Session(spec, {{kA, {"h1"}}, {kB, {"h2"}}, {kC, {"h3"}}});
}
Command lead(const std::string& cell, ReplicaId who) {
  return Propose{.execution = {cell}, .replica = who, .code = "x"};
}
Command yield(const std::string& cell, ReplicaId who) {
  return Propose{.execution = {cell}, .replica = who, .bid = Bid::kYield};
}
CoVariable variable(std::vector<std::string> names, const std::string& bytes) {
  return {std::move(names), {digest_of(bytes), bytes.size(), Blob(bytes)}, {}};
}
Command commit(const std::string& cell, Epoch epoch, Delta delta = {}) {
  return Commit{.execution = {cell}, .epoch = epoch, .execution_count = 1, .delta = std::move(delta)};
}
template <class T>
const T* first(const std::vector<Event>& events) {
  for (const auto& event : events) {
    if (const auto* found = std::get_if<T>(&event)) return found;
  }
  return nullptr;
}

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

TEST(Election, WithTheVoteRoundTheWinnerWaitsForAMajority) {
  Session session = fresh(Rounds::kWithVote);
  const auto bid = session.apply(lead("c1", kA));
  EXPECT_NE(first<VoteWanted>(bid), nullptr);
  EXPECT_EQ(first<Started>(bid), nullptr);
  EXPECT_NE(first<BidLost>(session.apply(lead("c1", kB))), nullptr);
  EXPECT_TRUE(session.apply(Vote{{"c1"}, kA, kA}).empty());
  EXPECT_TRUE(session.apply(Vote{{"c1"}, kA, kA}).empty()) << "a voter counts once";
  EXPECT_NE(first<Started>(session.apply(Vote{{"c1"}, kC, kA})), nullptr);
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
  EXPECT_EQ(session.co_variables().size(), 2U);
  EXPECT_NE(session.view().at("a"), session.view().at("b"));
  const checkpoint::Change step = checkpoint::difference(before, session.view());
  EXPECT_EQ(step.bound, (View{{"b", session.view().at("b")}}));
  EXPECT_EQ(step.unbound, std::set<std::string>{"c"});
  run("c3", {.changed = {}, .deleted = {}, .failed = {"a"}});
  EXPECT_FALSE(session.view().contains("a"))
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

TEST(Members, AVoteRoundCountsTheMembersOfToday) {
  Session session = fresh();
  session.apply(SetMembers{{{kA, {"h1"}}, {kB, {"h2"}}, {{4}, {"h4"}}}});
  EXPECT_NE(first<Started>(session.apply(lead("c1", {4}))), nullptr);
}

}  // namespace
}  // namespace banyan::session
