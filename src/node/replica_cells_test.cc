#include "node/replica_cells.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "node/test_replica.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CellsOfReplica : public TestReplica {
 protected:
  /// The bids since the last call, as text.
  std::vector<std::string> bids() {
    std::vector<std::string> bids;
    for (const session::Propose& one : proposed<session::Propose>())
      bids.push_back((one.bid == session::Bid::kLead ? "lead " : "yield ") + one.execution.value);
    return bids;
  }
  /// How cells ended, as the gateway was told since the last call.
  std::vector<std::string> ends_told() {
    std::vector<std::string> ends;
    for (const ExecutionEnded& one : told<ExecutionEnded>())
      ends.push_back(one.execution.value + " " + std::string(name_of(one.status)));
    return ends;
  }
  /// Kills of workers since the last call.
  std::size_t kills() {
    const auto stops = done<StopWorker>();
    return static_cast<std::size_t>(std::ranges::count(stops, Stop::kKill, &StopWorker::how));
  }
};

/// The host's memory holds 1,000 bytes of values that are on their way to the disk.
class CellsWithLittleRoom : public TestReplica {
 protected:
  CellsWithLittleRoom() : TestReplica(session::Standbys::kHot, {.capture_bytes = 1000}) {}

  static Digest captured() { return digest_of("captured"); }
  /// So many bytes are captured, as an earlier cell of this session made them, or another session's.
  void capture(std::uint64_t size, bool of_this_session) {
    chunks_.use(captured());
    chunks_.capture(captured(), Blob(std::string(size, 'c')));
    if (of_this_session) pending_.add({"earlier"}, captured(), size);
  }
  void fence(const std::string& cell) {
    cells_.execute(order(cell));
    starts(cell);
    cells_.forward();
    cells_.on_fenced({.worker = *worker_.id(), .execution = {cell}});
  }
};

TEST_F(CellsWithLittleRoom, ACellWaitsAndSaysWhyUntilEnoughIsOnTheDisk) {
  ready();
  capture(2'001'000, true);
  fence("c");
  EXPECT_FALSE(cells_.cell()->is_going());
  std::string said;
  for (const FromKernel& one : told<FromKernel>()) said += one.message.content.view();
  EXPECT_THAT(said, HasSubstr("makes room before the cell begins: ░░░░░░░░░░ writing 2 MB of values"));
  cells_.go_on();
  EXPECT_FALSE(cells_.cell()->is_going());
  ASSERT_TRUE(chunks_.landed_in_background(captured()));
  cells_.go_on();
  EXPECT_TRUE(cells_.cell()->is_going());
}

TEST_F(CellsWithLittleRoom, WhatIsNoMoreThanThatHoldsNothingBack) {
  ready();
  capture(1000, true);
  fence("c");
  EXPECT_TRUE(cells_.cell()->is_going());
}

TEST_F(CellsWithLittleRoom, ASessionThatHasNoneOfItIsNotHeldBack) {
  ready();
  capture(2'000'000, false);
  fence("c");
  EXPECT_TRUE(cells_.cell()->is_going());
}

// ---- to the bid

TEST_F(CellsOfReplica, ACellIsBidForOnce) {
  cells_.execute(order("c"));
  EXPECT_THAT(bids(), ElementsAre("lead c"));
  ASSERT_NE(cells_.cell(), nullptr);
  EXPECT_FALSE(cells_.none());
  cells_.execute(order("c"));
  EXPECT_THAT(bids(), IsEmpty()) << "the gateway asks again for what is here";
}

TEST_F(CellsOfReplica, OneThatHasEndedIsAnsweredAndNeverBidForAgain) {
  starts("c", kOther);
  ends("c");
  (void)ends_told();
  cells_.execute(order("c"));
  EXPECT_THAT(ends_told(), ElementsAre("c ok"));
  EXPECT_THAT(bids(), IsEmpty());
  EXPECT_TRUE(cells_.none());
}

TEST_F(CellsOfReplica, TheAnswerSaysAllThatTheLogHasOfItsEnd) {
  starts("c", kOther);
  says(session::Commit{.execution = {"c"},
                       .epoch = core_.session->epoch(),
                       .reply = R"({"status":"ok"})",
                       .reply_metadata = R"({"engine":"e"})",
                       .outputs = {message(jupyter::Channel::kIopub, "stream", "c"),
                                   message(jupyter::Channel::kIopub, "stream", "c")},
                       .outputs_total = 3,
                       .execution_count = 4});
  Execute again = order("c");
  again.outputs_seen = 1;
  cells_.execute(again);
  const auto outputs = told<FromKernel>();
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].seq, 2U);
  const auto ended = told<ExecutionEnded>();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].session, SessionId{"s"});
  EXPECT_EQ(ended[0].outputs, 3U);
  EXPECT_EQ(ended[0].execution_count, 4U);
  EXPECT_EQ(ended[0].commit, core_.session->last());
  EXPECT_EQ(ended[0].reply.metadata, R"({"engine":"e"})");
}

TEST_F(CellsOfReplica, TheAnswerSaysWhyACellWasLost) {
  starts("c", kOther);
  taken_over();
  const auto ended = told<ExecutionEnded>();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].reason, "its host is gone");
  EXPECT_EQ(ended[0].reply.metadata, "{}");
}

TEST_F(CellsOfReplica, OneForAnotherReplicaIsNotTaken) {
  cells_.execute(order("c", kOther));
  cells_.execute(order("d", kNoLead));
  EXPECT_TRUE(cells_.none());
  EXPECT_THAT(bids(), IsEmpty());
}

TEST_F(CellsOfReplica, OneThatWasAcceptedBeforeTheLastRestartEndsAsAborted) {
  says(session::Clear{4});
  Execute before = order("c");
  before.restarts = 3;
  cells_.execute(before);
  const auto ended = told<ExecutionEnded>();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].session, SessionId{"s"});
  EXPECT_EQ(ended[0].status, session::Status::kAborted);
  EXPECT_THAT(bids(), IsEmpty());
  Execute after = order("d");
  after.restarts = 4;
  cells_.execute(after);
  EXPECT_THAT(bids(), ElementsAre("lead d"));
}

TEST_F(CellsOfReplica, WhileAnotherOneRunsItWaits) {
  starts("a", kOther);
  cells_.execute(order("b"));
  EXPECT_EQ(cells_.cell(), nullptr);
  EXPECT_FALSE(cells_.none());
  EXPECT_THAT(bids(), IsEmpty());
  cells_.start_waiting();
  EXPECT_THAT(bids(), IsEmpty());
  ends("a");
  EXPECT_THAT(bids(), ElementsAre("lead b"));
}

TEST_F(CellsOfReplica, WhileAnotherOneIsHereItWaits) {
  cells_.execute(order("a"));
  cells_.execute(order("b"));
  EXPECT_THAT(bids(), ElementsAre("lead a"));
  cells_.start_waiting();
  EXPECT_THAT(bids(), IsEmpty());
  starts("a");
  ends("a");
  EXPECT_THAT(bids(), ElementsAre("lead b"));
}

TEST_F(CellsOfReplica, BeforeTheSessionIsHereItWaitsUnlessItIsOnlyAskedAfter) {
  auto session = std::exchange(core_.session, std::nullopt);
  cells_.execute(order("d", kNoLead));
  EXPECT_TRUE(cells_.none());
  cells_.execute(order("c"));
  EXPECT_FALSE(cells_.none());
  cells_.start_waiting();
  EXPECT_THAT(bids(), IsEmpty());
  core_.session = std::move(session);
  cells_.start_waiting();
  EXPECT_THAT(bids(), ElementsAre("lead c"));
}

TEST_F(CellsOfReplica, WhereReplicasElectOneWithoutAWorkerYields) {
  worker_.launch(true);
  cells_.execute(order("c", {}));
  EXPECT_THAT(bids(), ElementsAre("yield c"));
  EXPECT_TRUE(cells_.none());
  ready();
  cells_.execute(order("c", {}));
  EXPECT_THAT(bids(), ElementsAre("lead c"));
}

TEST_F(CellsOfReplica, WhereReplicasElectOneWithoutTheDevicesYields) {
  ready();
  Execute large = order("c", {});
  large.gpus = 1;
  cells_.execute(large);
  EXPECT_THAT(bids(), ElementsAre("yield c"));
}

TEST_F(CellsOfReplica, ACellThatIsOnlyToBeEndedNeedsNoWorker) {
  Execute abort = order("c", {});
  abort.aborts = true;
  cells_.execute(abort);
  const auto proposals = proposed<session::Propose>();
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].bid, session::Bid::kLead);
  EXPECT_TRUE(proposals[0].aborts);
  EXPECT_FALSE(worker_.exists());
}

TEST_F(CellsOfReplica, AHostWithoutTheDevicesDeclines) {
  Execute large = order("c");
  large.gpus = 1;
  cells_.execute(large);
  auto declined = told<ExecutionDeclined>();
  ASSERT_EQ(declined.size(), 1U);
  EXPECT_FALSE(declined[0].busy) << "it has none";
  EXPECT_TRUE(cells_.none());
  host_.devices().set({{.id = {"0"}}});
  const auto other = host_.devices().bind({.session = {"another"}, .gpus = 1});
  cells_.execute(large);
  declined = told<ExecutionDeclined>();
  ASSERT_EQ(declined.size(), 1U);
  EXPECT_TRUE(declined[0].busy);
  EXPECT_THAT(bids(), IsEmpty());
}

TEST_F(CellsOfReplica, ACellHasItsDevicesUntilItEnds) {
  host_.devices().set({{.id = {"0"}}});
  Execute large = order("c");
  large.gpus = 1;
  cells_.execute(large);
  ASSERT_NE(cells_.cell(), nullptr);
  EXPECT_THAT(cells_.cell()->devices(), ElementsAre(DeviceId{"0"}));
  EXPECT_FALSE(host_.devices().bind({.session = {"another"}, .gpus = 1}).has_value());
  starts("c");
  (void)host_.take_to_report();
  ends("c");
  EXPECT_TRUE(host_.devices().bind({.session = {"another"}, .gpus = 1}).has_value());
  EXPECT_THAT(host_.take_to_report(), SizeIs(1)) << "another cell may wait for them";
}

TEST_F(CellsOfReplica, ABidBringsAWorkerWhereThereIsNone) {
  cells_.execute(order("c"));
  EXPECT_THAT(done<LaunchWorker>(), SizeIs(1));
}

// ---- to the fence

TEST_F(CellsOfReplica, TheNextCellOfAnExecutorIsWithTheWorkerBeforeItStarts) {
  ready();
  run("c");
  report("c");
  idle("c");
  ends("c");
  (void)done<ToWorker>();
  cells_.execute(order("d"));
  EXPECT_THAT(done<ToWorker>(), SizeIs(1));
  cells_.forward();
  EXPECT_THAT(done<ToWorker>(), IsEmpty()) << "once";
  (void)done<AnswerFence>();
  cells_.on_fenced({.worker = *worker_.id(), .execution = {"d"}});
  EXPECT_THAT(done<AnswerFence>(), IsEmpty()) << "its LEAD is not committed";
  starts("d");
  const auto fences = done<AnswerFence>();
  ASSERT_EQ(fences.size(), 1U);
  EXPECT_FALSE(fences[0].refusal.has_value());
}

TEST_F(CellsOfReplica, AnyOtherReplicaWaitsForItsLead) {
  ready();
  cells_.execute(order("c"));
  cells_.forward();
  EXPECT_THAT(done<ToWorker>(), IsEmpty());
  starts("c");
  EXPECT_THAT(done<ToWorker>(), SizeIs(1));
}

TEST_F(CellsOfReplica, AWorkerThatDoesNotShowHeadGetsNoCell) {
  cells_.execute(order("c"));
  starts("c");
  cells_.forward();
  EXPECT_THAT(done<ToWorker>(), IsEmpty()) << "it is not ready";
  worker_.on_ready({.worker = *worker_.id(), .pid = 7});
  core_.session->apply(session::Commit{
      .execution = {"c"}, .epoch = core_.session->epoch(), .outputs = {}, .delta = value("x")});
  cells_.forward();
  EXPECT_THAT(done<ToWorker>(), IsEmpty()) << "it lacks x";
}

TEST_F(CellsOfReplica, ACellThatIsOnlyToBeEndedIsNotForTheWorker) {
  ready();
  Execute abort = order("c");
  abort.aborts = true;
  cells_.execute(abort);
  starts("c");
  cells_.forward();
  EXPECT_THAT(done<ToWorker>(), IsEmpty());
}

TEST_F(CellsOfReplica, TheFenceOpensForNoOtherCell) {
  ready();
  cells_.on_fenced({.worker = *worker_.id(), .execution = {"z"}});
  auto fences = done<AnswerFence>();
  ASSERT_EQ(fences.size(), 1U);
  EXPECT_TRUE(fences[0].refusal.has_value());
  cells_.execute(order("c"));
  starts("c");
  cells_.on_fenced({.worker = *worker_.id(), .execution = {"y"}});
  fences = done<AnswerFence>();
  ASSERT_EQ(fences.size(), 1U);
  EXPECT_TRUE(fences[0].refusal.has_value());
  EXPECT_FALSE(cells_.cell()->is_going());
}

TEST_F(CellsOfReplica, AWorkerThatHasACellBeforeOtherCommitsCameIsReplaced) {
  ready();
  run("c");
  report("c");
  idle("c");
  ends("c");
  cells_.execute(order("d"));
  ASSERT_TRUE(cells_.cell()->is_forwarded());
  starts("b", kOther);
  ends("b", value("x"));
  (void)kills();
  starts("d");
  EXPECT_EQ(kills(), 1U);
  ASSERT_NE(cells_.cell(), nullptr);
  EXPECT_TRUE(cells_.cell()->has_started());
  EXPECT_FALSE(cells_.cell()->is_forwarded()) << "it goes to the next one";
}

TEST_F(CellsOfReplica, TheLeaseCountsFromTheBid) {
  cells_.execute(order("c"));
  const Time bid = host_.now().mono;
  advance(300ms);
  starts("c");
  EXPECT_EQ(lease_.until(), bid + host_.timing().lease);
  ends("c");
  EXPECT_FALSE(lease_.until().has_value());
}

TEST_F(CellsOfReplica, ALaterLifeDoesNotRunWhatAnEarlierOneMayHaveRun) {
  ready();
  cells_.execute(order("c"));
  starts("c", kHere, Incarnation{99});
  EXPECT_EQ(cells_.cell(), nullptr);
  EXPECT_FALSE(lease_.until().has_value());
  EXPECT_THAT(done<ToWorker>(), IsEmpty());
  EXPECT_FALSE(cells_.none()) << "the gateway waits for its end";
  taken_over();
  EXPECT_THAT(ends_told(), ::testing::Contains("c lost"));
  EXPECT_TRUE(cells_.none());
}

TEST_F(CellsOfReplica, AGatewayThatDoesNotKnowOfTheCellGetsNoAnswerFromALaterLife) {
  cells_.execute(order("c"));
  cells_.on_gateway_restarted();
  starts("c", kHere, Incarnation{99});
  EXPECT_TRUE(cells_.none());
}

TEST_F(CellsOfReplica, OneThatAnotherReplicaRunsIsDroppedAndItsWorkerRefused) {
  ready();
  run("a");
  report("a");
  idle("a");
  ends("a");
  cells_.execute(order("c"));
  cells_.on_fenced({.worker = *worker_.id(), .execution = {"c"}});
  (void)done<AnswerFence>();
  starts("c", kOther);
  EXPECT_TRUE(cells_.none());
  const auto fences = done<AnswerFence>();
  ASSERT_EQ(fences.size(), 1U);
  EXPECT_TRUE(fences[0].refusal.has_value());
  (void)told<FromKernel>();
  print("c", "what it says of it");
  EXPECT_THAT(told<FromKernel>(), IsEmpty());
}

/// Such as when all replicas had yielded, and the gateway asks again.
TEST_F(CellsOfReplica, OneThatItsWorkerWasRefusedRunsInAnotherWorker) {
  ready();
  run("a");
  report("a");
  idle("a");
  ends("a");
  cells_.execute(order("c"));
  ASSERT_TRUE(cells_.cell()->is_forwarded());
  cells_.on_all_yielded({{"c"}});
  ASSERT_TRUE(cells_.none());
  const WorkerId refused = *worker_.id();
  cells_.execute(order("c"));
  EXPECT_FALSE(cells_.cell()->is_forwarded());
  starts("c");
  EXPECT_NE(ready(), refused);
  run("c");
  EXPECT_TRUE(cells_.cell()->is_going());
  print("c", "what it says of it");
  EXPECT_THAT(told<FromKernel>(), Not(IsEmpty()));
}

TEST_F(CellsOfReplica, AnotherCellThatStartsIsNotTheOneHere) {
  cells_.execute(order("c"));
  starts("b", kOther);
  ASSERT_NE(cells_.cell(), nullptr);
  EXPECT_FALSE(cells_.cell()->has_started());
}

TEST_F(CellsOfReplica, ABidThatIsLostWhileAnotherCellRunsIsMadeAgain) {
  cells_.execute(order("c"));
  (void)bids();
  starts("b", kOther);
  advance(200ms);
  starts("c");
  ASSERT_NE(cells_.cell(), nullptr);
  advance(299ms);
  cells_.tick();
  EXPECT_THAT(bids(), IsEmpty());
  advance(1ms);
  cells_.tick();
  EXPECT_THAT(bids(), ElementsAre("lead c"));
}

TEST_F(CellsOfReplica, ABidOfAnotherReplicaIsNotOnesOwn) {
  cells_.execute(order("c"));
  core_.session->apply(session::Propose{.execution = {"c"}, .replica = kOther, .life = {2}});
  cells_.on_bid_lost({{"c"}, kOther});
  cells_.on_bid_lost({{"d"}, kHere});
  EXPECT_NE(cells_.cell(), nullptr);
}

TEST_F(CellsOfReplica, ABidForACellThatAnotherReplicaRunsOrHasEndedIsOver) {
  cells_.execute(order("c"));
  core_.session->apply(session::Propose{.execution = {"c"}, .replica = kOther, .life = {2}});
  cells_.on_bid_lost({{"c"}, kHere});
  EXPECT_EQ(cells_.cell(), nullptr);
  EXPECT_THAT(ends_told(), IsEmpty()) << "the gateway hears it from there";
  ends("c");
  cells_.execute(order("d"));
  core_.session->apply(session::Propose{.execution = {"d"}, .replica = kOther, .aborts = true});
  cells_.on_bid_lost({{"d"}, kHere});
  EXPECT_EQ(cells_.cell(), nullptr);
  EXPECT_THAT(ends_told(), ElementsAre("d aborted"));
  cells_.execute(order("e"));
  core_.session->apply(session::Clear{4});
  cells_.on_bid_lost({{"e"}, kHere});
  EXPECT_EQ(cells_.cell(), nullptr);
  EXPECT_THAT(ends_told(), ElementsAre("e aborted"));
}

/// The worker here says of a cell that it is busy with it before it is known who runs it.
TEST_F(CellsOfReplica, OfACellThatEndedElsewhereOnlyTheOutputsInTheLogAreTold) {
  const auto of_the_log = message(jupyter::Channel::kIopub, "stream", "c", R"({"text":"there"})");
  for (const std::string how : {"a bid that was lost", "a state that came"}) {
    const std::string cell = how.substr(0, 3);
    ready();
    run("before " + cell);
    report("before " + cell);
    idle("before " + cell);
    ends("before " + cell);
    cells_.execute(order(cell));
    ASSERT_TRUE(cells_.cell()->is_forwarded());
    print(cell, "here");
    (void)told<FromKernel>();
    (void)ends_told();
    core_.session->apply(session::Propose{.execution = {cell}, .replica = kOther, .life = {2}});
    core_.session->apply(session::Commit{
        .execution = {cell}, .epoch = core_.session->epoch(), .outputs = {of_the_log}, .outputs_total = 1});
    if (how.starts_with("a bid"))
      cells_.on_bid_lost({{cell}, kHere});
    else
      (void)cells_.on_adopted();
    const auto outputs = told<FromKernel>();
    ASSERT_EQ(outputs.size(), 1U) << how;
    EXPECT_EQ(outputs[0].seq, 1U);
    EXPECT_EQ(outputs[0].message.content, of_the_log.content) << how;
    EXPECT_THAT(ends_told(), ElementsAre(cell + " ok"));
    EXPECT_TRUE(cells_.none());
  }
}

TEST_F(CellsOfReplica, WhereAllYieldTheGatewayIsTold) {
  cells_.execute(order("c"));
  cells_.on_all_yielded({{"b"}});
  EXPECT_NE(cells_.cell(), nullptr);
  cells_.on_all_yielded({{"c"}});
  EXPECT_EQ(cells_.cell(), nullptr);
  EXPECT_THAT(told<ExecutionDeclined>(), SizeIs(2));
}

// ---- before it goes

TEST_F(CellsOfReplica, WhatCouldNotBeKeptInTheBackgroundIsSaidWhenTheNextCellGoes) {
  ready();
  starts("a", kOther);
  session::Delta works;
  works.footprint.work = {"thread T runs work"};
  ends("a", works);
  run("c");
  const auto outputs = told<FromKernel>();
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_THAT(std::string(outputs[0].message.content.view()), HasSubstr("thread T runs work"));
}

TEST_F(CellsOfReplica, WhatGoesOnInItsOwnWorkerIsNotSaidToHaveEnded) {
  ready();
  session::Delta works;
  works.footprint.work = {"thread T runs work"};
  run("a");
  report("a", works);
  idle("a");
  ends("a", works);
  (void)told<FromKernel>();
  run("c");
  EXPECT_THAT(told<FromKernel>(), IsEmpty());
}

}  // namespace
}  // namespace banyan::node
