#include "node/replica_view.h"

#include <gmock/gmock.h>

#include "node/test_replica.h"

namespace banyan::node {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ViewOfReplica : public TestReplica {
 protected:
  jupyter::Message request(const std::string& type, jupyter::Channel channel = jupyter::Channel::kShell) {
    return jupyter::make_message(channel, type, "{}", "{}", host_.author({"s"}));
  }
  /// A cell elsewhere ends with a value, which the worker here lacks.
  void fall_behind() {
    starts("elsewhere", kOther);
    ends("elsewhere", value("x"));
    ASSERT_FALSE(cells_.is_worker_at_head());
  }
  /// The worker has loaded what it was to load.
  void load() {
    for (const ApplyToWorker& one : done<ApplyToWorker>())
      view_.on_applied({.worker = one.worker, .commit = one.commit, .failed = {}, .lacking = {}, .took = {}});
  }
};

TEST_F(ViewOfReplica, ARequestWaitsForAWorker) {
  worker_.launch(true);
  view_.to_kernel(request("complete_request"));
  EXPECT_THAT(done<ToWorker>(), IsEmpty());
  EXPECT_TRUE(beside_.some_wait());
  view_.on_ready({.worker = *worker_.id(), .pid = 7});
  EXPECT_THAT(done<ToWorker>(), SizeIs(1));
  EXPECT_FALSE(beside_.some_wait());
  view_.to_kernel(request("complete_request"));
  EXPECT_THAT(done<ToWorker>(), SizeIs(1)) << "now there is one";
}

TEST_F(ViewOfReplica, ARequestNeedsNoVariablesUnlessItIsForAComm) {
  cells_.prepare();
  ready();
  fall_behind();
  view_.to_kernel(request("complete_request"));
  EXPECT_THAT(done<ToWorker>(), SizeIs(1));
  view_.to_kernel(request("comm_msg"));
  view_.to_kernel(request("comm_info_request"));
  EXPECT_THAT(done<ToWorker>(), IsEmpty());
  load();
  ASSERT_TRUE(cells_.is_worker_at_head());
  EXPECT_THAT(done<ToWorker>(), SizeIs(2));
}

TEST_F(ViewOfReplica, ACommMayReachTheWorkerWhileItRunsACell) {
  ready();
  run("c");
  (void)done<ToWorker>();
  core_.session->apply(session::TakeOver{core_.session->epoch(), "silent"});
  view_.to_kernel(request("comm_msg"));
  EXPECT_THAT(done<ToWorker>(), SizeIs(1));
}

TEST_F(ViewOfReplica, AnAnswerToInputIsTheEndOfTheQuestion) {
  ready();
  run("c");
  cells_.on_message({*worker_.id(), message(jupyter::Channel::kStdin, "input_request", "c")});
  (void)told<FromKernel>();
  view_.to_kernel(request("complete_request"));
  cells_.on_gateway_restarted();
  cells_.execute(order("c"));
  EXPECT_THAT(told<FromKernel>(), SizeIs(1)) << "another life of the gateway hears of it";
  view_.to_kernel(request("input_reply", jupyter::Channel::kStdin));
  cells_.on_gateway_restarted();
  cells_.execute(order("c"));
  EXPECT_THAT(told<FromKernel>(), IsEmpty());
}

TEST_F(ViewOfReplica, AWorkerThatIsAstrayIsReplaced) {
  const WorkerId first = ready();
  worker_.diverge();
  view_.sync();
  EXPECT_NE(worker_.id(), first);
}

TEST_F(ViewOfReplica, NothingIsDoneForAWorkerThatIsNotReadyOrBusy) {
  view_.sync();
  worker_.launch(true);
  fall_behind();
  view_.sync();
  EXPECT_THAT(done<ApplyToWorker>(), IsEmpty());
  cells_.prepare();
  ready();
  EXPECT_THAT(done<ApplyToWorker>(), SizeIs(1));
  view_.sync();
  EXPECT_THAT(done<ApplyToWorker>(), IsEmpty());
}

TEST_F(ViewOfReplica, AWorkerThatHasTheCellIsLeftAlone) {
  ready();
  run("c");
  core_.session->apply(session::TakeOver{core_.session->epoch(), "silent"});
  core_.session->apply(session::Propose{.execution = {"d"}, .replica = kOther, .life = {2}});
  core_.session->apply(session::Commit{
      .execution = {"d"}, .epoch = core_.session->epoch(), .outputs = {}, .delta = value("x")});
  view_.sync();
  EXPECT_THAT(done<ApplyToWorker>(), IsEmpty());
}

TEST_F(ViewOfReplica, ACellGoesToTheWorkerOnceThatShowsHead) {
  cells_.prepare();
  ready();
  fall_behind();
  cells_.execute(order("c"));
  starts("c");
  EXPECT_THAT(done<ToWorker>(), IsEmpty());
  load();
  EXPECT_THAT(done<ToWorker>(), SizeIs(1));
  EXPECT_FALSE(worker_.build().under_way());
}

TEST_F(ViewOfReplica, TheGatewayHearsWhenAViewIsBuilt) {
  cells_.prepare();
  ready();
  fall_behind();
  view_.sync();
  (void)host_.take_to_report();
  load();
  EXPECT_THAT(host_.take_to_report(), SizeIs(1));
  view_.sync();
  EXPECT_THAT(host_.take_to_report(), IsEmpty()) << "it stands already";
}

TEST_F(ViewOfReplica, WhoWaitsForACellSeesWhatItWaitsFor) {
  cells_.prepare();
  ready();
  fall_behind();
  cells_.execute(order("c"));
  view_.sync();
  advance(1s);
  view_.tick();
  EXPECT_THAT(told<FromKernel>(), IsEmpty()) << "it has not started";
  starts("c");
  view_.tick();
  const auto said = told<FromKernel>();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(std::string(said[0].message.content.view()), HasSubstr("loading x"));
}

TEST_F(ViewOfReplica, WithoutASessionThereIsNothingToLookAt) {
  core_.session.reset();
  view_.tick();
  view_.sync();
  EXPECT_THAT(done<ApplyToWorker>(), IsEmpty());
}

TEST_F(ViewOfReplica, ATickAsksForWhatIsMissing) {
  starts("elsewhere", kOther);
  session::Delta delta;
  delta.changed = {{.names = {"x"}, .blocks = {{digest_of("x"), 100'000, std::nullopt}}, .parts = {1}}};
  ends("elsewhere", std::move(delta));
  EXPECT_THAT(done<ReadChunk>(), IsEmpty());
  view_.tick();
  EXPECT_THAT(done<ReadChunk>(), SizeIs(1));
}

TEST_F(ViewOfReplica, HowItsChunksStandFollowsFromTheReplica) {
  EXPECT_EQ(view_.of_chunks().self, kHere);
  EXPECT_EQ(view_.of_chunks().leader, kHere) << "of the log";
  EXPECT_EQ(view_.of_chunks().leaders_host, HostId{"h1"});
  EXPECT_EQ(view_.of_chunks().peers, (std::vector<HostId>{{"h2"}, {"h3"}}));
  EXPECT_FALSE(view_.of_chunks().has_lead);
  EXPECT_FALSE(view_.of_chunks().builds);
  ready();
  cells_.execute(order("c"));
  EXPECT_FALSE(view_.of_chunks().has_lead);
  starts("c");
  EXPECT_TRUE(view_.of_chunks().has_lead);
  worker_.build().begin(0);
  EXPECT_TRUE(view_.of_chunks().builds);
  EXPECT_TRUE(view_.of_chunks().view_is_awaited);
  advance(5s);
  EXPECT_FALSE(view_.of_chunks().view_is_awaited) << "it has been for long";
}

TEST_F(ViewOfReplica, AStandbysViewIsAwaitedByNobody) {
  ready();
  starts("a", kOther);
  worker_.build().begin(0);
  EXPECT_TRUE(view_.of_chunks().builds);
  EXPECT_FALSE(view_.of_chunks().view_is_awaited);
}

TEST_F(ViewOfReplica, AnAnswerAboutReadsIsForTheCellThatWasAskedAbout) {
  cells_.prepare();
  ready();
  cells_.execute(order("c"));
  (void)cells_.cell()->reads.ask({"x"});
  view_.on_reads({.worker = *worker_.id(), .execution = {"d"}, .names = {"x"}});
  EXPECT_TRUE(cells_.cell()->reads.is_asking());
  view_.on_reads({.worker = *worker_.id(), .execution = {"c"}, .names = {"x"}});
  EXPECT_FALSE(cells_.cell()->reads.is_asking());
  EXPECT_THAT(cells_.cell()->reads.names(), SizeIs(1));
  view_.on_reads({.worker = *worker_.id(), .execution = {"c"}, .names = {"y"}});
  EXPECT_THAT(cells_.cell()->reads.names(), SizeIs(1)) << "nobody asked";
}

TEST_F(ViewOfReplica, WhoPreparesLoadsAtOnce) {
  ready();
  fall_behind();
  (void)done<ApplyToWorker>();
  EXPECT_FALSE(worker_.build().under_way());
  view_.prepare();
  EXPECT_TRUE(worker_.build().under_way());
}

}  // namespace
}  // namespace banyan::node
