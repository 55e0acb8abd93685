// What becomes of a replica's worker, and what it says beside cells.

#include <gmock/gmock.h>

#include <algorithm>

#include "node/replica_cells.h"
#include "node/test_replica.h"

namespace banyan::node {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class WorkersOfCells : public TestReplica {
 protected:
  std::size_t stops(Stop how) {
    const auto all = done<StopWorker>();
    return static_cast<std::size_t>(std::ranges::count(all, how, &StopWorker::how));
  }
  void run_to_end(const std::string& cell) {
    run(cell);
    report(cell);
    idle(cell);
    ends(cell);
  }
};

TEST_F(WorkersOfCells, AnInterruptReachesTheWorkerAndKillsACellThatDoesNotEnd) {
  cells_.interrupt();
  EXPECT_EQ(stops(Stop::kInterrupt), 0U) << "there is no worker";
  ready();
  cells_.interrupt();
  EXPECT_EQ(stops(Stop::kInterrupt), 1U);
  advance(host_.timing().interrupt_deadline);
  cells_.tick();
  EXPECT_EQ(stops(Stop::kKill), 0U) << "no cell goes";
  run("c");
  cells_.interrupt();
  lease_.begin(host_.now().mono + host_.timing().interrupt_deadline);
  advance(host_.timing().interrupt_deadline);
  cells_.tick();
  EXPECT_EQ(stops(Stop::kKill), 1U);
}

TEST_F(WorkersOfCells, AnInterruptedCellThatEndsIsNotKilled) {
  ready();
  run("c");
  cells_.interrupt();
  report("c");
  idle("c");
  ends("c");
  advance(host_.timing().interrupt_deadline);
  cells_.tick();
  EXPECT_EQ(stops(Stop::kKill), 0U);
}

TEST_F(WorkersOfCells, ASuspendedSessionHasNoWorkerUntilACellComes) {
  ready();
  says(session::Amend{
      "q", {checkpoint::Suspend{.suspended = true}}, core_.session->last(), core_.session->amended()});
  ASSERT_TRUE(core_.session->suspended());
  EXPECT_FALSE(worker_.exists());
  EXPECT_FALSE(worker_.is_next_awaited());
  EXPECT_FALSE(cells_.wants_worker());
  cells_.execute(order("c"));
  EXPECT_TRUE(worker_.exists());
}

TEST_F(WorkersOfCells, AReplicaThatPreparesHasAWorkerForFiveSeconds) {
  says(session::Amend{
      "q", {checkpoint::Suspend{.suspended = true}}, core_.session->last(), core_.session->amended()});
  EXPECT_FALSE(cells_.is_preparing());
  EXPECT_FALSE(cells_.wants_worker());
  cells_.prepare();
  EXPECT_FALSE(worker_.exists()) << "the session is suspended";
  starts("a", kOther);
  ends("a");
  cells_.prepare();
  EXPECT_TRUE(worker_.exists());
  EXPECT_TRUE(cells_.runs_cells());
  advance(4999ms);
  EXPECT_TRUE(cells_.is_preparing());
  advance(1ms);
  EXPECT_FALSE(cells_.is_preparing());
  EXPECT_FALSE(cells_.runs_cells());
}

TEST_F(WorkersOfCells, AStandbyWhoseSessionWorksInTheBackgroundElsewhereBeginsAnew) {
  ready();
  session::Delta works;
  works.footprint.work = {"thread T runs work"};
  run("a");
  report("a", works);
  idle("a");
  ends("a", works);
  EXPECT_EQ(stops(Stop::kKill), 0U);
  starts("b", kOther);
  EXPECT_EQ(stops(Stop::kKill), 1U) << "what it does would go on beside the session";
}

TEST_F(WorkersOfCells, AStandbyThatDoesNothingInTheBackgroundStays) {
  ready();
  run_to_end("a");
  starts("b", kOther);
  EXPECT_EQ(stops(Stop::kKill), 0U);
}

TEST_F(WorkersOfCells, WhatAStandbysWorkerSaysByItselfIsNobodysOutput) {
  ready();
  run_to_end("a");
  (void)told<FromKernel>();
  print("a", "a thread of the cell");
  EXPECT_THAT(told<FromKernel>(), SizeIs(1));
  print("", "its start");
  EXPECT_THAT(told<FromKernel>(), IsEmpty());
  starts("b", kOther);
  print("a", "a thread of the cell");
  EXPECT_THAT(told<FromKernel>(), IsEmpty());
}

TEST_F(WorkersOfCells, AnswersToRequestsAreSaidByAnyReplica) {
  ready();
  starts("b", kOther);
  jupyter::Message request = message(jupyter::Channel::kShell, "complete_request", "x");
  const auto header = jupyter::parse_header(request.header);
  view_.to_kernel(std::move(request));
  cells_.on_message({*worker_.id(), jupyter::make_message(jupyter::Channel::kShell, "complete_reply",
                                                          R"({"msg_id":")" + header->msg_id + R"("})", "{}",
                                                          host_.author({"s"}))});
  EXPECT_THAT(told<FromKernel>(), SizeIs(1));
}

TEST_F(WorkersOfCells, TheLateReplyOfACommittedCellIsToldNobody) {
  ready();
  run_to_end("a");
  (void)told<FromKernel>();
  cells_.on_message({*worker_.id(), message(jupyter::Channel::kShell, "execute_reply", "a")});
  idle("a");
  EXPECT_THAT(told<FromKernel>(), IsEmpty());
  cells_.on_message({*worker_.id(), message(jupyter::Channel::kShell, "comm_reply", "a")});
  EXPECT_THAT(told<FromKernel>(), SizeIs(1)) << "anything else is the session's";
}

TEST_F(WorkersOfCells, WhatClientsHaveOfItNeedNotBeKept) {
  ready();
  run("c");
  print("c", std::string(2 << 20, 'x'));
  ASSERT_NE(cells_.cell()->outputs.log().find(1), nullptr);
  cells_.on_delivered({.session = {"s"}, .execution = {"d"}, .seq = 1});
  EXPECT_NE(cells_.cell()->outputs.log().find(1), nullptr);
  cells_.on_delivered({.session = {"s"}, .execution = {"c"}, .seq = 1});
  EXPECT_EQ(cells_.cell()->outputs.log().find(1), nullptr);
}

TEST_F(WorkersOfCells, AGatewayThatIsAnotherLifeAsksForTheNextCellItself) {
  ready();
  run("a");
  cells_.execute(order("b"));
  cells_.on_gateway_restarted();
  report("a");
  idle("a");
  ends("a");
  EXPECT_TRUE(cells_.none());
}

/// A session whose standbys have no worker.
class WarmWorkers : public TestReplica {
 protected:
  WarmWorkers() : TestReplica(session::Standbys::kWarm) {}
};

TEST_F(WarmWorkers, AWarmStandbyHasAWorkerUntilAnotherReplicaIsTheExecutor) {
  cells_.tend_worker();
  EXPECT_TRUE(worker_.exists()) << "anybody may become it";
  starts("a", kOther);
  ends("a");
  EXPECT_FALSE(cells_.wants_worker());
  (void)host_.take_to_report();
  cells_.tend_worker();
  EXPECT_FALSE(worker_.exists());
  EXPECT_FALSE(worker_.is_next_awaited());
  EXPECT_EQ(host_.take_to_report().size(), 1U);
  starts("b");
  ends("b");
  cells_.tend_worker();
  EXPECT_TRUE(worker_.exists());
}

TEST_F(WarmWorkers, WhereReplicasElectAWarmStandbyLeadsOnlyIfTheExecutorIsAway) {
  starts("a", kOther);
  ends("a");
  cells_.tend_worker();
  cells_.execute(order("c", {}));
  auto bids = proposed<session::Propose>();
  ASSERT_EQ(bids.size(), 1U);
  EXPECT_EQ(bids[0].bid, session::Bid::kYield);
  host_.set_reachable({"h2"}, false);
  cells_.execute(order("c", {}));
  bids = proposed<session::Propose>();
  ASSERT_EQ(bids.size(), 1U);
  EXPECT_EQ(bids[0].bid, session::Bid::kLead);
}

}  // namespace
}  // namespace banyan::node
