// Suspending, resuming and moving a session: who waits for it, who may not, and what is given up.

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "node/test_operations.h"

namespace banyan::node {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class GatewayMoves : public GatewayOperations {
 protected:
  void SetUp() override { begin(); }
  void refuse(ErrorKind why) {
    gateway.from_host(
        {"h1"}, SessionAnswer{
                    .session = session, .request = asked().request, .refused = why, .reason = "the reason"});
  }
  std::size_t questions() { return gateway.got<AskSession>({"h1"}).size(); }
  void suspend_hosts() {
    set([](ReplicaReport& report) {
      report.suspended = true;
      report.worker = WorkerState::kNone;
    });
  }
  /// The move to h4 has brought a replica there that is a member.
  void join_h4() {
    answer(R"({"lost":[]})");
    gateway.advance(400ms);
    set([](ReplicaReport& report) {
      report.members = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
      if (report.replica == ReplicaId{4}) report.worker = WorkerState::kStarting;
    });
  }
};

// ---- who waits

TEST_F(GatewayMoves, WhoAsksForTheSameAgainIsAnsweredToo) {
  EXPECT_EQ(post("suspend").status, 0);
  const RequestId first = gateway.last_request();
  EXPECT_EQ(post("suspend").status, 0);
  EXPECT_EQ(questions(), 1U);
  answer(R"({"lost":[]})");
  suspend_hosts();
  ASSERT_TRUE(gateway.replies.contains(first));
  EXPECT_EQ(gateway.replies[first].status, 200);
  EXPECT_EQ(gateway.last_reply().status, 200);
}

TEST_F(GatewayMoves, WhoForcesItForcesItForAllWhoWait) {
  post("suspend");
  refuse(ErrorKind::kConflict);
  post("suspend", R"({"force":true})");
  gateway.advance(300ms);
  EXPECT_THAT(asked().question, HasSubstr(R"("force":true)"));
}

TEST_F(GatewayMoves, SomethingElseWaitsItsTurn) {
  post("suspend");
  EXPECT_EQ(post("resume").status, 409);
  EXPECT_EQ(post("migrate", R"({"host":"h4"})").status, 409);
  EXPECT_EQ(post("suspend").status, 0) << "the first one goes on";
}

TEST_F(GatewayMoves, AMoveToAnotherHostIsAnotherMove) {
  EXPECT_EQ(post("migrate", R"({"host":"h4"})").status, 0);
  EXPECT_EQ(post("migrate", R"({"host":"h5"})").status, 409);
}

TEST_F(GatewayMoves, WhatNobodyAskedForGivesWay) {
  suspend_hosts();
  gateway.say(tab, TestGateway::request("kernel_info_request", "k1"));
  gateway.advance(100ms);
  ASSERT_THAT(asked().question, HasSubstr("resume"));
  EXPECT_EQ(post("suspend").status, 200) << "it is suspended still";
}

TEST_F(GatewayMoves, WhenTheKernelIsShutDownWhoWaitsIsTold) {
  post("suspend");
  const RequestId asked = gateway.last_request();
  gateway.http("DELETE", "/api/kernels/" + session.value);
  EXPECT_EQ(gateway.replies[asked].status, 404);
}

// ---- the log's answer

TEST_F(GatewayMoves, WhatIsNotPossibleJustNowIsAskedAgainSoon) {
  post("suspend");
  for (const ErrorKind why : {ErrorKind::kConflict, ErrorKind::kUnavailable}) {
    const std::size_t before = questions();
    refuse(why);
    gateway.advance(200ms);
    EXPECT_EQ(questions(), before) << "not at once";
    gateway.advance(100ms);
    EXPECT_EQ(questions(), before + 1);
  }
}

TEST_F(GatewayMoves, WhatIsNeverPossibleIsTheCallersMistake) {
  post("suspend");
  refuse(ErrorKind::kInvalid);
  EXPECT_EQ(gateway.last_reply().status, 400);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr("the reason"));
}

TEST_F(GatewayMoves, AQuestionWithoutAnAnswerIsAskedAgain) {
  post("suspend");
  EXPECT_EQ(questions(), 1U);
  gateway.advance(14900ms);
  EXPECT_EQ(questions(), 1U);
  gateway.advance(500ms);
  EXPECT_EQ(questions(), 2U);
}

TEST_F(GatewayMoves, ASuspensionThatDoesNotEndIsGivenUpAfterHalfAMinute) {
  post("suspend");
  answer(R"({"lost":[]})");
  set([](ReplicaReport& report) { report.suspended = true; });
  gateway.advance(29900ms);
  EXPECT_EQ(gateway.last_reply().status, 0);
  gateway.advance(200ms);
  EXPECT_EQ(gateway.last_reply().status, 503);
}

TEST_F(GatewayMoves, AMoveHasTenMinutes) {
  post("migrate", R"({"host":"h4"})");
  join_h4();
  gateway.advance(599s);
  EXPECT_EQ(gateway.last_reply().status, 0);
  gateway.advance(1s);
  EXPECT_EQ(gateway.last_reply().status, 503);
}

TEST_F(GatewayMoves, ASuspensionWaitsForARestart) {
  gateway.http("POST", "/api/kernels/" + session.value + "/restart");
  post("suspend");
  EXPECT_EQ(questions(), 0U);
}

TEST_F(GatewayMoves, ASuspensionSaysWhatItLoses) {
  post("suspend", R"({"force":true})");
  answer(R"({"lost":[{"name":"gen","reason":"nothing makes it"}]})");
  suspend_hosts();
  EXPECT_EQ(gateway.last_reply().status, 200);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr("gen"));
}

// ---- resuming

TEST_F(GatewayMoves, ASessionIsResumedWhenItsExecutorShowsHead) {
  suspend_hosts();
  EXPECT_EQ(post("resume").status, 0);
  EXPECT_THAT(asked().question, HasSubstr("resume"));
  answer("{}");
  set([](ReplicaReport& report) {
    report.suspended = false;
    report.worker = report.replica == ReplicaId{2} ? WorkerState::kReady : WorkerState::kStarting;
  });
  EXPECT_EQ(gateway.last_reply().status, 0) << "a standby is not waited for";
  set([](ReplicaReport& report) { report.worker = WorkerState::kReady; });
  EXPECT_EQ(gateway.last_reply().status, 200);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr(R"("host":"h1")"));
}

TEST_F(GatewayMoves, ASessionThatIsNotSuspendedIsResumedAtOnce) {
  EXPECT_EQ(post("resume").status, 200);
  EXPECT_EQ(questions(), 0U);
}

TEST_F(GatewayMoves, WhereTheExecutorsHostCannotRunTheKernelAnotherOneResumes) {
  suspend_hosts();
  gateway.tell_kernels({"h1"}, {{"python3", KernelState::kCannot, {}, "no module ipykernel"}});
  gateway.tell_kernels({"h2"}, {{"python3", KernelState::kChecking, {}, {}}});
  gateway.tell_kernels({"h3"}, {{"python3", KernelState::kRuns, "3.11.2", {}}});
  post("resume");
  EXPECT_THAT(asked().question, HasSubstr(R"("to":3)"));
}

TEST_F(GatewayMoves, AHostThatLacksValuesIsNotChosenToResume) {
  suspend_hosts();
  set([](ReplicaReport& report) { report.complete = report.replica != ReplicaId{3}; });
  gateway.tell_kernels({"h1"}, {{"python3", KernelState::kCannot, {}, "no module ipykernel"}});
  gateway.tell_kernels({"h2"}, {{"python3", KernelState::kCannot, {}, "no module ipykernel"}});
  gateway.tell_kernels({"h3"}, {{"python3", KernelState::kRuns, "3.11.2", {}}});
  post("resume");
  EXPECT_THAT(asked().question, Not(HasSubstr("hand_over")));
}

// ---- where it may go

TEST_F(GatewayMoves, AHostThatDoesNotAnswerIsNotMovedTo) {
  gateway.lose_host({"h4"});
  const HttpReply reply = post("migrate", R"({"host":"h4"})");
  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(reply.body, HasSubstr("does not answer"));
}

TEST_F(GatewayMoves, AHostThatCannotRunTheKernelIsNotMovedToAndOthersAreNamed) {
  for (const char* host : {"h1", "h4"})
    gateway.tell_kernels({host}, {{"python3", KernelState::kCannot, {}, "no module ipykernel"}});
  gateway.lose_host({"h5"});
  const HttpReply reply = post("migrate", R"({"host":"h4"})");
  EXPECT_EQ(reply.status, 409);
  EXPECT_THAT(reply.body, HasSubstr("no module ipykernel"));
  EXPECT_THAT(reply.body, HasSubstr("These can: h2, h3."));
}

TEST_F(GatewayMoves, WhereNoHostCanRunTheKernelThatIsSaid) {
  for (const char* host : {"h1", "h2", "h3", "h4", "h5"})
    gateway.tell_kernels({host}, {{"python3", KernelState::kCannot, {}, "no module ipykernel"}});
  EXPECT_THAT(post("migrate", R"({"host":"h4"})").body, HasSubstr("No other host can now."));
}

// ---- moving

TEST_F(GatewayMoves, AMoveToAStandbysHostBringsNoReplica) {
  EXPECT_EQ(post("migrate", R"({"host":"h2"})").status, 0);
  answer(R"({"lost":[]})");
  gateway.advance(400ms);
  EXPECT_THAT(asked().question, HasSubstr(R"("to":2)"));
  EXPECT_THAT(gateway.who_got<OpenReplica>(), SizeIs(3)) << "those of the beginning";
  answer(R"({"executor":2})");
  set([](ReplicaReport& report) {
    report.executor = {2};
    report.epoch = {2};
  });
  EXPECT_EQ(gateway.last_reply().status, 200);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr(R"("copied":true)"));
}

TEST_F(GatewayMoves, ACellThatRunsIsNotMoved) {
  EXPECT_EQ(post("migrate", R"({"host":"h2"})").status, 0);
  gateway.execute(tab, "c2");
  answer(R"({"lost":[]})");
  gateway.advance(400ms);
  EXPECT_THAT(asked().question, Not(HasSubstr("hand_over")));
  gateway.end({"h1"}, session, "c2");
  gateway.advance(100ms);
  EXPECT_THAT(asked().question, HasSubstr("hand_over"));
}

TEST_F(GatewayMoves, ItsTargetIsAskedToPrepareItselfOnceASecond) {
  post("migrate", R"({"host":"h4"})");
  join_h4();
  const auto prepared = [&] { return gateway.got<AskSession>({"h4"}).size(); };
  EXPECT_EQ(prepared(), 1U);
  gateway.advance(900ms);
  EXPECT_EQ(prepared(), 1U);
  gateway.advance(100ms);
  EXPECT_EQ(prepared(), 2U);
}

TEST_F(GatewayMoves, AHotTargetIsWaitedForUntilItShowsHead) {
  post("migrate", R"({"host":"h4"})");
  join_h4();
  set([](ReplicaReport& report) { report.complete = true; });
  gateway.advance(20s);
  EXPECT_THAT(asked().question, Not(HasSubstr("hand_over")));
}

TEST_F(GatewayMoves, ASuspendedSessionMovesWithoutWorkers) {
  suspend_hosts();
  post("migrate", R"({"host":"h4"})");
  answer(R"({"lost":[]})");
  gateway.advance(400ms);
  gateway.hosts[{"h4"}].replicas[session].complete = false;
  gateway.report({"h4"}, session);
  set([](ReplicaReport& report) {
    report.suspended = true;
    report.worker = WorkerState::kNone;
    report.members = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
    report.executor = {1};
    report.epoch = {1};
    report.last = {1};
    report.complete = report.replica != ReplicaId{4};
  });
  gateway.advance(400ms);
  EXPECT_THAT(gateway.got<AskSession>({"h4"}), IsEmpty()) << "it need not prepare";
  EXPECT_THAT(asked().question, Not(HasSubstr("hand_over"))) << "it lacks values";
  set([](ReplicaReport& report) { report.complete = true; });
  gateway.advance(400ms);
  EXPECT_THAT(asked().question, HasSubstr("hand_over"));
  answer("{}");
  set([](ReplicaReport& report) {
    report.executor = {4};
    report.epoch = {2};
  });
  EXPECT_EQ(gateway.last_reply().status, 200);
}

// ---- user code asks

class GatewayMovesByCode : public GatewayMoves {
 protected:
  /// What the host is answered that asks for its session.
  SessionAnswer ask(const std::string& question) {
    gateway.from_host({"h1"}, AskSession{session, "w", question});
    const auto answers = gateway.got<SessionAnswer>({"h1"});
    EXPECT_FALSE(answers.empty());
    return answers.empty() ? SessionAnswer{} : answers.back();
  }
};

TEST_F(GatewayMovesByCode, AMoveBeginsAndItsHostIsNamed) {
  const SessionAnswer answer = ask(R"({"do":"migrate","host":"h4"})");
  EXPECT_FALSE(answer.refused.has_value());
  EXPECT_EQ(answer.request, "w");
  EXPECT_THAT(answer.content, HasSubstr("h4"));
  EXPECT_THAT(asked().question, HasSubstr("leave"));
}

TEST_F(GatewayMovesByCode, WhatCannotBeIsRefused) {
  EXPECT_EQ(ask("nonsense").refused, ErrorKind::kInvalid);
  EXPECT_EQ(ask(R"({"do":"migrate","host":"h9"})").refused, ErrorKind::kNotFound);
  post("suspend");
  const SessionAnswer answer = ask(R"({"do":"migrate","host":"h4"})");
  EXPECT_EQ(answer.refused, ErrorKind::kConflict);
  EXPECT_THAT(answer.reason, HasSubstr("try again"));
}

TEST_F(GatewayMovesByCode, WhatNeedsAGpuDoesNotGoWhereThereIsNone) {
  const std::string question = R"({"do":"migrate","host":"h4","without_gpu":"x is on a GPU"})";
  const SessionAnswer refused = ask(question);
  EXPECT_EQ(refused.refused, ErrorKind::kDenied);
  EXPECT_EQ(refused.reason, "x is on a GPU");
  gateway.hosts[{"h4"}].devices = {{.id = {"0"}}};
  gateway.tell_kernels({"h4"}, {{"python3", KernelState::kRuns, "3.11.2", {}}});
  EXPECT_FALSE(ask(question).refused.has_value());
}

// ---- what is looked at, and how long

TEST_F(GatewayMoves, ALookIsACellThatNobodySees) {
  set([](ReplicaReport& report) { report.works = true; });
  gateway.forget();
  post("suspend");
  const auto cells = gateway.got<Execute>({"h1"});
  ASSERT_EQ(cells.size(), 1U);
  const auto content = nlohmann::json::parse(cells[0].request.content.view());
  EXPECT_EQ(content["silent"], true);
  EXPECT_EQ(content["store_history"], false);
  EXPECT_EQ(content["allow_stdin"], false);
  EXPECT_EQ(content["stop_on_error"], false);
  EXPECT_EQ(content["user_expressions"], nlohmann::json::object());
}

TEST_F(GatewayMoves, WhoAsksForAMoveUsesTheSession) {
  const auto used = [&] { return gateway.model(session)["last_activity"]; };
  const auto before = used();
  gateway.advance(1s);
  post("resume");
  EXPECT_NE(used(), before);
}

TEST_F(GatewayMoves, AMoveSaysHowLongItTook) {
  post("migrate", R"({"host":"h2"})");
  answer(R"({"lost":[]})");
  gateway.advance(2s);
  set([](ReplicaReport& report) {
    report.executor = {2};
    report.epoch = {2};
  });
  ASSERT_EQ(gateway.last_reply().status, 200);
  EXPECT_EQ(nlohmann::json::parse(gateway.last_reply().body)["took_ms"], 2000);
}

TEST_F(GatewayMoves, AQuestionThatIsLateIsNotAskedAgainAtOnce) {
  post("suspend");
  gateway.advance(15150ms);
  EXPECT_EQ(questions(), 1U);
  gateway.advance(150ms);
  EXPECT_EQ(questions(), 2U);
}

TEST_F(GatewayMoves, AHostThatIsAwayOrLeavesIsNotChosenToResume) {
  suspend_hosts();
  gateway.lose_host({"h3"});
  gateway.advance(9s);
  ASSERT_FALSE(gateway.got<OpenReplica>({"h4"}).empty()) << "its replica is replaced";
  gateway.tell_kernels({"h1"}, {{"python3", KernelState::kCannot, {}, "no module ipykernel"}});
  gateway.tell_kernels({"h2"}, {{"python3", KernelState::kCannot, {}, "no module ipykernel"}});
  gateway.find_host({"h3"});
  gateway.tell_kernels({"h3"}, {{"python3", KernelState::kRuns, "3.11.2", {}}});
  post("resume");
  gateway.advance(300ms);
  EXPECT_THAT(asked().question, HasSubstr("resume"));
  EXPECT_THAT(asked().question, Not(HasSubstr("hand_over")));
}

TEST_F(GatewayMoves, WhatIsNotPossibleJustNowIsAskedAgainAfterAQuarterOfASecond) {
  post("suspend");
  refuse(ErrorKind::kConflict);
  gateway.advance(250ms);
  EXPECT_EQ(questions(), 2U);
}

TEST_F(GatewayMoves, AnAnswerThatSaysNothingOfWhatIsLostDoesNotBeginTheMove) {
  post("migrate", R"({"host":"h4"})");
  for (const char* content : {"no JSON", "[]", "{}", R"({"lost":7})"}) {
    answer(content);
    gateway.advance(300ms);
  }
  EXPECT_EQ(questions(), 5U);
  EXPECT_THAT(gateway.got<OpenReplica>({"h4"}), IsEmpty());
}

TEST_F(GatewayMoves, ACellOnTheNewHostEndsTheMoveAlsoBeforeThatShowsHead) {
  post("migrate", R"({"host":"h2"})");
  answer(R"({"lost":[]})");
  gateway.advance(400ms);
  set([](ReplicaReport& report) {
    if (report.replica == ReplicaId{2}) report.worker = WorkerState::kStarting;
  });
  set([](ReplicaReport& report) {
    report.executor = {2};
    report.epoch = {2};
  });
  gateway.advance(1s);
  EXPECT_EQ(gateway.last_reply().status, 0) << "its worker is not ready";
  gateway.execute(tab, "c2");
  gateway.advance(100ms);
  EXPECT_EQ(gateway.last_reply().status, 200);
}

/// A host is drained: the scheduler has sessions moved.
class GatewayMovesByDrain : public GatewayMoves {
 protected:
  void drain(const std::string& host) { gateway.http("POST", "/api/banyan/hosts/" + host + "/drain"); }
  /// Hosts that were asked for a replica since the beginning, but for the first ones.
  std::set<HostId> opened() {
    std::set<HostId> hosts;
    for (const HostId& host : gateway.who_got<OpenReplica>()) hosts.insert(host);
    for (const char* first : {"h1", "h2", "h3"}) hosts.erase({first});
    return hosts;
  }
};

TEST_F(GatewayMovesByDrain, AStandbyMovesAlsoWhileACellRuns) {
  gateway.execute(tab, "c2");
  drain("h2");
  gateway.advance(1s);
  EXPECT_THAT(opened(), SizeIs(1));
}

TEST_F(GatewayMovesByDrain, TheExecutorMovesWhenItsCellHasEnded) {
  gateway.execute(tab, "c2");
  drain("h1");
  gateway.advance(1s);
  EXPECT_EQ(asked().question, "");
  EXPECT_THAT(opened(), IsEmpty());
  gateway.end({"h1"}, session, "c2");
  gateway.advance(60s);
  EXPECT_THAT(asked().question, HasSubstr("leave"));
}

TEST_F(GatewayMovesByDrain, WhatSomebodyWaitsForGoesOnAndTheMoveFollows) {
  post("suspend");
  const RequestId first = gateway.last_request();
  for (const char* host : {"h1", "h2"}) drain(host);
  gateway.advance(1s);
  EXPECT_THAT(opened(), IsEmpty());
  EXPECT_THAT(asked().question, HasSubstr("suspend"));
  answer(R"({"lost":[]})");
  suspend_hosts();
  ASSERT_TRUE(gateway.replies.contains(first));
  EXPECT_EQ(gateway.replies[first].status, 200);
}

TEST_F(GatewayMovesByDrain, ARestartGoesOnAndTheMoveFollows) {
  gateway.http("POST", "/api/kernels/" + session.value + "/restart");
  drain("h2");
  gateway.advance(1s);
  EXPECT_THAT(opened(), IsEmpty());
}

class GatewayMovesWarm : public GatewayMoves {
 protected:
  void SetUp() override {
    gateway.config.standbys = session::Standbys::kWarm;
    GatewayMoves::SetUp();
  }
};

TEST_F(GatewayMovesWarm, ATargetThatDoesNotPrepareIsWaitedForTenSeconds) {
  post("migrate", R"({"host":"h4"})");
  join_h4();
  set([](ReplicaReport& report) { report.complete = true; });
  gateway.execute(tab, "c2");
  gateway.advance(20s);
  gateway.end({"h1"}, session, "c2");
  gateway.advance(9s);
  EXPECT_THAT(asked().question, Not(HasSubstr("hand_over"))) << "while a cell runs it need not be ready";
  gateway.advance(2s);
  EXPECT_THAT(asked().question, HasSubstr("hand_over"));
}

}  // namespace
}  // namespace banyan::node
