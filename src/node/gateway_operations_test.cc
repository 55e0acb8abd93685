// Suspending, resuming and moving a session, as the gateway sees it.

#include <gmock/gmock.h>

#include "node/test_operations.h"

namespace banyan::node {
namespace {

using ::testing::HasSubstr;

TEST_F(GatewayOperations, ASuspensionIsAnsweredWhenNoWorkerIsLeft) {
  begin();
  EXPECT_EQ(post("suspend").status, 0);
  EXPECT_THAT(asked().question, HasSubstr("suspend"));
  answer(R"({"suspended":true,"lost":[]})");
  set([](ReplicaReport& report) { report.suspended = true; });
  EXPECT_EQ(gateway.last_reply().status, 0);
  set([](ReplicaReport& report) {
    report.worker = WorkerState::kNone;
    report.worker_pid = 0;
  });
  EXPECT_EQ(gateway.last_reply().status, 200);
  EXPECT_EQ(state(), "suspended");
  EXPECT_EQ(gateway.model(session)["execution_state"], "idle") << "stock clients know no other word";
}

TEST_F(GatewayOperations, ASuspensionWaitsForValuesThatAreStillCopied) {
  begin();
  const auto copied = [&](std::uint64_t left) {
    set([left](ReplicaReport& report) { report.pending_bytes = report.replica == ReplicaId{1} ? left : 0; });
  };
  copied(2000);
  EXPECT_EQ(post("suspend").status, 0);
  EXPECT_EQ(asked().question, "");
  gateway.advance(40s);
  copied(1000);
  EXPECT_EQ(gateway.last_reply().status, 0) << "they may take longer than a suspension does";
  EXPECT_EQ(asked().question, "");
  copied(0);
  EXPECT_THAT(asked().question, HasSubstr("suspend"));
}

TEST_F(GatewayOperations, ASuspensionThatIsForcedDoesNotWaitForThem) {
  begin();
  set([](ReplicaReport& report) { report.pending_bytes = 2000; });
  EXPECT_EQ(post("suspend", R"({"force":true})").status, 0);
  EXPECT_THAT(asked().question, HasSubstr("suspend"));
}

TEST_F(GatewayOperations, AModelSaysHowMuchIsPendingAndForHowLong) {
  begin();
  const auto model = [&] {
    return nlohmann::json::parse(gateway.http("GET", "/api/banyan/sessions").body)[0];
  };
  EXPECT_FALSE(model().contains("pending"));
  set([](ReplicaReport& report) {
    report.pending_bytes = 2000;
    report.captured_bytes = 500;
    report.pending_for_s = 3;
  });
  EXPECT_EQ(model()["pending"]["bytes"], 2000);
  EXPECT_EQ(model()["pending"]["captured_bytes"], 500);
  EXPECT_EQ(model()["pending"]["for_ms"], 3000);
}

TEST_F(GatewayOperations, OnlyTheAnswerToItsOwnQuestionIsTaken) {
  begin();
  EXPECT_EQ(post("migrate", R"({"host":"h4"})").status, 0);
  gateway.from_host({"h1"}, SessionAnswer{.session = session, .request = "r", .content = R"({"lost":[]})"});
  EXPECT_TRUE(gateway.got<OpenReplica>({"h4"}).empty()) << "nobody has said what would be lost";
  answer(R"({"lost":[]})");
  EXPECT_EQ(gateway.got<OpenReplica>({"h4"}).size(), 1U);
}

TEST_F(GatewayOperations, WhenTheHostThatWasAskedGoesAnotherOneIsAsked) {
  begin();
  EXPECT_EQ(post("migrate", R"({"host":"h4"})").status, 0);
  const std::string question = asked().question;
  gateway.forget();
  gateway.lose_host({"h1"});
  gateway.advance(500ms);
  const auto hosts = gateway.who_got<AskSession>();
  ASSERT_EQ(hosts.size(), 1U) << "long before the time for an answer is over";
  EXPECT_EQ(gateway.got<AskSession>(hosts[0]).at(0).question, question);
}

/// A client reads a chunk, as an export does.
class ReadsChunk : public GatewayOperations {
 protected:
  ReadsChunk() {
    begin();
    gateway.http("GET", "/api/banyan/sessions/" + session.value + "/chunks/" + to_hex(digest));
  }
  std::size_t times_asked() {
    std::size_t times = 0;
    for (auto& [id, host] : gateway.hosts) times += gateway.got<ChunkWanted>(id).size();
    return times;
  }
  HostId asked_last() {
    const std::vector<HostId> asked = gateway.who_got<ChunkWanted>();
    EXPECT_EQ(asked.size(), 1);
    return asked.empty() ? HostId{} : asked[0];
  }
  /// The host that is asked lacks it.
  HostId lacks() {
    const HostId host = asked_last();
    gateway.forget();
    gateway.from_host(host, ChunkPart{.session = session, .digest = digest});
    return host;
  }

  const std::string bytes = "the bytes of a value";
  const Digest digest = digest_of(bytes);
};

TEST_F(ReadsChunk, TheNextHostIsAskedAtOnceWhenOneLacksIt) {
  const HostId first = lacks();
  const HostId second = asked_last();
  EXPECT_NE(first, second);
  gateway.from_host(second, ChunkPart{session, digest, bytes.size(), 0, Blob(bytes), {}});
  EXPECT_EQ(gateway.last_reply().status, 200);
  EXPECT_EQ(gateway.last_reply().body, bytes);
}

TEST_F(ReadsChunk, OneThatNoHostHasYetIsAskedForAgain) {
  for (int i = 0; i < 3; ++i) lacks();
  EXPECT_EQ(gateway.last_reply().status, 0);
  gateway.advance(100ms);
  gateway.from_host(asked_last(), ChunkPart{session, digest, bytes.size(), 0, Blob(bytes), {}});
  EXPECT_EQ(gateway.last_reply().status, 200);
}

TEST_F(ReadsChunk, OneThatNoHostComesToHaveIsNotFound) {
  for (int i = 0; i < 200 && gateway.last_reply().status == 0; ++i) {
    if (times_asked() > 0) lacks();
    gateway.advance(50ms);
  }
  EXPECT_EQ(gateway.last_reply().status, 404);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr(to_hex(digest)));
}

TEST_F(ReadsChunk, AHostThatIsSilentIsNotWaitedForForLong) {
  const HostId silent = asked_last();
  gateway.forget();
  gateway.advance(6s);
  EXPECT_NE(asked_last(), silent);
}

TEST_F(GatewayOperations, WhatWouldBeLostIsAConflict) {
  begin();
  post("suspend");
  gateway.from_host({"h1"}, SessionAnswer{.session = session,
                                          .request = asked().request,
                                          .refused = ErrorKind::kDenied,
                                          .reason = "suspending the session would lose 'f'"});
  EXPECT_EQ(gateway.last_reply().status, 409);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr("'f'"));
}

TEST_F(GatewayOperations, ARequestOfAClientWakesTheSession) {
  begin();
  set([](ReplicaReport& report) {
    report.suspended = true;
    report.worker = WorkerState::kNone;
  });
  gateway.advance(1s);
  gateway.forget();
  gateway.say(tab, TestGateway::request("kernel_info_request", "k1"));
  gateway.advance(100ms);
  EXPECT_THAT(asked().question, HasSubstr("resume"));
  answer("{}");
  set([](ReplicaReport& report) {
    report.suspended = false;
    report.worker = WorkerState::kReady;
    report.worker_pid = 8;
  });
  EXPECT_EQ(gateway.got<ToKernel>({"h1"}).size(), 1U);
}

TEST_F(GatewayOperations, ASuspendedSessionWakesAlsoWhenItsExecutorsHostIsDown) {
  begin();
  set([](ReplicaReport& report) {
    report.suspended = true;
    report.worker = WorkerState::kNone;
  });
  gateway.advance(1s);
  gateway.lose_host({"h1"});
  gateway.forget();
  gateway.say(tab, TestGateway::request("kernel_info_request", "k1"));
  gateway.advance(100ms);
  ASSERT_EQ(gateway.who_got<AskSession>().size(), 1U);
  EXPECT_THAT(gateway.got<AskSession>(gateway.who_got<AskSession>()[0])[0].question, HasSubstr("resume"));
}

TEST_F(GatewayOperations, AQuestionWaitsUntilANewSessionHasALeader) {
  gateway.start_with_hosts();
  session = gateway.create();
  set([](ReplicaReport& report) { report.leader = {}; });
  const std::string upload = "123e4567-e89b-12d3-a456-426614174000";
  EXPECT_EQ(post("import?upload=" + upload, "state").status, 0);
  EXPECT_TRUE(gateway.who_got<ImportSession>().empty());
  set([](ReplicaReport& report) { report.leader = {2}; });
  gateway.advance(100ms);
  EXPECT_EQ(gateway.who_got<ImportSession>(), (std::vector<HostId>{{"h2"}}));
}

TEST_F(GatewayOperations, AWokenSessionIsNotPutToRestAtOnce) {
  gateway.config.suspend_after = 60s;
  begin();
  set([](ReplicaReport& report) {
    report.suspended = true;
    report.worker = WorkerState::kNone;
  });
  gateway.advance(600s);
  gateway.say(tab, TestGateway::request("kernel_info_request", "k1"));
  gateway.advance(100ms);
  answer("{}");
  set([](ReplicaReport& report) {
    report.suspended = false;
    report.worker = WorkerState::kReady;
    report.worker_pid = 8;
  });
  gateway.from_host({"h1"}, FromKernel{session,
                                       {},
                                       0,
                                       TestGateway::kernel_message("kernel_info_reply", "k1", "{}",
                                                                   jupyter::Channel::kShell)});
  gateway.forget();
  gateway.advance(30s);
  EXPECT_EQ(asked().question, "");
}

TEST_F(GatewayOperations, AnIdleSessionIsSuspendedByPolicyOnceUnlessSomethingWouldBeLost) {
  gateway.config.suspend_after = 60s;
  begin();
  gateway.forget();
  gateway.advance(50s);
  EXPECT_EQ(asked().question, "");
  gateway.advance(15s);
  EXPECT_THAT(asked().question, HasSubstr("suspend"));
  gateway.from_host({"h1"}, SessionAnswer{.session = session,
                                          .request = asked().request,
                                          .refused = ErrorKind::kDenied,
                                          .reason = "would lose 'f'"});
  gateway.forget();
  gateway.advance(120s);
  EXPECT_EQ(asked().question, "") << "nothing has changed since";
}

/// A session that did something in the background when its last cell ended.
class GatewayLooks : public GatewayOperations {
 protected:
  void begin_working() {
    begin();
    set([](ReplicaReport& report) { report.works = true; });
    gateway.forget();
  }
  /// The cell of the gateway's own that it asks for ends; the hosts report whether work goes on.
  void end_look(CommitId commit, bool works) {
    const auto cells = gateway.got<Execute>({"h1"});
    ASSERT_EQ(cells.size(), 1U);
    EXPECT_THAT(std::string(cells[0].request.content.view()),
                HasSubstr("# changes by code outside of cells"));
    gateway.forget();
    gateway.end({"h1"}, session, cells[0].execution.value);
    set([&](ReplicaReport& report) {
      report.last = report.shown = commit;
      report.works = works;
    });
  }
  void deny() {
    gateway.from_host({"h1"}, SessionAnswer{.session = session,
                                            .request = asked().request,
                                            .refused = ErrorKind::kDenied,
                                            .reason = "would lose 'thread T runs work'"});
  }
};

TEST_F(GatewayLooks, WorkIsLookedAtBeforeItIsSaidWhatASuspensionWouldLose) {
  begin_working();
  post("suspend");
  EXPECT_EQ(asked().question, "") << "the log does not know yet what is so now";
  end_look({2}, true);
  EXPECT_THAT(asked().question, HasSubstr("suspend"));
  deny();
  EXPECT_EQ(gateway.last_reply().status, 409);
  EXPECT_TRUE(gateway.got<Execute>({"h1"}).empty()) << "it is not looked at again";
}

TEST_F(GatewayLooks, WhatIsKnownIsNotLookedAt) {
  begin();
  gateway.forget();
  post("suspend");
  EXPECT_TRUE(gateway.got<Execute>({"h1"}).empty());
  EXPECT_THAT(asked().question, HasSubstr("suspend"));
}

TEST_F(GatewayLooks, CallbacksOfWidgetsAreLookedAt) {
  begin();
  gateway.say(tab, TestGateway::request("comm_msg", "m1"));
  gateway.forget();
  post("suspend");
  EXPECT_EQ(asked().question, "");
  end_look({2}, false);
  EXPECT_THAT(asked().question, HasSubstr("suspend"));
}

TEST_F(GatewayLooks, WhateverCallsBackIsLookedAtAndNothingElseIs) {
  for (const char* type : {"comm_open", "comm_msg", "comm_close", "complete_request", "debug_request"}) {
    begin();
    gateway.say(tab, TestGateway::request(type, "m1"));
    gateway.forget();
    post("suspend");
    EXPECT_EQ(gateway.got<Execute>({"h1"}).size(), std::string(type).starts_with("comm_") ? 1U : 0U) << type;
    gateway.http("DELETE", "/api/kernels/" + session.value);
  }
}

TEST_F(GatewayLooks, OfCallbacksBeforeTheLastCellOnlyThoseAreLookedAtThatMayStillRun) {
  begin();
  for (const char* comm : {"m1", "m2"}) {
    gateway.say(tab, TestGateway::request("comm_msg", comm));
    gateway.execute(tab, std::string("c") + comm);
    gateway.from_host(
        {"h1"},
        FromKernel{
            session, {}, 0, TestGateway::kernel_message("status", "m1", R"({"execution_state":"idle"})")});
    gateway.end({"h1"}, session, std::string("c") + comm);
    gateway.forget();
    post("suspend");
    EXPECT_EQ(gateway.got<Execute>({"h1"}).size(), comm == std::string("m1") ? 0U : 1U) << comm;
    gateway.advance(31s);
  }
}

TEST_F(GatewayLooks, AMoveLooksOnceMoreBeforeItHandsTheLeadOver) {
  begin_working();
  EXPECT_EQ(post("migrate", R"({"host":"h2","force":true})").status, 0);
  end_look({2}, true);
  EXPECT_THAT(asked().question, HasSubstr("leave"));
  answer(R"({"lost":[{"name":"thread T runs work","reason":"it goes on"}]})");
  gateway.advance(400ms);
  EXPECT_THAT(asked().question, ::testing::Not(HasSubstr("hand_over")));
  end_look({3}, true);
  EXPECT_THAT(asked().question, HasSubstr("hand_over"));
}

TEST_F(GatewayLooks, AnIdleSessionThatWorkedIsLookedAtAgainWhenItWasIdleForAsLong) {
  gateway.config.suspend_after = 60s;
  begin_working();
  gateway.advance(65s);
  end_look({2}, true);
  EXPECT_THAT(asked().question, HasSubstr("suspend"));
  deny();
  gateway.forget();
  gateway.advance(50s);
  EXPECT_TRUE(gateway.got<Execute>({"h1"}).empty());
  gateway.advance(15s);
  end_look({3}, false);
  EXPECT_THAT(asked().question, HasSubstr("suspend")) << "the work has ended";
}

TEST_F(GatewayOperations, AMoveAddsAReplicaThenHandsTheLeadOverThenDropsTheOldOne) {
  begin();
  EXPECT_EQ(post("migrate", R"({"host":"h9"})").status, 404);
  EXPECT_EQ(post("migrate", R"({"host":7})").status, 400);
  gateway.from_host({"h4"}, HostReport{.gpus = 2});
  EXPECT_EQ(post("migrate", R"({"host":"h4"})").status, 0);
  EXPECT_EQ(asked().question, R"({"do":"leave","force":false,"gpus":2})");
  answer(R"({"lost":[{"name":"gen","reason":"nothing makes it"}]})");
  gateway.advance(400ms);
  ASSERT_EQ(gateway.got<OpenReplica>({"h4"}).size(), 1U);
  const session::Members four{{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  EXPECT_EQ(gateway.got<ChangeMembers>({"h1"}).back().members, four);
  gateway.forget();
  set([&](ReplicaReport& report) { report.members = four; });
  EXPECT_EQ(asked().question, "") << "the new one has neither values nor a worker";
  set([](ReplicaReport& report) {
    report.executor = {1};
    report.epoch = {1};
    report.last = report.shown = {1};
    report.complete = true;
    report.worker = WorkerState::kReady;
  });
  EXPECT_THAT(asked().question, HasSubstr(R"("to":4)"));
  answer("{}");
  set([](ReplicaReport& report) {
    report.executor = {4};
    report.epoch = {2};
  });
  gateway.advance(100ms);
  const session::Members three{{{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  EXPECT_EQ(gateway.got<ChangeMembers>({"h2"}).back().members, three);
  set([&](ReplicaReport& report) { report.members = three; });
  EXPECT_EQ(gateway.got<CloseReplica>({"h1"}).size(), 1U);
  EXPECT_EQ(gateway.last_reply().status, 200);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr("gen")) << "what was said to be lost stays said";
}

/// A session that has moved to h4, where some values are still missing.
class GatewayAfterAMove : public GatewayOperations {
 protected:
  void SetUp() override {
    begin();
    post("migrate", R"({"host":"h4"})");
    answer(R"({"lost":[]})");
    gateway.advance(400ms);
    set([&](ReplicaReport& report) {
      report.members = four;
      report.executor = {4};
      report.epoch = {2};
      report.last = report.shown = {1};
      report.worker = WorkerState::kReady;
      report.complete = report.replica != ReplicaId{4};
    });
    gateway.advance(100ms);
    ASSERT_EQ(gateway.last_reply().status, 200) << gateway.last_reply().body;
    EXPECT_THAT(gateway.last_reply().body, HasSubstr(R"("copied":false)"));
    gateway.forget();
  }
  bool dropped() { return !gateway.got<ChangeMembers>({"h2"}).empty(); }
  void fill() {
    set([](ReplicaReport& report) { report.complete = true; });
    gateway.advance(100ms);
  }
  const session::Members four{{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
};

TEST_F(GatewayAfterAMove, WhoLedLeavesWhenAllIsCopied) {
  gateway.advance(30s);
  EXPECT_FALSE(dropped());
  fill();
  ASSERT_TRUE(dropped());
  EXPECT_FALSE(gateway.got<ChangeMembers>({"h2"}).back().members.contains({1}));
}

TEST_F(GatewayOperations, WhoLedLeavesAfterAMoveAlsoWhereAnotherReplicaIsOlder) {
  begin();
  set([](ReplicaReport& report) {
    report.executor = report.leader = {2};
    report.epoch = {2};
  });
  gateway.forget();
  post("migrate", R"({"host":"h4"})");
  ASSERT_FALSE(gateway.got<AskSession>({"h2"}).empty());
  gateway.from_host({"h2"}, SessionAnswer{.session = session,
                                          .request = gateway.got<AskSession>({"h2"}).back().request,
                                          .content = R"({"lost":[]})"});
  gateway.advance(400ms);
  set([](ReplicaReport& report) {
    report.members = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
    report.executor = report.leader = {4};
    report.epoch = {3};
    report.last = report.shown = {1};
    report.worker = WorkerState::kReady;
    report.complete = true;
  });
  gateway.advance(400ms);
  ASSERT_EQ(gateway.last_reply().status, 200) << gateway.last_reply().body;
  const session::Members three{{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  ASSERT_FALSE(gateway.got<ChangeMembers>({"h1"}).empty());
  EXPECT_EQ(gateway.got<ChangeMembers>({"h1"}).back().members, three);
}

TEST_F(GatewayAfterAMove, WhoLedLeavesAlsoWhenTheGatewayHasStartedAgain) {
  gateway.stop();
  gateway.start_with_hosts();
  set([&](ReplicaReport& report) { report.members = four; });
  gateway.forget();
  fill();
  gateway.advance(1s);
  ASSERT_TRUE(dropped());
  EXPECT_FALSE(gateway.got<ChangeMembers>({"h2"}).back().members.contains({1}));
}

TEST_F(GatewayAfterAMove, AHostThatDiesThenIsAMemberUntilTheOthersHaveItsValues) {
  gateway.lose_host({"h1"});
  gateway.advance(20s);
  EXPECT_FALSE(dropped()) << "what it had may be on one other host only";
  fill();
  EXPECT_TRUE(dropped());
}

TEST_F(GatewayAfterAMove, TheNextMoveWaitsForTheFirst) {
  EXPECT_EQ(post("migrate", R"({"host":"h5"})").status, 0);
  gateway.from_host({"h4"}, SessionAnswer{.session = session,
                                          .request = gateway.got<AskSession>({"h4"}).back().request,
                                          .content = R"({"lost":[]})"});
  gateway.advance(30s);
  EXPECT_TRUE(gateway.got<OpenReplica>({"h5"}).empty()) << "a majority of five might have none of the values";
  fill();
  const session::Members three{{{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  set([&](ReplicaReport& report) { report.members = three; });
  gateway.advance(1s);
  EXPECT_EQ(gateway.got<OpenReplica>({"h5"}).size(), 1U) << "the first is over";
}

TEST_F(GatewayAfterAMove, SomethingElseMayBeAskedOfItAtOnce) {
  EXPECT_EQ(post("suspend").status, 0);
  EXPECT_THAT(gateway.got<AskSession>({"h4"}).back().question, HasSubstr("suspend"));
}

TEST_F(GatewayOperations, AMoveHasItsTargetPrepareItself) {
  begin();
  post("migrate", R"({"host":"h4"})");
  answer(R"({"lost":[]})");
  gateway.advance(400ms);
  set([](ReplicaReport& report) {
    report.members = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  });
  gateway.advance(100ms);
  ASSERT_FALSE(gateway.got<AskSession>({"h4"}).empty());
  EXPECT_EQ(gateway.got<AskSession>({"h4"}).back().question, R"({"do":"prepare"})");
}

TEST_F(GatewayOperations, AMoveHandsOverAsSoonAsItsTargetShowsHead) {
  begin();
  post("migrate", R"({"host":"h4"})");
  answer(R"({"lost":[]})");
  set([](ReplicaReport& report) {
    report.last = report.shown = {1};
    report.worker = WorkerState::kReady;
    report.members = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  });
  EXPECT_THAT(asked().question, HasSubstr("hand_over"));
  const std::string first = asked().request;
  answer(R"({"executor":4,"lost":[]})");
  EXPECT_EQ(asked().request, first) << "not again at once";
}

TEST_F(GatewayOperations, AMoveToAHostThatDiesLeavesTheSessionWhereItIs) {
  begin();
  EXPECT_EQ(post("migrate", R"({"host":"h4"})").status, 0);
  answer(R"({"lost":[]})");
  gateway.advance(400ms);
  gateway.lose_host({"h4"});
  gateway.advance(100ms);
  EXPECT_EQ(gateway.last_reply().status, 503);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr("stays"));
  EXPECT_TRUE(gateway.got<CloseReplica>({"h1"}).empty());
}

}  // namespace
}  // namespace banyan::node
