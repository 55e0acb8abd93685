// Which replica is asked to run a cell, and which one is next.

#include "node/gateway_dispatch.h"

#include <gmock/gmock.h>

#include "node/test_parts.h"

namespace banyan::node {
namespace {

class DispatchTest : public ::testing::Test, protected TestGround {
 protected:
  using TestGround::TestGround;

  void begin() {
    dispatch.begin({.session = record.id, .execution = {"c"}, .request = {}, .lead = {}});
    decide();
  }
  /// Carries out what the scheduler has decided.
  void decide() {
    while (const auto decision = gateway.take_decision())
      if (const auto* const start = std::get_if<schedule::StartCell>(&*decision)) dispatch.on_start(*start);
  }
  bool decline(const HostId& host) {
    const bool given_up = dispatch.on_declined(host);
    decide();
    return given_up;
  }
  [[nodiscard]] std::uint64_t booked() const {
    const cluster::Ledger& ledger = gateway.cluster().ledger();
    return ledger.cells_on(h1) + ledger.cells_on(h2) + ledger.cells_on(h3);
  }

  Dispatch dispatch{gateway, record, members, reports, last};
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
  advance(2900ms);
  dispatch.watch();
  decide();
  EXPECT_EQ(dispatch.host(), h1);
  advance(100ms);
  dispatch.watch();
  decide();
  EXPECT_NE(dispatch.host(), h1);
}

TEST_F(DispatchTest, WhoRunsTheCellIsLeftAlone) {
  begin();
  dispatch.on_output(h1, 1);
  EXPECT_EQ(dispatch.executor(), h1);
  advance(1h);
  dispatch.watch();
  EXPECT_FALSE(decline(h2));
  decide();
  EXPECT_EQ(dispatch.host(), h1);
  EXPECT_EQ(take<Execute>(h1).size(), 1U);
}

TEST_F(DispatchTest, WhoDeclinesBecauseAnotherOneRunsTheCellChangesNothing) {
  begin();
  dispatch.on_output(h2, 1);
  EXPECT_FALSE(decline(h1));
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
      ASSERT_FALSE(decline(*dispatch.host())) << "round " << round;
    }
    EXPECT_FALSE(dispatch.host()) << "nobody is asked between rounds";
    Duration pause{};
    while (!dispatch.host()) {
      advance(10ms);
      pause += 10ms;
      dispatch.watch();
      decide();
      ASSERT_LT(pause, 6s);
    }
    EXPECT_GT(pause, waited);
    waited = pause;
  }
  EXPECT_FALSE(decline(*dispatch.host()));
  EXPECT_FALSE(decline(*dispatch.host()));
  EXPECT_TRUE(decline(*dispatch.host())) << "the fifth round is the last";
}

TEST_F(DispatchTest, OfTwoDecisionsOfOneStepTheSecondFindsTheCellSent) {
  dispatch.begin({.session = record.id, .execution = {"c"}, .request = {}, .lead = {}});
  dispatch.ask_anew();
  decide();
  EXPECT_EQ(take<Execute>(h1).size() + take<Execute>(h2).size() + take<Execute>(h3).size(), 1U);
}

TEST_F(DispatchTest, ADecisionComesTooLateForACellThatRunsAlready) {
  dispatch.begin({.session = record.id, .execution = {"c"}, .request = {}, .lead = {}});
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
  DispatchToAllTest() : DispatchTest(Election::kAll) {}
};

TEST_F(DispatchToAllTest, EveryReplicaIsAskedAndAgainWhenAllHaveDeclined) {
  begin();
  for (const HostId& host : {h1, h2, h3}) EXPECT_EQ(take<Execute>(host).size(), 1U) << host.value;
  EXPECT_FALSE(dispatch.chooses()) << "the log decides";
  EXPECT_FALSE(decline(h1));
  EXPECT_FALSE(decline(h2));
  EXPECT_TRUE(take<Execute>(h1).empty()) << "h3 may still start it";
  EXPECT_FALSE(decline(h3));
  advance(200ms);
  dispatch.watch();
  for (const HostId& host : {h1, h2, h3}) EXPECT_EQ(take<Execute>(host).size(), 1U) << host.value;
}

class DispatchToLeastLoadedTest : public DispatchTest {
 protected:
  DispatchToLeastLoadedTest() : DispatchTest(Election::kPreselect, "least_loaded") {}
};

TEST_F(DispatchToLeastLoadedTest, ACellsOwnBookingDoesNotCountAgainstItsHostWhenAllAreAskedAnew) {
  begin();
  const auto first = dispatch.host();
  ASSERT_TRUE(first);
  dispatch.ask_anew();
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
