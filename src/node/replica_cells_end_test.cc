// How a cell ends on its replica.

#include <gmock/gmock.h>

#include <algorithm>

#include "node/replica_cells.h"
#include "node/test_replica.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CellsEnd : public TestReplica {
 protected:
  std::vector<std::string> ends_told() {
    std::vector<std::string> ends;
    for (const ExecutionEnded& one : told<ExecutionEnded>())
      ends.push_back(one.execution.value + " " + std::string(name_of(one.status)));
    return ends;
  }
  std::vector<std::string> commits() {
    std::vector<std::string> commits;
    for (const session::Commit& one : proposed<session::Commit>())
      commits.push_back(one.execution.value + " " + std::string(name_of(one.status)));
    return commits;
  }
  std::size_t stops(Stop how) {
    const auto all = done<StopWorker>();
    return static_cast<std::size_t>(std::ranges::count(all, how, &StopWorker::how));
  }
  void exit(const std::string& reason = "killed by signal 9") {
    cells_.on_exited({.worker = *worker_.id(), .reason = reason});
  }
  /// Three workers in a row end before they are ready.
  void fail_to_start() {
    for (int n = 0; n < 3; ++n) {
      worker_.launch(true);
      exit("no module");
      advance(10s);
    }
    ASSERT_TRUE(worker_.fails_to_start());
  }
  void run_to_end(const std::string& cell) {
    run(cell);
    report(cell);
    idle(cell);
    ends(cell);
  }
};

// ---- by its report

TEST_F(CellsEnd, ACellIsCommittedAndThenAnswered) {
  ready();
  run("c");
  print("c", "hello");
  report("c", value("x"));
  EXPECT_THAT(commits(), IsEmpty()) << "outputs may still come";
  idle("c");
  EXPECT_THAT(commits(), ElementsAre("c ok"));
  EXPECT_THAT(ends_told(), IsEmpty()) << "a reply never comes before its commit";
  ends("c", value("x"));
  const auto ended = told<ExecutionEnded>();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].status, session::Status::kOk);
  EXPECT_EQ(cells_.cell(), nullptr);
  EXPECT_TRUE(cells_.is_worker_at_head()) << "it made x itself";
  EXPECT_EQ(stops(Stop::kKill), 0U);
}

TEST_F(CellsEnd, AGatewayThatDoesNotKnowOfTheCellIsNotAnswered) {
  ready();
  run("c");
  cells_.on_gateway_restarted();
  report("c");
  idle("c");
  ends("c");
  EXPECT_THAT(ends_told(), IsEmpty());
}

TEST_F(CellsEnd, ItsUserCodeNeedsNoLeaseOnceItHasReported) {
  ready();
  run("c");
  (void)done<SetLease>();
  report("c");
  const auto leases = done<SetLease>();
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_FALSE(leases[0].deadline.has_value());
}

TEST_F(CellsEnd, AReportOfACellThatDoesNotRunHereShowsThatTheWorkerIsAstray) {
  ready();
  report("z");
  EXPECT_TRUE(worker_.has_diverged());
}

TEST_F(CellsEnd, AReportBeforeTheCellMayGoShowsThatTheWorkerIsAstray) {
  ready();
  cells_.execute(order("c"));
  starts("c");
  report("c");
  EXPECT_TRUE(worker_.has_diverged());
  EXPECT_FALSE(cells_.cell()->ending.has_reported());
}

TEST_F(CellsEnd, AReportOfAnotherCellIsNotThatOfTheOneThatGoes) {
  ready();
  run("c");
  report("z");
  EXPECT_TRUE(worker_.has_diverged());
  EXPECT_FALSE(cells_.cell()->ending.has_reported());
}

TEST_F(CellsEnd, ACommitThatDoesNotShowInTheLogIsProposedAgain) {
  ready();
  run("c");
  report("c");
  idle("c");
  EXPECT_THAT(commits(), SizeIs(1));
  advance(1s);
  cells_.tick();
  EXPECT_THAT(commits(), SizeIs(1));
  cells_.cell()->on_new_leader(*core_.session);
  EXPECT_THAT(commits(), SizeIs(1)) << "at once";
}

TEST_F(CellsEnd, ItsUserCodeRunsByItsLease) {
  ready();
  (void)done<SetLease>();
  run("c");
  const auto leases = done<SetLease>();
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0].worker, worker_.id());
  EXPECT_EQ(leases[0].deadline, lease_.until());
}

// ---- without its worker

TEST_F(CellsEnd, ACellWhoseUserCodeRanEndsWithAnErrorWhenItsWorkerDies) {
  ready();
  run("c");
  exit();
  EXPECT_THAT(commits(), ElementsAre("c error"));
  EXPECT_THAT(done<LaunchWorker>(), SizeIs(2)) << "the next one comes at once";
}

TEST_F(CellsEnd, OneThatHasNotBeenTouchedGoesToTheNextWorker) {
  ready();
  cells_.execute(order("c"));
  starts("c");
  ASSERT_TRUE(cells_.cell()->is_forwarded());
  exit();
  EXPECT_THAT(commits(), IsEmpty());
  ASSERT_NE(cells_.cell(), nullptr);
  EXPECT_FALSE(cells_.cell()->is_forwarded());
  (void)done<ToWorker>();
  ready();
  EXPECT_THAT(done<ToWorker>(), SizeIs(1));
}

TEST_F(CellsEnd, OneThatHasPrintedDoesNotRunAgain) {
  ready();
  cells_.execute(order("c"));
  starts("c");
  print("c", "hello");
  exit();
  EXPECT_THAT(commits(), ElementsAre("c error"));
}

TEST_F(CellsEnd, OneThatHasNotStartedStaysWhateverItsWorkerSaid) {
  ready();
  run_to_end("a");
  (void)commits();
  cells_.execute(order("c"));
  print("c", "early");
  exit();
  ASSERT_NE(cells_.cell(), nullptr);
  EXPECT_THAT(commits(), IsEmpty());
  EXPECT_EQ(cells_.cell()->outputs.log().total(), 0U) << "that is void";
}

TEST_F(CellsEnd, WhatAWorkerThatDiedSaidOfItsEndIsVoid) {
  ready();
  run_to_end("a");
  (void)commits();
  cells_.execute(order("c"));
  idle("c");
  cells_.on_message({*worker_.id(), message(jupyter::Channel::kShell, "execute_reply", "c")});
  exit();
  starts("c");
  EXPECT_THAT(commits(), IsEmpty()) << "it has not run";
}

TEST_F(CellsEnd, OneThatHasItsCommitLosesNothingByADeath) {
  ready();
  run("c");
  report("c");
  idle("c");
  (void)commits();
  exit();
  EXPECT_THAT(commits(), IsEmpty());
  ends("c");
  EXPECT_THAT(ends_told(), ElementsAre("c ok"));
}

TEST_F(CellsEnd, WhereNoWorkerStartsItEndsWithAnError) {
  fail_to_start();
  cells_.execute(order("c"));
  if (worker_.exists()) exit("no module");
  starts("c");
  EXPECT_THAT(commits(), ElementsAre("c error"));
  const auto outputs = told<FromKernel>();
  ASSERT_FALSE(outputs.empty());
  EXPECT_THAT(std::string(outputs.back().message.content.view()), HasSubstr("cannot start: no module"));
}

TEST_F(CellsEnd, ACellThatWaitsForAWorkerThatFailsToStartEndsWithAnError) {
  cells_.execute(order("c"));
  starts("c");
  EXPECT_THAT(commits(), IsEmpty());
  for (int n = 0; n < 3; ++n) {
    if (!worker_.exists()) worker_.launch(true);
    exit("no module");
    EXPECT_THAT(commits(), SizeIs(n == 2 ? 1 : 0));
    advance(10s);
  }
}

TEST_F(CellsEnd, ItsDevicesStayBoundUntilAProcessThatUsesThemIsGone) {
  host_.devices().set({{.id = {"0"}}});
  const WorkerId worker = ready();
  Execute large = order("c");
  large.gpus = 1;
  cells_.execute(large);
  starts("c");
  cells_.on_fenced({.worker = worker, .execution = {"c"}});
  ASSERT_TRUE(cells_.cell()->is_going());
  taken_over();
  EXPECT_EQ(cells_.cell(), nullptr);
  EXPECT_EQ(stops(Stop::kKill), 1U);
  EXPECT_FALSE(host_.devices().bind({.session = {"another"}, .gpus = 1}).has_value());
  host_.devices().on_exited(worker);
  EXPECT_TRUE(host_.devices().bind({.session = {"another"}, .gpus = 1}).has_value());
}

// ---- by the log

TEST_F(CellsEnd, ACellThatIsLostEndsTheWorkerThatRanIt) {
  ready();
  run("c");
  taken_over();
  EXPECT_THAT(ends_told(), ElementsAre("c lost"));
  EXPECT_EQ(stops(Stop::kKill), 1U);
}

TEST_F(CellsEnd, ACellThatIsLostBeforeItWentIsRefusedToItsWorker) {
  ready();
  cells_.execute(order("c"));
  starts("c");
  ASSERT_TRUE(cells_.cell()->is_forwarded());
  taken_over();
  EXPECT_THAT(ends_told(), ElementsAre("c lost"));
  EXPECT_EQ(cells_.cell(), nullptr);
  EXPECT_EQ(stops(Stop::kKill), 1U) << "what it did with it is not known";
}

TEST_F(CellsEnd, OfACellElsewhereOnlyTheLossIsTold) {
  starts("c", kOther);
  ends("c");
  EXPECT_THAT(ends_told(), IsEmpty()) << "its own replica says it";
  starts("d", kOther);
  taken_over();
  EXPECT_THAT(ends_told(), ElementsAre("d lost")) << "nobody else can";
}

TEST_F(CellsEnd, ACellThatWasCommittedByItsLogWithoutItsReportLeavesAWorkerAstray) {
  ready();
  run("c");
  ends("c");
  EXPECT_EQ(stops(Stop::kKill), 1U) << "its user code still runs";
}

TEST_F(CellsEnd, ARestartEndsWhatWasAcceptedBefore) {
  ready();
  run_to_end("a");
  (void)ends_told();
  cells_.execute(order("c"));
  cells_.execute(order("d"));
  beside_.keep(message(jupyter::Channel::kShell, "complete_request", "q"));
  says(session::Clear{4});
  EXPECT_THAT(ends_told(), ElementsAre("c aborted", "d aborted"));
  EXPECT_TRUE(cells_.none());
  EXPECT_FALSE(beside_.some_wait());
  EXPECT_EQ(stops(Stop::kKill), 1U);
  EXPECT_TRUE(worker_.exists()) << "a new one";
}

TEST_F(CellsEnd, ARestartForgivesWorkersThatDidNotStart) {
  fail_to_start();
  says(session::Clear{4});
  EXPECT_FALSE(worker_.fails_to_start());
}

TEST_F(CellsEnd, AStateThatHasItsEndAnswersIt) {
  ready();
  run("c");
  core_.session->apply(session::Commit{.execution = {"c"}, .epoch = core_.session->epoch(), .outputs = {}});
  EXPECT_FALSE(cells_.on_adopted().has_value());
  EXPECT_EQ(cells_.cell(), nullptr);
  EXPECT_THAT(ends_told(), ElementsAre("c ok"));
  EXPECT_EQ(stops(Stop::kKill), 1U) << "what it shows is in no log that was followed";
}

TEST_F(CellsEnd, AStateThatHasItsStartStartsIt) {
  EXPECT_FALSE(cells_.on_adopted().has_value()) << "there is no cell";
  cells_.execute(order("c"));
  EXPECT_FALSE(cells_.on_adopted().has_value()) << "nothing runs";
  core_.session->apply(session::Propose{.execution = {"c"}, .replica = kHere, .life = kLife});
  const auto started = cells_.on_adopted();
  ASSERT_TRUE(started.has_value());
  EXPECT_EQ(started->execution, ExecutionId{"c"});
  EXPECT_EQ(started->executor, kHere);
  EXPECT_EQ(started->epoch, core_.session->epoch());
  EXPECT_EQ(started->life, kLife);
  EXPECT_TRUE(cells_.on_started(*started));
  EXPECT_FALSE(cells_.on_adopted().has_value()) << "once";
}

TEST_F(CellsEnd, AStateInWhichAnotherCellRunsDoesNotStartIt) {
  cells_.execute(order("c"));
  core_.session->apply(session::Propose{.execution = {"b"}, .replica = kOther, .life = {2}});
  EXPECT_FALSE(cells_.on_adopted().has_value());
  EXPECT_NE(cells_.cell(), nullptr);
}

// ---- its lease

TEST_F(CellsEnd, TheLeaseOfRunningUserCodeIsRenewedByAReadOfTheLog) {
  ready();
  run("c");
  advance(600ms);
  const Time asked = host_.now().mono;
  cells_.tick();
  cells_.tick();
  (void)done<SetLease>();
  ASSERT_THAT(reads_, SizeIs(1)) << "one question at a time";
  advance(100ms);
  cells_.on_lease_read({reads_[0].context + 1, reads_[0].index});
  EXPECT_LT(*lease_.until(), asked + host_.timing().lease) << "that was another question";
  cells_.on_lease_read(reads_[0]);
  EXPECT_EQ(lease_.until(), asked + host_.timing().lease);
  const auto leases = done<SetLease>();
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0].deadline, lease_.until());
}

TEST_F(CellsEnd, AReadThatIsAheadOfWhatIsAppliedHereRenewsNothing) {
  ready();
  run("c");
  const auto before = lease_.until();
  advance(600ms);
  cells_.tick();
  (void)done<SetLease>();
  ASSERT_THAT(reads_, SizeIs(1));
  cells_.on_lease_read({reads_[0].context, {core_.log.applied().value + 1}});
  EXPECT_EQ(lease_.until(), before);
}

TEST_F(CellsEnd, AReadThatShowsALaterEpochRenewsNothing) {
  ready();
  run("c");
  const auto before = lease_.until();
  advance(600ms);
  cells_.tick();
  (void)done<SetLease>();
  ASSERT_THAT(reads_, SizeIs(1));
  core_.session->apply(session::TakeOver{core_.session->epoch(), "silent"});
  core_.session->apply(session::Propose{.execution = {"d"}, .replica = kOther, .life = {2}});
  cells_.on_lease_read(reads_[0]);
  EXPECT_EQ(lease_.until(), before);
}

TEST_F(CellsEnd, ACellThatWaitsForItsLeaseGoesWhenItIsRenewed) {
  ready();
  cells_.execute(order("c"));
  advance(1500ms);
  starts("c");
  cells_.on_fenced({.worker = *worker_.id(), .execution = {"c"}});
  EXPECT_FALSE(cells_.cell()->is_going()) << "little of it is left";
  settle();
  ASSERT_THAT(reads_, SizeIs(1));
  cells_.on_lease_read(reads_[0]);
  EXPECT_TRUE(cells_.cell()->is_going());
}

TEST_F(CellsEnd, UserCodeThatIsCutOffFromTheMajorityIsEnded) {
  ready();
  run("c");
  (void)done<StopWorker>();
  advance(host_.timing().lease - 1ms);
  core_.log.on_ticks(0);
  cells_.tick();
  EXPECT_EQ(stops(Stop::kKill), 0U);
  advance(1ms);
  cells_.tick();
  EXPECT_EQ(stops(Stop::kKill), 1U);
  EXPECT_THAT(commits(), ElementsAre("c error"));
  EXPECT_THAT(worker_.last_death(), HasSubstr("cut off"));
}

TEST_F(CellsEnd, ACellThatHasReportedNeedsNoLease) {
  ready();
  run("c");
  report("c");
  advance(host_.timing().lease + 1s);
  cells_.tick();
  EXPECT_EQ(stops(Stop::kKill), 0U);
}

TEST_F(CellsEnd, ACellThatHasNotGoneHasNoLeaseToOutlive) {
  ready();
  cells_.execute(order("c"));
  starts("c");
  advance(host_.timing().lease + 1s);
  cells_.tick();
  EXPECT_EQ(stops(Stop::kKill), 0U);
}

TEST_F(CellsEnd, AWorkerThatNeverHadTheCellIsNotAstrayWhenThatIsLost) {
  const WorkerId worker = ready();
  starts("b", kOther);
  ends("b", value("x"));
  cells_.execute(order("c"));
  starts("c");
  ASSERT_FALSE(cells_.cell()->is_forwarded()) << "the worker is to show x first";
  taken_over();
  EXPECT_THAT(ends_told(), ElementsAre("c lost"));
  EXPECT_EQ(stops(Stop::kKill), 0U);
  EXPECT_EQ(worker_.id(), worker);
  EXPECT_FALSE(worker_.has_diverged());
}

TEST_F(CellsEnd, AWorkerThatMayYetStartIsWaitedForHoweverManyDidNot) {
  fail_to_start();
  cells_.execute(order("c"));
  if (!worker_.exists()) worker_.launch(true);
  ASSERT_TRUE(worker_.fails_to_start());
  starts("c");
  EXPECT_THAT(commits(), IsEmpty());
  EXPECT_NE(cells_.cell(), nullptr);
}

TEST_F(CellsEnd, ACellThatHasNotGoneKeepsItsDevicesWhenItsWorkerIsReplaced) {
  host_.devices().set({{.id = {"0"}}});
  ready();
  run_to_end("a");
  Execute large = order("c");
  large.gpus = 1;
  cells_.execute(large);
  ASSERT_TRUE(cells_.cell()->is_forwarded());
  starts("b", kOther);
  ends("b", value("x"));
  starts("c");
  EXPECT_EQ(stops(Stop::kKill), 1U);
  ASSERT_NE(cells_.cell(), nullptr);
  EXPECT_THAT(cells_.cell()->devices(), ElementsAre(DeviceId{"0"}));
}

}  // namespace
}  // namespace banyan::node
