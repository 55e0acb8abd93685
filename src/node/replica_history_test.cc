#include "node/replica_history.h"

#include <gmock/gmock.h>

#include "node/test_replica.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HistoryOfReplica : public TestReplica {
 protected:
  void ask(const std::string& request, const std::string& question) {
    history_.ask({request, *session::read_question(question)});
  }
  /// A majority has confirmed the reads.
  void confirm() {
    settle();
    for (const raft::ReadState& read : std::exchange(reads_, {})) questions_.on_read(read);
    history_.answer_read();
  }
  /// "request", or "request refused", of what the gateway was told since the last call.
  std::vector<std::string> answers() {
    std::vector<std::string> answers;
    for (const SessionAnswer& one : told<SessionAnswer>()) {
      answers.push_back(one.request + (one.refused ? " refused" : ""));
      content_ = one.refused ? one.reason : one.content;
    }
    return answers;
  }
  /// What the worker was told since the last call.
  std::vector<std::string> worker_answers() {
    std::vector<std::string> answers;
    for (const AnswerWorker& one : done<AnswerWorker>())
      answers.push_back(one.answer ? *one.answer : "refused: " + one.answer.error().message);
    return answers;
  }
  void worker_asks(const std::string& question) { history_.on_asks({*worker_.id(), question}); }
  /// A cell here ends with a value.
  void make(const std::string& name) {
    run("of " + name);
    report("of " + name, value(name));
    idle("of " + name);
    ends("of " + name, value(name));
    (void)proposed<session::Commit>();
  }

  std::string content_;  ///< of the last answer, or why it was refused
};

// ---- from outside

TEST_F(HistoryOfReplica, AQuestionIsAnsweredOnceAMajorityConfirmsTheRead) {
  ask("q", R"({"do":"log"})");
  EXPECT_THAT(answers(), IsEmpty());
  EXPECT_FALSE(questions_.empty());
  confirm();
  EXPECT_THAT(answers(), ElementsAre("q"));
  EXPECT_THAT(content_, HasSubstr("commits"));
  EXPECT_TRUE(questions_.empty());
}

TEST_F(HistoryOfReplica, WithoutASessionAQuestionIsRefused) {
  core_.session.reset();
  ask("q", R"({"do":"log"})");
  EXPECT_THAT(answers(), ElementsAre("q refused"));
}

TEST_F(HistoryOfReplica, WhoIsToPrepareDoesSoWithoutAMajority) {
  ask("q", R"({"do":"prepare"})");
  EXPECT_THAT(answers(), ElementsAre("q"));
  EXPECT_TRUE(cells_.is_preparing());
}

TEST_F(HistoryOfReplica, AQuestionThatTheHistoryRefusesIsRefused) {
  ask("q", R"({"do":"show","at":"nowhere"})");
  confirm();
  EXPECT_THAT(answers(), ElementsAre("q refused"));
}

TEST_F(HistoryOfReplica, AChangeIsAnsweredWhenItIsCommitted) {
  starts("a", kOther);
  ends("a", value("x"));
  ask("q", R"({"do":"tag","name":"t"})");
  confirm();
  EXPECT_THAT(answers(), IsEmpty());
  auto amends = proposed<session::Amend>();
  ASSERT_EQ(amends.size(), 1U);
  EXPECT_EQ(amends[0].seen, core_.session->last());
  EXPECT_EQ(amends[0].amended, core_.session->amended());
  (void)host_.take_to_report();
  says(std::move(amends[0]));
  EXPECT_THAT(answers(), ElementsAre("q"));
  EXPECT_THAT(host_.take_to_report(), SizeIs(1));
}

TEST_F(HistoryOfReplica, AChangeIsRefusedWhileACellRuns) {
  starts("a", kOther);
  ask("q", R"({"do":"tag","name":"t"})");
  confirm();
  EXPECT_THAT(answers(), ElementsAre("q refused"));
  EXPECT_THAT(content_, HasSubstr("a cell runs"));
  ends("a", value("x"));
  cells_.execute(order("c"));
  ask("r", R"({"do":"tag","name":"t"})");
  confirm();
  EXPECT_THAT(answers(), ElementsAre("r refused")) << "one bids here";
  EXPECT_THAT(proposed<session::Amend>(), IsEmpty());
}

TEST_F(HistoryOfReplica, AReadThatIsLostIsSentAgain) {
  ask("q", R"({"do":"log"})");
  settle();
  reads_.clear();  // the answer is lost with its leader
  advance(499ms);
  history_.tick();
  settle();
  EXPECT_THAT(reads_, IsEmpty());
  advance(1ms);
  history_.tick();
  confirm();
  EXPECT_THAT(answers(), ElementsAre("q"));
}

TEST_F(HistoryOfReplica, ANewLeaderIsAskedAtOnce) {
  ask("q", R"({"do":"log"})");
  settle();
  reads_.clear();
  history_.on_new_leader();
  confirm();
  EXPECT_THAT(answers(), ElementsAre("q"));
}

TEST_F(HistoryOfReplica, WhatNobodyConfirmsIsGivenUp) {
  ask("q", R"({"do":"log"})");
  advance(10s);
  history_.tick();
  EXPECT_THAT(answers(), ElementsAre("q refused"));
}

TEST_F(HistoryOfReplica, TheCellsOfASessionIncludeTheOutputsOfTheOneThatRunsHere) {
  ready();
  run("c");
  print("c", "hello");
  ask("q", R"({"do":"cells","after":0})");
  confirm();
  EXPECT_THAT(answers(), ElementsAre("q"));
  EXPECT_THAT(content_, HasSubstr("hello"));
}

TEST_F(HistoryOfReplica, ACellThatOnlyBidsHereHasNoOutputs) {
  ready();
  make("x");
  cells_.execute(order("c"));
  ask("q", R"({"do":"cells","after":0})");
  confirm();
  EXPECT_THAT(answers(), ElementsAre("q"));
  EXPECT_THAT(content_, ::testing::Not(HasSubstr("running")));
}

TEST_F(HistoryOfReplica, AnExportIsAStateThatCanBeImported) {
  starts("a", kOther);
  ends("a", value("x"));
  ask("q", R"({"do":"export"})");
  confirm();
  EXPECT_THAT(answers(), ElementsAre("q"));
  EXPECT_TRUE(session::Session::restore(Blob(content_)).has_value());
}

// ---- what goes from the disk

TEST_F(HistoryOfReplica, WhatMovesHeadIsLookedAtByTheWorkerBefore) {
  ready();
  make("x");
  ask("q", R"({"do":"undo"})");
  confirm();
  EXPECT_THAT(proposed<session::Amend>(), IsEmpty());
  const auto asked = done<AskRemovals>();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_THAT(asked[0].names, ElementsAre("x"));
  history_.on_removes({*worker_.id(), "another", {}});
  EXPECT_THAT(proposed<session::Amend>(), IsEmpty());
  history_.on_removes({*worker_.id(), asked[0].request, {}});
  EXPECT_THAT(proposed<session::Amend>(), SizeIs(1));
}

TEST_F(HistoryOfReplica, ACellThatCameMeanwhileForbidsTheMove) {
  ready();
  make("x");
  ask("q", R"({"do":"undo"})");
  confirm();
  cells_.execute(order("c"));
  history_.on_removes({*worker_.id(), "q", {}});
  EXPECT_THAT(answers(), ElementsAre("q refused"));
  EXPECT_THAT(proposed<session::Amend>(), IsEmpty());
}

TEST_F(HistoryOfReplica, AWorkerThatDoesNotSayWhatGoesHoldsTheMoveBackUnlessItIsForced) {
  ready();
  make("x");
  ask("q", R"({"do":"undo"})");
  ask("r", R"({"do":"undo","force":true})");
  confirm();
  history_.tick();
  EXPECT_THAT(answers(), IsEmpty());
  advance(5s);
  history_.tick();
  EXPECT_THAT(answers(), ElementsAre("q refused"));
  const auto amends = proposed<session::Amend>();
  ASSERT_EQ(amends.size(), 1U);
  EXPECT_EQ(amends[0].request, "r");
}

TEST_F(HistoryOfReplica, WithoutAWorkerNobodyLooks) {
  starts("a", kOther);
  ends("a", value("x"));
  ask("q", R"({"do":"undo"})");
  confirm();
  EXPECT_THAT(done<AskRemovals>(), IsEmpty());
  EXPECT_THAT(proposed<session::Amend>(), SizeIs(1));
}

// ---- from user code

TEST_F(HistoryOfReplica, WhatACellAsksForTakesEffectWithItsCommit) {
  ready();
  make("x");
  run("c");
  worker_asks(R"({"do":"undo"})");
  EXPECT_THAT(worker_answers(), SizeIs(1));
  EXPECT_THAT(cells_.cell()->ending.actions(), ::testing::Not(IsEmpty()));
  EXPECT_THAT(proposed<session::Amend>(), IsEmpty());
  worker_asks(R"({"do":"undo"})");
  EXPECT_THAT(worker_answers(), ElementsAre(HasSubstr("refused"))) << "it sees that it went back already";
}

TEST_F(HistoryOfReplica, NonsenseIsRefused) {
  ready();
  worker_asks("nonsense");
  EXPECT_THAT(worker_answers(), ElementsAre(HasSubstr("refused")));
}

TEST_F(HistoryOfReplica, ACellAsksForSoMuchOnly) {
  ready();
  make("x");
  run("c");
  for (int n = 0; n < 500; ++n)
    for (const char* question : {R"({"do":"undo"})", R"({"do":"redo"})"}) worker_asks(question);
  for (const std::string& answer : worker_answers())
    EXPECT_THAT(answer, ::testing::Not(HasSubstr("refused")));
  worker_asks(R"({"do":"undo"})");
  EXPECT_THAT(worker_answers(), ElementsAre(HasSubstr("1000 times at most")));
}

TEST_F(HistoryOfReplica, BetweenCellsAWorkerAsksLikeAnybody) {
  ready();
  make("x");
  worker_asks(R"({"do":"tag","name":"t"})");
  EXPECT_THAT(worker_answers(), IsEmpty());
  confirm();
  auto amends = proposed<session::Amend>();
  ASSERT_EQ(amends.size(), 1U);
  says(std::move(amends[0]));
  EXPECT_THAT(worker_answers(), SizeIs(1));
}

TEST_F(HistoryOfReplica, AWorkerThatAsksItselfHasLookedAtWhatGoes) {
  ready();
  make("x");
  worker_asks(R"({"do":"undo"})");
  confirm();
  EXPECT_THAT(done<AskRemovals>(), IsEmpty());
  EXPECT_THAT(proposed<session::Amend>(), SizeIs(1));
}

TEST_F(HistoryOfReplica, AMoveToAnotherHostIsAskedOfTheGateway) {
  ready();
  make("x");
  worker_asks(R"({"do":"migrate","host":"h2"})");
  const auto asked = told<AskSession>();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_THAT(worker_answers(), IsEmpty());
  history_.on_gateway({.session = {"s"}, .request = asked[0].request, .content = R"({"host":"h2"})"});
  EXPECT_THAT(worker_answers(), ElementsAre(R"({"host":"h2"})"));
}

// ---- imports

TEST_F(HistoryOfReplica, AStateIsImportedByTheLog) {
  session::Session other({"other"}, {.kernel_name = "python3"}, {{kHere, {"h1"}}});
  history_.import({.session = {"s"}, .request = "q", .snapshot = other.snapshot()});
  EXPECT_THAT(answers(), IsEmpty());
  auto imports = proposed<session::Import>();
  ASSERT_EQ(imports.size(), 1U);
  sync_.held().add({"q"}, digest_of("x"));
  says(std::move(imports[0]));
  EXPECT_THAT(answers(), ElementsAre("q"));
  EXPECT_TRUE(sync_.at_rest()) << "its chunks are the session's now";
}

TEST_F(HistoryOfReplica, WhatIsNoStateIsRefusedBeforeTheLog) {
  history_.import({.session = {"s"}, .request = "q", .snapshot = Blob("nonsense")});
  EXPECT_THAT(answers(), ElementsAre("q refused"));
  EXPECT_THAT(proposed<session::Import>(), IsEmpty());
}

TEST_F(HistoryOfReplica, AStateWhoseChunksAreNotHereIsRefused) {
  session::Session other({"other"}, {.kernel_name = "python3"}, {{kHere, {"h1"}}});
  other.apply(session::Propose{.execution = {"a"}, .replica = kHere});
  session::Delta delta;
  delta.changed = {{.names = {"x"}, .blocks = {{digest_of("x"), 100'000, std::nullopt}}, .parts = {1}}};
  other.apply(
      session::Commit{.execution = {"a"}, .epoch = other.epoch(), .outputs = {}, .delta = std::move(delta)});
  history_.import({.session = {"s"}, .request = "q", .snapshot = other.snapshot()});
  EXPECT_THAT(answers(), ElementsAre("q refused"));
  EXPECT_THAT(content_, HasSubstr("was not sent before it"));
  history_.import({.session = {"s"},
                   .request = "r",
                   .snapshot = other.snapshot_from({.prefix = "p/", .sha256 = {{digest_of("x"), "y"}}})});
  EXPECT_THAT(answers(), ElementsAre("r refused"));
  EXPECT_THAT(content_, HasSubstr("this host has none"));
  chunks_.use(digest_of("x"));
  chunks_.put(digest_of("x"), Blob("x"));
  ASSERT_TRUE(chunks_.landed(digest_of("x")));
  history_.import({.session = {"s"}, .request = "t", .snapshot = other.snapshot()});
  EXPECT_THAT(proposed<session::Import>(), SizeIs(1));
}

TEST_F(HistoryOfReplica, WithoutASessionNothingIsImported) {
  const Blob state = core_.session->snapshot();
  core_.session.reset();
  history_.import({.session = {"s"}, .request = "q", .snapshot = state});
  EXPECT_THAT(answers(), ElementsAre("q refused"));
}

}  // namespace
}  // namespace banyan::node
