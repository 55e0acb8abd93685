#include "node/cell_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "node/gateway_messages.h"
#include "node/test_group.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const WorkerId kWorker{7};
const ExecutionId kCell{"c"};

/// A cell on the first of three members, which leads.
class CellRuns : public ::testing::Test {
 protected:
  CellRuns() { group_.tends = false; }

  TestGroup::Member& here() { return group_.at(1); }
  const session::Session& session() { return *here().session; }
  /// The log says that this replica runs it.
  void start() {
    cell_.bid();
    group_.settle();
    ASSERT_TRUE(session().running() && session().running()->execution == kCell);
    cell_.on_started(session().running()->epoch);
    lease_.begin(cell_.bid_at());
  }
  /// Its user code runs.
  void go() {
    start();
    cell_.forward(kWorker);
    cell_.on_fenced();
    ASSERT_TRUE(cell_.may_go());
    cell_.go(kWorker);
  }
  jupyter::Message from_worker(jupyter::Channel channel, const std::string& type,
                               const std::string& content) {
    return jupyter::make_message(channel, type, R"({"msg_id":"c"})", content, here().context.author({"s"}));
  }
  void print(const std::string& text) {
    cell_.on_message(from_worker(jupyter::Channel::kIopub, "stream", R"({"text":")" + text + R"("})"),
                     session());
  }
  void idle() {
    cell_.on_message(from_worker(jupyter::Channel::kIopub, "status", R"({"execution_state":"idle"})"),
                     session());
  }
  void report(session::Delta delta, const std::string& status = "ok") {
    WorkerReport event{
        .worker = kWorker, .execution = kCell, .execution_count = 1, .delta = std::move(delta)};
    event.reply = {R"({"status":")" + status + R"("})", "{}"};
    cell_.on_report(std::move(event), session());
  }
  static session::Delta large() {
    const Blob bytes(std::string(200'000, 'x'));
    session::Delta delta;
    delta.changed.push_back(
        {.names = {"x"}, .blocks = {{digest_of(bytes.view()), bytes.size(), bytes}}, .parts = {1}});
    return delta;
  }
  /// The end of the cell, as the log of this host has it.
  const session::Ended* ended() {
    group_.settle();
    return session().find(kCell);
  }
  /// The contents of what went to the gateway since the last call, as text.
  std::vector<std::string> told() {
    std::vector<std::string> contents;
    for (const PeerMessage& message : group_.take_sent(1, kGateway))
      if (const auto* const output = std::get_if<FromKernel>(&message))
        contents.emplace_back(output->message.content.view());
    return contents;
  }

  TestGroup group_{3};
  HostSpeeds speeds_{here().context};
  HostChunks chunks_{here().context, speeds_, false};
  ChunkSync sync_{here().context, chunks_, speeds_, {"s"}};
  PendingChunks pending_{here().context, chunks_};
  Lease lease_{here().context};
  Execute order_{
      .session = {"s"},
      .execution = kCell,
      .request = jupyter::make_message(jupyter::Channel::kShell, "execute_request", "{}",
                                       R"json({"code":"f(x)","user_expressions":{"a":"g(y)"}})json",
                                       here().context.author({"s"})),
      .lead = {1}};
  CellRun cell_{{here().context, *here().log, chunks_, sync_, pending_, lease_}, order_, {}};
};

TEST_F(CellRuns, BidsAgainUntilTheLogTakesIt) {
  group_.lose(2);
  group_.lose(3);
  cell_.bid();
  group_.settle();
  EXPECT_FALSE(session().running().has_value());
  const raft::Index last = here().log->rest().last;
  cell_.repeat_if_due(session());
  EXPECT_EQ(here().log->rest().last, last) << "not at once";
  group_.advance(350ms);
  cell_.repeat_if_due(session());
  EXPECT_EQ(here().log->rest().last.value, last.value + 1);
}

TEST_F(CellRuns, ANewLeaderGetsTheBidAtOnce) {
  cell_.bid();
  const raft::Index last = here().log->rest().last;
  cell_.on_new_leader(session());
  EXPECT_EQ(here().log->rest().last.value, last.value + 1);
}

TEST_F(CellRuns, OneThatHasStartedBidsNoMore) {
  start();
  const raft::Index last = here().log->rest().last;
  cell_.on_new_leader(session());
  group_.advance(1s);
  cell_.repeat_if_due(session());
  EXPECT_EQ(here().log->rest().last, last);
}

TEST_F(CellRuns, GoesWhenItHasStartedAndIsFenced) {
  EXPECT_FALSE(cell_.may_go());
  cell_.on_fenced();
  EXPECT_FALSE(cell_.may_go()) << "the log has not said that this replica runs it";
  start();
  EXPECT_TRUE(cell_.may_go());
  cell_.go(kWorker);
  EXPECT_FALSE(cell_.may_go()) << "once";
  EXPECT_TRUE(cell_.runs_user_code());
}

TEST_F(CellRuns, DoesNotGoWhileAnotherMayHoldTheLease) {
  lease_.another_begins();
  start();
  cell_.on_fenced();
  EXPECT_FALSE(cell_.may_go());
  group_.advance(here().context.timing().lease + here().context.timing().lease_margin);
  lease_.begin(here().context.now().mono);
  EXPECT_TRUE(cell_.may_go());
}

TEST_F(CellRuns, DoesNotGoWithALeaseThatIsNearlyOverAndAsksForMore) {
  start();
  cell_.on_fenced();
  group_.advance(here().context.timing().lease / 2 + 100ms);
  EXPECT_FALSE(cell_.may_go());
  EXPECT_FALSE(lease_.is_due(Lease::Renewal::kSoon)) << "the majority is asked";
}

TEST_F(CellRuns, OutputsWaitForTheStart) {
  print("early");
  EXPECT_THAT(told(), IsEmpty());
  go();
  print("later");
  cell_.outputs.send();
  EXPECT_THAT(told(), ElementsAre(HasSubstr("early"), HasSubstr("later")));
}

TEST_F(CellRuns, OutputsStayHereWhileTheGatewayHasMuchToTake) {
  go();
  (void)told();
  const std::string much(here().context.sizes().session_buffer, 'x');
  here().context.send(kGateway, FromKernel{{"s"}, {}, 0, from_worker(jupyter::Channel::kIopub, "x", much)});
  print("a");
  cell_.outputs.send();
  EXPECT_EQ(cell_.outputs.sent(), 0U);
  EXPECT_EQ(cell_.outputs.log().total(), 1U) << "it is kept";
  (void)told();  // the gateway has taken it
  cell_.outputs.send();
  EXPECT_EQ(cell_.outputs.sent(), 1U);
  here().context.send(kGateway, FromKernel{{"s"}, {}, 0, from_worker(jupyter::Channel::kIopub, "x", much)});
  print("b");
  cell_.outputs.send(CellOutputs::Backlog::kAdd);
  EXPECT_EQ(cell_.outputs.sent(), 2U) << "the end of the cell follows it";
}

TEST_F(CellRuns, IsCommittedWithReplyOutputsAndValues) {
  go();
  print("hello");
  session::Delta delta;
  delta.deleted = {"y"};
  report(delta);
  EXPECT_FALSE(cell_.ending.has_commit()) << "outputs may still come";
  idle();
  const session::Ended* const end = ended();
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->status, session::Status::kOk);
  EXPECT_EQ(end->outputs_total, 1U);
  EXPECT_EQ(end->execution_count, 1U);
  EXPECT_EQ(end->code, "f(x)");
}

TEST_F(CellRuns, WaitsUntilAMajorityHasItsLargeValues) {
  go();
  report(large());
  idle();
  EXPECT_TRUE(cell_.ending.has_commit());
  EXPECT_EQ(ended(), nullptr);
  const Digest digest = digest_of(std::string(200'000, 'x'));
  EXPECT_FALSE(chunks_.durable(digest));
  cell_.ending.on_chunk_stored({"h2"}, digest, session());
  EXPECT_EQ(ended(), nullptr) << "one of three, and this host's disk has not said so yet";
  cell_.ending.on_chunk_stored({"h9"}, digest, session());
  EXPECT_EQ(ended(), nullptr) << "no member";
  group_.advance(1s);
  cell_.repeat_if_due(session());
  EXPECT_EQ(ended(), nullptr);
  cell_.ending.on_chunk_stored({"h3"}, digest, session());
  EXPECT_NE(ended(), nullptr);
}

TEST_F(CellRuns, ItsLargeValuesAreSentToTheOthersAndAgainToOneThatWasRestarted) {
  go();
  report(large());
  const auto parts = [&](const HostId& host) {
    std::size_t count = 0;
    for (const PeerMessage& message : group_.take_sent(1, host))
      count += std::holds_alternative<ChunkPart>(message) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(parts({"h2"}), 0U) << "not before its end";
  idle();
  EXPECT_EQ(parts({"h2"}), 1U);
  EXPECT_EQ(parts({"h3"}), 1U);
  cell_.ending.on_peer_restarted({"h2"}, session());
  EXPECT_EQ(parts({"h2"}), 1U);
  EXPECT_EQ(parts({"h3"}), 0U);
}

TEST_F(CellRuns, ABlockThatNobodyHasIsNotCommitted) {
  go();
  session::Delta delta;
  delta.changed.push_back({.names = {"x"}, .blocks = {{digest_of("nowhere"), 100'000}}, .parts = {1}});
  report(delta);
  idle();
  ASSERT_NE(ended(), nullptr);
  const auto version = session().view().find("x");
  ASSERT_NE(version, session().view().end());
  EXPECT_FALSE(session().co_variable(version->second).serialised());
}

TEST_F(CellRuns, EndsWithAnErrorWhenItsWorkerDies) {
  go();
  cell_.on_death("killed by signal 9", session());
  ASSERT_NE(ended(), nullptr);
  EXPECT_EQ(ended()->status, session::Status::kError);
  EXPECT_THAT(ended()->reply, HasSubstr("killed by signal 9"));
  EXPECT_THAT(told(), ElementsAre(HasSubstr("KernelDied")));
}

TEST_F(CellRuns, WhatAWorkerSaidOfACellThatDidNotRunIsForgotten) {
  cell_.forward(kWorker);
  print("of the first worker");
  cell_.take_back();
  EXPECT_FALSE(cell_.is_forwarded());
  go();
  print("of the second");
  EXPECT_THAT(told(), ElementsAre(HasSubstr("of the second")));
}

TEST_F(CellRuns, WhatItsClientHasSeenIsNotForgotten) {
  start();
  print("seen");
  EXPECT_THAT(told(), ElementsAre(HasSubstr("seen")));
  cell_.take_back();
  EXPECT_EQ(cell_.outputs.log().total(), 1U);
}

TEST_F(CellRuns, AnErrorTakesBackWhatItAskedOfTheHistory) {
  go();
  cell_.ending.on_history({checkpoint::Suspend{.suspended = true}}, true);
  report({}, "error");
  idle();
  ASSERT_NE(ended(), nullptr);
  EXPECT_FALSE(session().suspended());
}

TEST_F(CellRuns, DoesNotSuspendASessionThatWouldLoseWhatItMade) {
  go();
  cell_.ending.on_history({checkpoint::Suspend{.suspended = true}}, false);
  session::Delta delta;
  delta.failed = {"gen"};
  report(delta);
  idle();
  ASSERT_NE(ended(), nullptr);
  EXPECT_FALSE(session().suspended());
  EXPECT_THAT(told(), ElementsAre(HasSubstr("it would lose 'gen'")));
}

TEST_F(CellRuns, SuspendsItWhateverThatLosesWhenItWasForced) {
  go();
  cell_.ending.on_history({checkpoint::Suspend{.suspended = true}}, true);
  session::Delta delta;
  delta.failed = {"gen"};
  report(delta);
  idle();
  ASSERT_NE(ended(), nullptr);
  EXPECT_TRUE(session().suspended());
}

TEST_F(CellRuns, AGatewayThatAsksAgainGetsWhatItHasNotSeen) {
  go();
  print("one");
  print("two");
  EXPECT_EQ(told().size(), 2U);
  cell_.outputs.on_gateway_restarted();
  print("three");
  EXPECT_THAT(told(), IsEmpty()) << "it has not asked";
  Execute again = order_;
  again.outputs_seen = 1;
  cell_.on_asked(again);
  EXPECT_THAT(told(), ElementsAre(HasSubstr("two"), HasSubstr("three")));
  cell_.on_asked(again);
  EXPECT_THAT(told(), IsEmpty()) << "its link loses nothing";
}

TEST_F(CellRuns, InputThatWaitsIsAskedForAgain) {
  go();
  cell_.on_message(from_worker(jupyter::Channel::kStdin, "input_request", R"({"prompt":"name"})"), session());
  EXPECT_THAT(told(), ElementsAre(HasSubstr("name")));
  cell_.outputs.on_gateway_restarted();
  cell_.on_asked(order_);
  EXPECT_THAT(told(), ElementsAre(HasSubstr("name")));
  cell_.on_input();
  cell_.outputs.on_gateway_restarted();
  cell_.on_asked(order_);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(CellRuns, ItsProgressIsOneLineThatGoesWhenItRuns) {
  start();
  cell_.outputs.show_progress("restores the session",
                              {.what = "loading x", .percent = 40, .left_us = 1'500'000});
  cell_.outputs.show_progress("restores the session", {.what = "loading x", .percent = 41});
  group_.advance(1s);
  cell_.outputs.show_progress("restores the session", {.what = "loading y", .percent = 90});
  cell_.forward(kWorker);
  EXPECT_THAT(told(), ElementsAre(HasSubstr("████░░░░░░ loading x, about 2 s left"), HasSubstr("loading y"),
                                  HasSubstr("\"wait\":false")));
  EXPECT_EQ(cell_.outputs.log().total(), 0U) << "it is no output";
}

TEST_F(CellRuns, ItsOrderSaysWhatTheGatewayHas) {
  go();
  print("one");
  (void)told();
  const Execute order = cell_.order();
  EXPECT_EQ(order.execution, kCell);
  EXPECT_EQ(order.outputs_seen, 1U);
}

TEST_F(CellRuns, TheWorkerIsAskedAboutTheExpressionsOfItsClientToo) {
  EXPECT_EQ(cell_.code_and_expressions(), "f(x)\ng(y)");
}

TEST_F(CellRuns, DoesNotGoBeforeTheFenceOrWithoutALease) {
  start();
  EXPECT_FALSE(cell_.may_go()) << "the worker has not come to the fence";
  lease_.end();
  cell_.on_fenced();
  EXPECT_FALSE(cell_.may_go()) << "it has no lease";
}

TEST_F(CellRuns, RenewsItsLeaseBetweenItsStartAndItsEnd) {
  const auto is_asked = [&] {
    lease_.on_nobody_asked();
    cell_.renew_lease(Lease::Renewal::kSoon);
    return !lease_.is_due(Lease::Renewal::kSoon);
  };
  lease_.begin(here().context.now().mono);
  EXPECT_FALSE(is_asked());
  go();
  EXPECT_TRUE(is_asked());
  report(large());
  idle();
  EXPECT_FALSE(is_asked()) << "it waits for its chunks";
}

TEST_F(CellRuns, ABlankCellThatHasEndedBeforeItStartedIsCommittedThen) {
  cell_.forward(kWorker);
  cell_.on_message(from_worker(jupyter::Channel::kShell, "execute_reply", R"({"status":"ok"})"), session());
  idle();
  EXPECT_FALSE(cell_.ending.has_commit());
  start();
  cell_.finish_if_complete(session());
  ASSERT_NE(ended(), nullptr);
  EXPECT_EQ(ended()->status, session::Status::kOk);
}

TEST_F(CellRuns, AReplyAndIdleWithoutAReportDoNotEndUserCode) {
  go();
  cell_.on_message(from_worker(jupyter::Channel::kShell, "execute_reply", R"({"status":"ok"})"), session());
  idle();
  EXPECT_FALSE(cell_.ending.has_commit()) << "its values would be dropped";
  session::Delta delta;
  delta.failed = {"x"};
  report(delta);
  ASSERT_NE(ended(), nullptr);
  EXPECT_TRUE(session().view().contains("x"));
}

TEST_F(CellRuns, IdleWithoutAReplyDoesNotEndIt) {
  start();
  idle();
  EXPECT_FALSE(cell_.ending.has_commit());
}

TEST_F(CellRuns, ThisHostCountsOnceItsDiskHasTheChunk) {
  go();
  report(large());
  idle();
  const Digest digest = digest_of(std::string(200'000, 'x'));
  EXPECT_FALSE(sync_.at_rest()) << "the chunk is held for the commit";
  cell_.ending.on_chunk_stored({"h1"}, digest, session());
  cell_.ending.on_chunk_stored({"h2"}, digest, session());
  EXPECT_EQ(ended(), nullptr) << "this host is no other member";
  EXPECT_TRUE(chunks_.landed(digest)) << "it was put on the disk";
  cell_.ending.propose_if_safe(session());
  EXPECT_NE(ended(), nullptr);
}

TEST_F(CellRuns, ItsCommitIsMadeOnce) {
  go();
  report(large());
  idle();
  EXPECT_EQ(group_.take_sent(1, {"h2"}).size(), 1U);
  idle();
  EXPECT_THAT(group_.take_sent(1, {"h2"}), IsEmpty());
}

TEST_F(CellRuns, ACommitIsProposedAgainToANewLeaderAndNotBefore) {
  go();
  group_.lose(2);
  group_.lose(3);
  report({});
  idle();
  const std::uint64_t last = here().log->rest().last.value;
  cell_.ending.propose_if_safe(session());
  EXPECT_EQ(here().log->rest().last.value, last);
  cell_.ending.on_new_leader(session());
  EXPECT_EQ(here().log->rest().last.value, last + 1);
}

TEST_F(CellRuns, AMemberThatIsRestartedBeforeTheEndIsSentNothing) {
  go();
  report(large());
  cell_.ending.on_peer_restarted({"h2"}, session());
  EXPECT_THAT(group_.take_sent(1, {"h2"}), IsEmpty());
}

TEST_F(CellRuns, ADeathDropsWhatWasReported) {
  go();
  report(large());
  cell_.on_death("killed", session());
  ASSERT_NE(ended(), nullptr);
  EXPECT_FALSE(session().view().contains("x"));
}

TEST_F(CellRuns, ASessionThatLosesNothingIsSuspended) {
  go();
  cell_.ending.on_history({checkpoint::Suspend{.suspended = true}}, false);
  report({});
  idle();
  ASSERT_NE(ended(), nullptr);
  EXPECT_TRUE(session().suspended());
}

TEST_F(CellRuns, WhatRanIsNotForgotten) {
  go();
  cell_.outputs.on_gateway_restarted();
  print("one");
  cell_.take_back();
  EXPECT_EQ(cell_.outputs.log().total(), 1U);
}

TEST_F(CellRuns, AGatewayThatAsksBeforeTheStartGetsNothingYet) {
  cell_.outputs.on_gateway_restarted();
  print("early");
  cell_.on_asked(order_);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(CellRuns, InputIsNotAskedOfAGatewayThatDoesNotKnowTheCell) {
  go();
  cell_.outputs.on_gateway_restarted();
  cell_.on_message(from_worker(jupyter::Channel::kStdin, "input_request", R"({"prompt":"name"})"), session());
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(CellRuns, DoesNotGoBeforeItsStartByTheLeaseOfAnotherCell) {
  lease_.begin(here().context.now().mono);
  cell_.on_fenced();
  EXPECT_FALSE(cell_.may_go());
}

TEST_F(CellRuns, ItsOrderSaysWhichReplicaHasIt) {
  Execute order = order_;
  order.lead = {};
  const CellRun cell({here().context, *here().log, chunks_, sync_, pending_, lease_}, order, {});
  EXPECT_EQ(cell.order().lead, ReplicaId{1});
}

TEST_F(CellRuns, ARequestThatIsNoneHasNoCode) {
  for (const char* content : {"[]", "nonsense", R"({"user_expressions":{"a":7}})"}) {
    Execute order = order_;
    order.request.content = Blob(content);
    const CellRun cell({here().context, *here().log, chunks_, sync_, pending_, lease_}, order, {});
    EXPECT_EQ(cell.code_and_expressions(), "") << content;
  }
}

TEST_F(CellRuns, ABidThatNobodyTookIsMadeAgainSoonByWhoThenLeads) {
  TestGroup::Member& other = group_.at(2);
  Lease lease(other.context);
  CellRun cell({other.context, *other.log, chunks_, sync_, pending_, lease}, order_, {});
  group_.lose(1);
  for (const std::uint64_t number : {2U, 3U}) ASSERT_TRUE(group_.at(number).log->on_peer_down({"h1"}));
  cell.bid();
  group_.settle();
  ASSERT_EQ(group_.leader(), 2U);
  const raft::Index last = other.log->rest().last;
  const Time bid = other.context.now().mono;
  other.context.set_now({bid + 49ms, {}});
  cell.repeat_if_due(*other.session);
  EXPECT_EQ(other.log->rest().last, last);
  other.context.set_now({bid + 50ms, {}});
  cell.repeat_if_due(*other.session);
  EXPECT_EQ(other.log->rest().last.value, last.value + 1);
}

TEST_F(CellRuns, ALeaseThatNobodyCouldRenewIsAskedForAtOnce) {
  start();
  lease_.begin(here().context.now().mono - 100ms);
  for (const std::uint64_t number : {2U, 3U}) group_.lose(number);
  group_.advance(2s);  // it does not lead any more
  ASSERT_FALSE(here().log->leads());
  lease_.begin(here().context.now().mono - 100ms);
  cell_.renew_lease(Lease::Renewal::kSoon);
  EXPECT_TRUE(lease_.is_due(Lease::Renewal::kInTime));
}

TEST_F(CellRuns, ABlankCellEndsWithWhicheverOfReplyAndIdleComesLast) {
  start();
  idle();
  EXPECT_FALSE(cell_.ending.has_commit());
  cell_.on_message(from_worker(jupyter::Channel::kShell, "execute_reply", R"({"status":"ok"})"), session());
  EXPECT_TRUE(cell_.ending.has_commit());
}

TEST_F(CellRuns, TheOutputsOfACommitAreNotForgotten) {
  start();
  cell_.outputs.on_gateway_restarted();
  print("one");
  cell_.on_message(from_worker(jupyter::Channel::kShell, "execute_reply", R"({"status":"ok"})"), session());
  idle();
  ASSERT_TRUE(cell_.ending.has_commit());
  cell_.take_back();
  EXPECT_EQ(cell_.outputs.log().total(), 1U);
}

TEST_F(CellRuns, ItsProgressHasTenStepsAndSaysNoTimeThatIsNotKnown) {
  start();
  cell_.outputs.show_progress("restores the session", {.what = "loading x", .percent = 250});
  const auto said = told();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], HasSubstr("██████████ loading x\""));
  cell_.outputs.end_progress();
  EXPECT_EQ(told().size(), 1U);
  cell_.outputs.end_progress();
  EXPECT_THAT(told(), IsEmpty()) << "once";
}

}  // namespace
}  // namespace banyan::node
