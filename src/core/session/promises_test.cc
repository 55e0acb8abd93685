// Who runs a cell, and whose commit counts (P2 to P4).

#include <gtest/gtest.h>

#include "core/session/test_session.h"

namespace banyan::session {
namespace {

Command bid(const std::string& cell, ReplicaId who, std::uint64_t restarts, Incarnation life = {1}) {
  return Propose{.execution = {cell}, .replica = who, .life = life, .restarts = restarts};
}

TEST(Bids, OfAnotherLifeOfTheExecutorAreLost) {
  Session session = fresh();
  session.apply(bid("c1", kA, 0, {1}));
  EXPECT_TRUE(session.apply(bid("c1", kA, 0, {1})).empty());
  const auto events = session.apply(bid("c1", kA, 0, {2}));
  ASSERT_NE(first<BidLost>(events), nullptr) << "the former life may have run the cell";
  EXPECT_EQ(session.running()->life, Incarnation{1});
}

TEST(Bids, ForAnotherCellAreLostWhileOneRuns) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  const auto events = session.apply(lead("c2", kA));
  ASSERT_EQ(events.size(), 1U);
  ASSERT_NE(first<BidLost>(events), nullptr);
  EXPECT_EQ(first<BidLost>(events)->execution, ExecutionId{"c2"});
  EXPECT_EQ(session.running()->execution, ExecutionId{"c1"});
}

TEST(Bids, OfAReplicaThatIsNoMemberAreLost) {
  Session session = fresh();
  EXPECT_NE(first<BidLost>(session.apply(lead("c1", {9}))), nullptr);
  EXPECT_TRUE(session.apply(yield("c1", {9})).empty());
}

TEST(Bids, ThatYieldLoseNothing) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  EXPECT_TRUE(session.apply(yield("c1", kB)).empty());
  EXPECT_TRUE(session.apply(yield("c2", kB)).empty());
}

TEST(Bids, ForACellFromBeforeARestartAreLost) {
  Session session = fresh();
  session.apply(Clear{3});
  for (const std::uint64_t restarts : {0, 2}) {
    EXPECT_NE(first<BidLost>(session.apply(bid("c1", kA, restarts))), nullptr) << restarts;
    EXPECT_FALSE(session.running());
  }
  EXPECT_NE(first<Started>(session.apply(bid("c1", kA, 3))), nullptr);
}

TEST(Yields, CountOnceForEachMember) {
  Session session = fresh();
  session.apply(yield("c1", kA));
  session.apply(yield("c1", kA));
  EXPECT_TRUE(session.apply(yield("c1", kA)).empty());
  EXPECT_TRUE(session.apply(yield("c2", kB)).empty()) << "it is another cell";
  EXPECT_TRUE(session.apply(yield("c1", kB)).empty());
  const auto events = session.apply(yield("c1", kC));
  ASSERT_NE(first<AllYielded>(events), nullptr);
  EXPECT_EQ(first<AllYielded>(events)->execution, ExecutionId{"c1"});
}

TEST(Yields, OfOneRoundDoNotCountInTheNext) {
  Session session = fresh();
  for (const ReplicaId who : {kA, kB, kC}) session.apply(yield("c1", who));
  for (const ReplicaId who : {kA, kB}) EXPECT_TRUE(session.apply(yield("c1", who)).empty());
  EXPECT_NE(first<AllYielded>(session.apply(yield("c1", kC))), nullptr);
}

TEST(Yields, AreForgottenWhenAnotherCellStarts) {
  Session session = fresh();
  for (const ReplicaId who : {kA, kB}) session.apply(yield("c2", who));
  run(session, "c1");
  EXPECT_TRUE(session.apply(yield("c2", kC)).empty());
}

TEST(Yields, AreForgottenWhenTheSessionIsRestarted) {
  Session session = fresh();
  for (const ReplicaId who : {kA, kB}) session.apply(yield("c1", who));
  session.apply(Clear{1});
  EXPECT_TRUE(
      session
          .apply(Propose{.execution = {"c1"}, .replica = kC, .bid = Bid::kYield, .code = {}, .restarts = 1})
          .empty());
}

TEST(Yields, LeaveNothingBehindWhenTheCellIsAborted) {
  Session quiet = fresh(), session = fresh();
  for (const ReplicaId who : {kA, kB}) session.apply(yield("c1", who));
  session.apply(abort("c1", kA));
  quiet.apply(abort("c1", kA));
  EXPECT_EQ(session.snapshot(), quiet.snapshot());
}

TEST(Epochs, OnlyTheExecutorsOwnCellKeepsIts) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  EXPECT_EQ(session.epoch(), Epoch{1});
  EXPECT_EQ(session.running()->epoch, Epoch{1});
  EXPECT_EQ(session.running()->executor, kA);
  session.apply(commit("c1", {1}));
  session.apply(lead("c2", kB));
  EXPECT_EQ(session.epoch(), Epoch{2});
  const auto refused = session.apply(commit("c2", {1}));
  ASSERT_NE(first<CommitRefused>(refused), nullptr) << "it is not of the epoch in which the cell runs";
  EXPECT_EQ(first<CommitRefused>(refused)->epoch, Epoch{1});
  EXPECT_NE(first<CommitRefused>(session.apply(commit("c3", {2}))), nullptr) << "that cell does not run";
  ASSERT_TRUE(session.running());
  EXPECT_NE(first<CellEnded>(session.apply(commit("c2", {2}))), nullptr);
  EXPECT_NE(first<CommitRefused>(session.apply(commit("c2", {2}))), nullptr) << "it has ended";
}

TEST(Epochs, EndWhenTheLeadIsTakenAwayAlsoWhereNoCellRuns) {
  Session session = fresh();
  run(session, "c1");
  const auto events = session.apply(TakeOver{session.epoch(), "silent"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(first<LeadTaken>(events)->from, kA);
  EXPECT_FALSE(first<LeadTaken>(events)->was_running);
  EXPECT_EQ(session.executor(), ReplicaId{});
  EXPECT_EQ(session.epoch(), Epoch{2});
  session.apply(lead("c2", kA));
  EXPECT_EQ(session.epoch(), Epoch{3}) << "the former executor begins anew";
}

TEST(Epochs, EndWithARestart) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  const auto events = session.apply(Clear{1});
  EXPECT_EQ(first<LeadTaken>(events)->from, kA);
  EXPECT_TRUE(first<LeadTaken>(events)->was_running);
  EXPECT_EQ(session.find({"c1"})->status, Status::kLost);
  EXPECT_EQ(session.find({"c1"})->reason, "the kernel was restarted while the cell ran");
  EXPECT_NE(first<CommitRefused>(session.apply(commit("c1", {1}))), nullptr);
  const auto again = session.apply(Clear{2});
  EXPECT_EQ(first<LeadTaken>(again)->from, ReplicaId{});
  EXPECT_FALSE(first<LeadTaken>(again)->was_running) << "no cell was lost by this one";
}

TEST(Epochs, GoOnAfterAHandOver) {
  Session session = fresh();
  run(session, "c1");
  const auto events = session.apply(amend(session, checkpoint::HandOver{kB}));
  EXPECT_FALSE(first<LeadTaken>(events)->was_running);
  EXPECT_EQ(session.epoch(), Epoch{2});
  EXPECT_EQ(first<LeadTaken>(session.apply(amend(session, checkpoint::HandOver{kB}))), nullptr)
      << "it leads already";
  EXPECT_EQ(session.epoch(), Epoch{2});
  EXPECT_EQ(first<LeadTaken>(session.apply(amend(session, checkpoint::HandOver{{9}}))), nullptr);
}

TEST(Endings, KeepWhatTheBidAndTheCommitHaveSaid) {
  Session session = fresh();
  session.apply(Propose{.execution = {"c1"},
                        .replica = kB,
                        .code = "print(1)",
                        .parent_header = "header",
                        .cell_id = "cell",
                        .life = {5}});
  EXPECT_EQ(session.running()->code, "print(1)");
  EXPECT_EQ(session.running()->parent_header, "header");
  EXPECT_EQ(session.running()->cell_id, "cell");
  EXPECT_EQ(session.running()->life, Incarnation{5});
  jupyter::Message output;
  output.content = Blob(std::string("1"));
  const auto events = session.apply(Commit{.execution = {"c1"},
                                           .epoch = session.epoch(),
                                           .status = Status::kError,
                                           .reply = "reply",
                                           .reply_metadata = "metadata",
                                           .outputs = {output},
                                           .outputs_total = 7,
                                           .execution_count = 3,
                                           .runtime_us = 11,
                                           .delta = {.changed = {variable({"a"}, "1")},
                                                     .failed = {"f"},
                                                     .footprint = {.reads = {"x"}, .work = {"thread w"}}},
                                           .ended_at_us = 13,
                                           .asked_history = true});
  EXPECT_EQ(first<CellEnded>(events)->execution, ExecutionId{"c1"});
  EXPECT_EQ(first<CellEnded>(events)->executor, kB);
  EXPECT_EQ(first<CellEnded>(events)->status, Status::kError);
  const Ended& cell = *session.find({"c1"});
  EXPECT_EQ(cell.commit, session.last());
  EXPECT_EQ(cell.parent, CommitId{0});
  EXPECT_EQ(cell.execution, ExecutionId{"c1"});
  EXPECT_EQ(cell.epoch, session.epoch());
  EXPECT_EQ(cell.status, Status::kError);
  EXPECT_EQ(cell.code, "print(1)");
  EXPECT_EQ(cell.parent_header, "header");
  EXPECT_EQ(cell.cell_id, "cell");
  EXPECT_EQ(cell.reply, "reply");
  EXPECT_EQ(cell.reply_metadata, "metadata");
  EXPECT_EQ(cell.outputs, (std::vector{output}));
  EXPECT_EQ(cell.outputs_total, 7U);
  EXPECT_EQ(cell.execution_count, 3U);
  EXPECT_EQ(cell.runtime_us, 11);
  EXPECT_EQ(cell.failed, std::vector<std::string>{"f"});
  EXPECT_EQ(cell.ended_at_us, 13);
  EXPECT_EQ(cell.footprint.reads, std::vector<std::string>{"x"});
  EXPECT_TRUE(cell.asked_history);
  EXPECT_FALSE(cell.may_repeat);
  EXPECT_EQ(session.work(), std::vector<std::string>{"thread w"});
  EXPECT_EQ(session.execution_count(), 3U);
  EXPECT_FALSE(session.running());
}

TEST(Endings, TheCountOfCellsNeverGoesBack) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  session.apply(Commit{.execution = {"c1"}, .epoch = session.epoch(), .execution_count = 5});
  run(session, "c2");
  EXPECT_EQ(session.execution_count(), 5U) << "a silent cell says the number of another one";
}

TEST(Endings, ALostCellHasItsReasonAndItsCommit) {
  Session session = fresh();
  run(session, "c1", {.changed = {variable({"a"}, "1")}});
  session.apply(lead("c2", kB));
  const auto events = session.apply(TakeOver{session.epoch(), "its host is silent"});
  EXPECT_EQ(first<CellEnded>(events)->executor, kB);
  EXPECT_EQ(session.find({"c2"})->reason, "its host is silent");
  EXPECT_EQ(session.find({"c2"})->parent, CommitId{1});
  EXPECT_TRUE(session.tree().contains({2})) << "people see it in the log";
  EXPECT_EQ(session.refs().head(), CommitId{2});
  EXPECT_FALSE(session.running());
}

TEST(Endings, AnAbortedCellIsToldWithItsRequest) {
  Session session = fresh();
  session.apply(Propose{.execution = {"c1"},
                        .replica = kB,
                        .code = "x",
                        .parent_header = "header",
                        .cell_id = "cell",
                        .aborts = true});
  const Ended& cell = *session.find({"c1"});
  EXPECT_EQ(cell.code, "x");
  EXPECT_EQ(cell.parent_header, "header");
  EXPECT_EQ(cell.cell_id, "cell");
  EXPECT_FALSE(session.tree().contains(cell.commit));
}

TEST(Restarts, BeginAnewOnTopOfWhatThereWas) {
  Session session = fresh();
  run(session, "c1", {.changed = {variable({"a"}, "1")}, .footprint = {.work = {"thread w"}}});
  session.apply(amend(session, checkpoint::Suspend{true}));
  const auto events = session.apply(Clear{7});
  EXPECT_EQ(first<Cleared>(events)->request, 7U);
  EXPECT_EQ(session.last_clear(), 7U);
  EXPECT_EQ(session.last(), CommitId{2});
  EXPECT_EQ(session.cleared(), CommitId{2});
  EXPECT_EQ(session.refs().head(), CommitId{2});
  EXPECT_EQ(session.tree().parent({2}), CommitId{1});
  EXPECT_TRUE(session.work().empty()) << "its process has ended";
  EXPECT_FALSE(session.suspended());
  EXPECT_TRUE(session.apply(Clear{6}).empty()) << "a later one came first";
  EXPECT_EQ(session.last_clear(), 7U);
}

TEST(Names, OfAStatusAreThoseOfTheProtocol) {
  EXPECT_EQ(name_of(Status::kOk), "ok");
  EXPECT_EQ(name_of(Status::kError), "error");
  EXPECT_EQ(name_of(Status::kAborted), "aborted");
  EXPECT_EQ(name_of(Status::kLost), "lost");
}

TEST(Members, ThatChangeAreTold) {
  Session session = fresh();
  EXPECT_NE(first<MembersChanged>(session.apply(SetMembers{{{kB, {"h2"}}}})), nullptr);
  EXPECT_NE(first<BidLost>(session.apply(lead("c1", kA))), nullptr) << "it is no member any more";
  EXPECT_NE(first<AllYielded>(session.apply(yield("c1", kB))), nullptr) << "it is alone";
}

}  // namespace
}  // namespace banyan::session
