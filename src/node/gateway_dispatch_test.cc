// How a cell gets to a replica that runs it.

#include "node/gateway_dispatch.h"

#include <gmock/gmock.h>

#include "node/test_parts.h"

namespace banyan::node {
namespace {

class DispatchTest : public ::testing::Test, protected TestGround {
 protected:
  using TestGround::TestGround;

  void begin() {
    dispatch.begin(cell, false);
    decide();
  }
  /// Carries out what the scheduler has decided.
  void decide() {
    while (const auto decision = gateway.take_decision()) {
      const auto& made = std::get<schedule::CellDecision>(*decision);
      const auto* const refuse = std::get_if<schedule::RefuseCell>(&made.what);
      if (refuse == nullptr) {
        dispatch.on_decision(made);
      } else if (dispatch.answers(made)) {
        refused = refuse->reason;
      }
    }
  }
  void decline(const HostId& host, const std::string& reason = "no", bool busy = false) {
    dispatch.on_declined(host, {record.id, cell.execution, reason, busy});
    decide();
  }
  void tick(Duration time) {
    advance(time);
    dispatch.watch();
    gateway.tell(schedule::TimePassed{});
    decide();
  }
  [[nodiscard]] std::uint64_t booked() const {
    const cluster::Ledger& ledger = gateway.cluster().ledger();
    return ledger.cells_on(h1) + ledger.cells_on(h2) + ledger.cells_on(h3);
  }

  const Execute cell{.session = record.id, .execution = {"c"}, .request = {}, .lead = {}};
  Dispatch dispatch{gateway, record, members, reports, last};
  std::string refused;  ///< why the scheduler has refused the cell
};

TEST_F(DispatchTest, TheLastExecutorIsAskedFirst) {
  report_of(h1).executor = ReplicaId{2};
  begin();
  const auto asked = take<Execute>(h2);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].lead, ReplicaId{2});
  EXPECT_TRUE(dispatch.sent());
  EXPECT_EQ(dispatch.host(), h2);
  EXPECT_FALSE(dispatch.executor()) << "it has not shown that it runs the cell";
}

TEST_F(DispatchTest, WhereNothingHasRunWhoHasAllValuesAndAWorkerIsAsked) {
  for (const HostId& host : {h1, h2, h3}) report_of(host).executor = report_of(host).leader = {};
  report_of(h1).complete = false;
  report_of(h1).last = {1};
  report_of(h2).last = {1};
  report_of(h2).worker = WorkerState::kNone;
  report_of(h3).last = {1};
  begin();
  EXPECT_EQ(dispatch.host(), h3);
}

TEST_F(DispatchTest, WhoShowsHeadNeedsNoFurtherValues) {
  for (const HostId& host : {h1, h2, h3}) {
    report_of(host).executor = report_of(host).leader = {};
    report_of(host).last = {1};
    report_of(host).complete = false;
  }
  report_of(h2).shown = {1};
  begin();
  EXPECT_EQ(dispatch.host(), h2);
}

TEST_F(DispatchTest, AHostThatIsLostAfterTheChoiceIsNotAsked) {
  dispatch.begin(cell, false);
  const auto decision = gateway.take_decision();
  ASSERT_TRUE(decision.has_value());
  lose(h1);
  dispatch.on_decision(std::get<schedule::CellDecision>(*decision));
  EXPECT_TRUE(take<Execute>(h1).empty());
  decide();
  EXPECT_NE(dispatch.host(), h1);
  EXPECT_TRUE(dispatch.sent());
}

TEST_F(DispatchTest, AReplicaThatIsNoMemberAnyMoreAfterTheChoiceIsNotAsked) {
  dispatch.begin(cell, false);
  const auto decision = gateway.take_decision();
  ASSERT_TRUE(decision.has_value());
  record.committed.erase({1});
  record.members.erase({1});
  dispatch.on_decision(std::get<schedule::CellDecision>(*decision));
  EXPECT_TRUE(take<Execute>(h1).empty());
  decide();
  EXPECT_NE(dispatch.host(), h1);
}

TEST_F(DispatchTest, WhoDeclinesLateChangesNothingForWhoIsAskedSince) {
  begin();
  tick(3s);
  const auto now = dispatch.host();
  ASSERT_NE(now, h1);
  (void)take<Execute>(*now);
  decline(h1);
  EXPECT_EQ(dispatch.host(), now);
  EXPECT_TRUE(take<Execute>(*now).empty());
}

TEST_F(DispatchTest, AReportOfAnotherCellOrOfAStrangerNamesNoExecutor) {
  begin();
  report_of(h2).executor = {2};
  report_of(h2).running = ExecutionId{"another"};
  dispatch.on_report(report_of(h2));
  EXPECT_FALSE(dispatch.executor());
  report_of(h2).running = cell.execution;
  report_of(h2).executor = {9};
  dispatch.on_report(report_of(h2));
  EXPECT_FALSE(dispatch.executor());
}

TEST_F(DispatchTest, WhoRunsTheCellAndGoesSilentIsFollowedByAnotherOne) {
  begin();
  dispatch.on_output(h1, 4);
  dispatch.on_output(h1, 2);
  lose(h1);
  tick(3s);
  ASSERT_NE(dispatch.host(), h1);
  const auto asked = take<Execute>(*dispatch.host());
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].outputs_seen, 4U);
}

TEST_F(DispatchTest, WhoWasAskedAndGoesIsFollowedByAnotherOneAtOnce) {
  begin();
  lose(h1);
  dispatch.on_host_gone(h1);
  decide();
  EXPECT_NE(dispatch.host(), h1);
  EXPECT_EQ(take<Execute>(*dispatch.host()).size(), 1U);
  EXPECT_EQ(booked(), 1U);
}

TEST_F(DispatchTest, AHostThatWasNotAskedMayGo) {
  begin();
  dispatch.on_host_gone(h3);
  decide();
  EXPECT_EQ(dispatch.host(), h1);
}

TEST_F(DispatchTest, WhoShowsNoSignForThreeSecondsIsPassedOver) {
  begin();
  tick(2900ms);
  EXPECT_EQ(dispatch.host(), h1);
  tick(100ms);
  EXPECT_NE(dispatch.host(), h1);
}

TEST_F(DispatchTest, WhoRunsTheCellIsLeftAlone) {
  begin();
  dispatch.on_output(h1, 1);
  EXPECT_EQ(dispatch.executor(), h1);
  tick(1h);
  decline(h2);
  EXPECT_EQ(dispatch.host(), h1);
  EXPECT_EQ(take<Execute>(h1).size(), 1U);
}

TEST_F(DispatchTest, WhoDeclinesBecauseAnotherOneRunsTheCellChangesNothing) {
  begin();
  dispatch.on_output(h2, 1);
  decline(h1);
  EXPECT_EQ(dispatch.executor(), h2);
}

TEST_F(DispatchTest, WhoWasAskedAndReportsThatItRunsTheCellIsNotAskedAgain) {
  begin();
  ReplicaReport report = report_of(h1);
  report.running = ExecutionId{"c"};
  dispatch.on_report(report);
  EXPECT_EQ(dispatch.executor(), h1);
  EXPECT_EQ(take<Execute>(h1).size(), 1U);
}

TEST_F(DispatchTest, AnExecutorThatAnEarlierLifeHasAskedIsAskedForItsOutputs) {
  begin();
  take<Execute>(h2);
  dispatch.on_output(h1, 4);
  dispatch.on_host_gone(h1);  // its connection broke, and another one leads
  decide();
  take<Execute>(h2), take<Execute>(h3);
  dispatch.on_host_restarted(h3);
  ReplicaReport report = report_of(h2);
  report.running = ExecutionId{"c"};
  report.executor = ReplicaId{3};
  dispatch.on_report(report);
  EXPECT_EQ(dispatch.executor(), h3);
  const auto asked = take<Execute>(h3);
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked.back().outputs_seen, 4U) << "clients have them";
}

TEST_F(DispatchTest, WhenAllHaveDeclinedTheNextRoundWaitsLongerEachTime) {
  begin();
  Duration waited{};
  for (int round = 1; round < 5; ++round) {
    for (int host = 0; host < 3; ++host) {
      ASSERT_TRUE(dispatch.host()) << "round " << round;
      decline(*dispatch.host());
    }
    EXPECT_FALSE(dispatch.host()) << "nobody is asked between rounds";
    EXPECT_FALSE(dispatch.offered());
    EXPECT_EQ(booked(), 0U) << "it would count against the host that was asked last";
    Duration pause{};
    while (!dispatch.host()) {
      tick(10ms);
      pause += 10ms;
      ASSERT_LT(pause, 6s);
    }
    EXPECT_GT(pause, waited);
    waited = pause;
  }
  decline(*dispatch.host());
  decline(*dispatch.host());
  EXPECT_EQ(refused, "");
  decline(*dispatch.host(), "the last one's reason");
  EXPECT_EQ(refused, "the last one's reason") << "the fifth round is the last";
}

TEST_F(DispatchTest, WhileOneThatWasAskedMayStillStartTheCellItIsNotRefused) {
  begin();
  lose(h1);  // it was asked, and nobody knows what became of that
  dispatch.on_host_gone(h1);
  decide();
  for (int i = 0; i < 3000; ++i) {
    if (const auto host = dispatch.host()) decline(*host);
    tick(10ms);
  }
  EXPECT_EQ(refused, "");
  dispatch.on_host_restarted(h1);  // its new life knows nothing of the cell
  for (int i = 0; i < 3000 && refused.empty(); ++i) {
    if (const auto host = dispatch.host()) decline(*host);
    tick(10ms);
  }
  EXPECT_EQ(refused, "no");
  EXPECT_TRUE(dispatch.may_have_begun()) << "h1's earlier life may have begun it";
}

TEST_F(DispatchTest, AHostWhoseDevicesAreBusyIsNoReasonToRefuseTheCell) {
  begin();
  for (int i = 0; i < 3000; ++i) {
    if (const auto host = dispatch.host()) decline(*host, "busy", true);
    tick(10ms);
  }
  EXPECT_EQ(refused, "");
}

TEST_F(DispatchTest, ACellWaitsOnlyWhenNobodyCanBeginIt) {
  for (const HostId& host : {h1, h2, h3}) lose(host);
  begin();
  EXPECT_TRUE(dispatch.waits());
  for (const HostId& host : {h1, h2, h3}) find(host);
  tick(200ms);
  ASSERT_TRUE(dispatch.host());
  EXPECT_FALSE(dispatch.waits()) << "it was asked";
  const HostId asked = *dispatch.host();
  for (const HostId& host : {h1, h2, h3}) lose(host);
  dispatch.on_host_gone(asked);
  decide();
  EXPECT_FALSE(dispatch.waits()) << "it may begin";
  dispatch.on_host_restarted(asked);
  EXPECT_FALSE(dispatch.waits()) << "it may have begun";
}

TEST_F(DispatchTest, AnExecutorThatShowsItselfInAPauseIsFollowedByAnotherOneWhenItGoes) {
  begin();
  for (int host = 0; host < 3; ++host) decline(*dispatch.host());
  dispatch.on_output(h2, 1);
  tick(1s);
  EXPECT_EQ(dispatch.executor(), h2);
  dispatch.on_host_gone(h2);
  decide();
  ASSERT_TRUE(dispatch.host());
  EXPECT_NE(dispatch.host(), h2);
}

TEST_F(DispatchTest, TheLogIsAskedOfACellThatMayHaveBegunWhileNobodyIsAskedToRunIt) {
  begin();
  lose(h1);  // it was asked
  dispatch.on_host_gone(h1);
  decide();
  for (const HostId& host : {h2, h3}) take<Execute>(host);
  for (int host = 0; host < 2; ++host) decline(*dispatch.host());
  for (const HostId& host : {h2, h3}) {
    const auto asked = take<Execute>(host);
    ASSERT_FALSE(asked.empty()) << host.value;
    EXPECT_EQ(asked.back().lead, kNoLead);
  }
}

TEST_F(DispatchTest, TheLogIsNotAskedOfACellThatAllHaveDeclined) {
  begin();
  for (int host = 0; host < 3; ++host) decline(*dispatch.host());
  for (const HostId& host : {h1, h2, h3}) EXPECT_EQ(take<Execute>(host).size(), 1U) << host.value;
}

TEST_F(DispatchTest, OfACellThatWasNeverSentTheLogIsAskedOnlyIfAnEarlierLifeMayHaveSentIt) {
  for (const HostId& host : {h1, h2, h3}) lose(host);
  begin();
  EXPECT_FALSE(dispatch.offered());
  find(h1);
  tick(100ms);
  EXPECT_TRUE(take<Execute>(h1).empty()) << "nobody can have it";
  dispatch.end();
  for (const HostId& host : {h1, h2, h3}) lose(host);
  dispatch.begin(cell, true);
  find(h2);
  decide();
  const auto asked = take<Execute>(h2);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].lead, kNoLead);
}

TEST_F(DispatchTest, ACellThatIsKeptIsOfferedAgainNowAndThenBecauseOtherReplicasMayRunItByThen) {
  for (const HostId& host : {h1, h2, h3}) lose(host);
  begin();
  tick(200ms);
  find(h3);
  for (int i = 0; i < 40 && !dispatch.host(); ++i) tick(100ms);
  EXPECT_EQ(dispatch.host(), h3);
}

TEST_F(DispatchTest, AHostThatAnswersLateDoesNotCutThePauseShort) {
  begin();
  for (int host = 0; host < 3; ++host) decline(*dispatch.host());
  decline(h1);
  EXPECT_FALSE(dispatch.host());
  tick(200ms);
  EXPECT_TRUE(dispatch.host());
}

TEST_F(DispatchTest, OfTwoDecisionsOfOneStepTheSecondFindsTheCellSent) {
  dispatch.begin(cell, false);
  dispatch.offer_anew();
  decide();
  EXPECT_EQ(take<Execute>(h1).size() + take<Execute>(h2).size() + take<Execute>(h3).size(), 1U);
}

TEST_F(DispatchTest, ADecisionComesTooLateForACellThatRunsAlready) {
  dispatch.begin(cell, false);
  dispatch.on_output(h2, 1);  // an earlier life of the gateway had asked
  decide();
  EXPECT_EQ(dispatch.executor(), h2);
  EXPECT_FALSE(dispatch.sent());
}

TEST_F(DispatchTest, ALateReportDoesNotNameAnotherExecutor) {
  begin();
  dispatch.on_output(h1, 1);
  ReplicaReport report = report_of(h2);
  report.running = ExecutionId{"c"};
  report.executor = ReplicaId{2};
  dispatch.on_report(report);
  EXPECT_EQ(dispatch.executor(), h1);
}

TEST_F(DispatchTest, AHostThatIsDownIsNotTakenForTheExecutor) {
  begin();
  lose(h3);
  ReplicaReport report = report_of(h2);
  report.running = ExecutionId{"c"};
  report.executor = ReplicaId{3};
  dispatch.on_report(report);
  EXPECT_FALSE(dispatch.executor());
}

class DispatchToAllTest : public DispatchTest {
 protected:
  DispatchToAllTest() : DispatchTest(true) {}
  void expect_one_asked() {
    std::vector<ReplicaId> leads;
    for (const HostId& host : {h1, h2, h3})
      for (const Execute& asked : take<Execute>(host)) leads.push_back(asked.lead);
    ASSERT_EQ(leads.size(), 1U);
    EXPECT_NE(leads.front(), ReplicaId{}) << "it takes the cell, and decides nothing";
  }
};

TEST_F(DispatchToAllTest, EveryReplicaIsAskedAndOneWhenAllHaveDeclined) {
  begin();
  for (const HostId& host : {h1, h2, h3}) EXPECT_EQ(take<Execute>(host).size(), 1U) << host.value;
  EXPECT_FALSE(dispatch.offered()) << "the log decides";
  decline(h1);
  decline(h2);
  EXPECT_TRUE(take<Execute>(h1).empty()) << "h3 may still start it";
  decline(h3);
  tick(200ms);
  expect_one_asked();
}

TEST_F(DispatchToAllTest, OneIsAskedWhenNobodyShowsThatItRunsTheCell) {
  begin();
  for (const HostId& host : {h1, h2, h3}) EXPECT_EQ(take<Execute>(host).size(), 1U) << host.value;
  tick(3s);
  expect_one_asked();
}

class DispatchToLeastLoadedTest : public DispatchTest {
 protected:
  DispatchToLeastLoadedTest() : DispatchTest(false, "least_loaded") {}
};

TEST_F(DispatchToLeastLoadedTest, ACellsOwnBookingDoesNotCountAgainstItsHostWhenAllAreAskedAnew) {
  begin();
  const auto first = dispatch.host();
  ASSERT_TRUE(first);
  dispatch.offer_anew();
  decide();
  EXPECT_EQ(dispatch.host(), first);
  EXPECT_EQ(booked(), 1U);
}

TEST_F(DispatchTest, WhatEndsIsNoLongerBooked) {
  begin();
  EXPECT_EQ(booked(), 1U);
  dispatch.end();
  EXPECT_EQ(booked(), 0U);
  EXPECT_FALSE(dispatch.busy());
  EXPECT_FALSE(dispatch.sent());
}

}  // namespace
}  // namespace banyan::node
