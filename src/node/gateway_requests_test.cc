// Requests other than cells: who answers them, and what clients see of it.

#include <gmock/gmock.h>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using jupyter::Channel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GatewayRequests : public ::testing::Test {
 protected:
  void SetUp() override {
    gateway.start_with_hosts();
    session = gateway.create();
    tab = gateway.connect(session, "tab");
    gateway.forget();
  }
  HostId asked() {
    const auto hosts = gateway.who_got<ToKernel>();
    return hosts.size() == 1 ? hosts[0] : HostId{std::to_string(hosts.size()) + " hosts"};
  }
  void reply(const HostId& host, const std::string& type, const std::string& parent,
             const std::string& parent_session = "tab") {
    gateway.from_host(host, FromKernel{session,
                                       {},
                                       0,
                                       TestGateway::kernel_message(type, parent, R"({"status":"ok"})",
                                                                   Channel::kShell, parent_session)});
  }
  void state(const HostId& host, const std::string& state, const std::string& parent) {
    gateway.from_host(host, FromKernel{session,
                                       {},
                                       0,
                                       TestGateway::kernel_message(
                                           "status", parent, R"({"execution_state":")" + state + "\"}")});
  }
  HostId run(const std::string& cell) {
    gateway.execute(tab, cell);
    const HostId host = gateway.who_got<Execute>()[0];
    auto& replica = gateway.hosts[host].replicas[session];
    replica.running = ExecutionId{cell};
    replica.executor = replica.replica;
    replica.epoch = {1};
    replica.worker = WorkerState::kBusy;
    gateway.report(host, session);
    gateway.forget();
    return host;
  }

  TestGateway gateway;
  SessionId session;
  ConnectionId tab;
};

TEST_F(GatewayRequests, AReplyGoesToTheClientThatAskedOnce) {
  const ConnectionId other = gateway.connect(session, "other");
  gateway.say(tab, TestGateway::request("complete_request", "r1"));
  const HostId host = asked();
  reply(host, "complete_reply", "r1");
  reply(host, "complete_reply", "r1");
  EXPECT_THAT(gateway.heard(tab), ElementsAre("complete_reply:ok(r1)"));
  EXPECT_THAT(gateway.heard(other), IsEmpty());
}

TEST_F(GatewayRequests, ARequestThatComesBeforeAnyWorkerIsReadyWaitsForOne) {
  gateway.worker = WorkerState::kStarting;
  const SessionId fresh = gateway.create();
  const ConnectionId client = gateway.connect(fresh, "x");
  EXPECT_EQ(gateway.model(fresh)["execution_state"], "starting");
  gateway.say(client, TestGateway::request("kernel_info_request", "r1"));
  EXPECT_THAT(gateway.who_got<ToKernel>(), IsEmpty());
  for (auto& [id, host] : gateway.hosts) {
    if (!host.replicas.contains(fresh)) continue;
    host.replicas[fresh].worker = WorkerState::kReady;
    gateway.report(id, fresh);
    break;
  }
  EXPECT_EQ(gateway.who_got<ToKernel>().size(), 1U);
  EXPECT_EQ(gateway.model(fresh)["execution_state"], "idle");
}

TEST_F(GatewayRequests, WhatWaitsForAWorkerReachesItInTheOrderOfItsArrival) {
  gateway.worker = WorkerState::kStarting;
  const SessionId fresh = gateway.create();
  const ConnectionId client = gateway.connect(fresh, "x");
  for (const char* id : {"r2", "r1", "r3"})
    gateway.say(client, TestGateway::request("kernel_info_request", id));
  for (auto& [id, host] : gateway.hosts) {
    if (!host.replicas.contains(fresh)) continue;
    host.replicas[fresh].worker = WorkerState::kReady;
    gateway.report(id, fresh);
    break;
  }
  const auto hosts = gateway.who_got<ToKernel>();
  ASSERT_EQ(hosts.size(), 1U);
  std::vector<std::string> order;
  for (const auto& sent : gateway.got<ToKernel>(hosts[0]))
    order.push_back(jupyter::parse_header(sent.message.header)->msg_id);
  EXPECT_THAT(order, ElementsAre("r2", "r1", "r3"));
}

TEST_F(GatewayRequests, WhatFollowsACellReachesItsExecutorAfterTheCell) {
  const HostId host = run("c1");
  gateway.end(host, session, "c1");
  const HostId other{host == HostId{"h1"} ? "h2" : "h1"};
  gateway.hosts[other].replicas[session].worker = WorkerState::kStarting;
  gateway.report(other, session);
  for (const HostId& id : {HostId{"h1"}, HostId{"h2"}, HostId{"h3"}}) gateway.lose_host(id);
  gateway.execute(tab, "c2");
  gateway.say(tab, TestGateway::request("comm_open", "r1"));
  gateway.find_host(other);
  gateway.forget();
  gateway.find_host(host);
  std::vector<std::string> order;
  for (const PeerMessage& message : gateway.hosts[host].got) {
    if (std::holds_alternative<Execute>(message)) order.emplace_back("cell");
    if (std::holds_alternative<ToKernel>(message)) order.emplace_back("comm");
  }
  EXPECT_THAT(order, ElementsAre("cell", "comm"));
}

TEST_F(GatewayRequests, WhileACellRunsAStandbyAnswersWhatEveryReplicaKnows) {
  const HostId executor = run("c1");
  for (const char* type : {"complete_request", "inspect_request", "is_complete_request",
                           "kernel_info_request", "history_request"}) {
    gateway.forget();
    gateway.say(tab, TestGateway::request(type, type));
    EXPECT_NE(asked(), executor) << type;
    EXPECT_EQ(asked().value.size(), 2U) << type;
  }
}

TEST_F(GatewayRequests, CommsControlAndStdinGoToTheExecutorAlways) {
  const HostId executor = run("c1");
  gateway.say(tab, TestGateway::request("comm_msg", "m1"));
  EXPECT_EQ(asked(), executor);
  gateway.forget();
  gateway.say(tab, TestGateway::request("comm_info_request", "m0"));
  EXPECT_EQ(asked(), executor) << "a standby does not know what the cell has opened";
  gateway.forget();
  gateway.say(tab, TestGateway::request("debug_request", "m2", "{}", Channel::kControl));
  EXPECT_EQ(asked(), executor);
  gateway.forget();
  gateway.say(tab, TestGateway::request("kernel_info_request", "m3", "{}", Channel::kControl));
  EXPECT_EQ(asked(), executor);
}

TEST_F(GatewayRequests, WithoutAStandbyTheExecutorIsAsked) {
  const HostId executor = run("c1");
  for (auto& [id, host] : gateway.hosts) {
    if (id != executor) gateway.lose_host(id);
  }
  gateway.say(tab, TestGateway::request("complete_request", "r1"));
  EXPECT_EQ(asked(), executor);
}

TEST_F(GatewayRequests, AStandbyThatStartsIsWaitedFor) {
  const HostId executor = run("c1");
  HostId standby;
  for (auto& [id, host] : gateway.hosts) {
    if (id == executor || !host.replicas.contains(session)) continue;
    host.replicas[session].worker = WorkerState::kStarting;
    gateway.report(id, session);
    standby = id;
  }
  gateway.say(tab, TestGateway::request("complete_request", "r1"));
  EXPECT_THAT(gateway.who_got<ToKernel>(), IsEmpty());
  gateway.hosts[standby].replicas[session].worker = WorkerState::kReady;
  gateway.report(standby, session);
  EXPECT_EQ(asked(), standby);
}

TEST_F(GatewayRequests, BetweenCellsWhoToldTheLastEndIsAskedAlsoBeforeItReports) {
  const HostId before = run("c1");
  gateway.end(before, session, "c1");
  gateway.lose_host(before);
  gateway.forget();
  gateway.execute(tab, "c2");
  const HostId next = gateway.who_got<Execute>()[0];
  for (auto& [id, host] : gateway.hosts) {
    if (!host.up || !host.replicas.contains(session) || id == next) continue;
    host.replicas[session].leader = host.replicas[session].replica;
    host.replicas[session].term = 9;
    gateway.report(id, session);
  }
  ExecutionEnded end{.session = session, .execution = {"c2"}, .status = session::Status::kOk};
  end.commit = {2};
  gateway.from_host(next, std::move(end));
  gateway.say(tab, TestGateway::request("history_request", "r1"));
  EXPECT_EQ(asked(), next);
}

TEST_F(GatewayRequests, WhereTheExecutorHasNoWorkerTheLeaderIsAskedBeforeOthers) {
  for (const char* name : {"h1", "h2", "h3"}) {
    ReplicaReport& report = gateway.hosts[{name}].replicas[session];
    report.executor = {1};
    report.leader = {3};
    if (report.replica == ReplicaId{1}) report.worker = WorkerState::kStarting;
    gateway.report({name}, session);
  }
  gateway.say(tab, TestGateway::request("complete_request", "r1"));
  EXPECT_EQ(asked(), HostId{"h3"});
  gateway.hosts[{"h3"}].replicas[session].worker = WorkerState::kStarting;
  gateway.report({"h3"}, session);
  gateway.forget();
  gateway.say(tab, TestGateway::request("complete_request", "r2"));
  EXPECT_EQ(asked(), HostId{"h2"}) << "whoever has one";
}

TEST_F(GatewayRequests, OfTheStandbysTheOneWhoseHostRunsFewestCellsIsAsked) {
  const SessionId other = gateway.create();
  const ConnectionId others = gateway.connect(other, "others");
  const HostId executor = run("c1");
  ASSERT_EQ(executor, HostId{"h1"});
  gateway.say(tab, TestGateway::request("complete_request", "r1"));
  EXPECT_EQ(asked(), HostId{"h2"}) << "they are alike";
  ASSERT_TRUE(gateway.hosts[{"h2"}].replicas.contains(other));
  gateway.execute(others, "d1");
  gateway.output({"h2"}, other, "d1", 1, "it runs");
  gateway.forget();
  gateway.say(tab, TestGateway::request("complete_request", "r2"));
  EXPECT_EQ(asked(), HostId{"h3"});
}

TEST_F(GatewayRequests, ARequestThatIsSaidTwiceIsAskedOnce) {
  for (int i = 0; i < 2; ++i) gateway.say(tab, TestGateway::request("complete_request", "r1"));
  EXPECT_EQ(gateway.got<ToKernel>(asked()).size(), 1U);
}

TEST_F(GatewayRequests, OfTooManyThatNobodyAnswersTheOldestIsAnsweredWithAnError) {
  gateway.worker = WorkerState::kStarting;
  const SessionId fresh = gateway.create();
  const ConnectionId client = gateway.connect(fresh, "x");
  for (int i = 0; i < 1024; ++i)
    gateway.step(
        FromClient{client, TestGateway::request("complete_request", "r" + std::to_string(2000 - i))});
  gateway.exchange();
  EXPECT_THAT(gateway.heard(client), IsEmpty());
  gateway.say(client, TestGateway::request("complete_request", "straw"));
  EXPECT_THAT(gateway.heard(client),
              ElementsAre("status:busy(r2000)", "complete_reply:error(r2000)", "status:idle(r2000)"));
  gateway.from_host(
      {"h1"},
      FromKernel{
          fresh, {}, 0, TestGateway::kernel_message("complete_reply", "r2000", "{}", Channel::kShell, "x")});
  EXPECT_EQ(gateway.heard(client).size(), 3U) << "one reply for each request";
}

TEST_F(GatewayRequests, WhatIsWithAWorkerIsNotSentAgainWhenAnotherRequestIs) {
  const HostId executor = run("c1");
  for (auto& [id, host] : gateway.hosts) {
    if (!host.replicas.contains(session)) continue;
    host.replicas[session].last = {1};
    if (id == executor) host.replicas[session].shown = {1};
    gateway.report(id, session);
  }
  gateway.say(tab, TestGateway::request("comm_msg", "m1"));
  gateway.say(tab, TestGateway::request("complete_request", "r1"));
  EXPECT_EQ(asked(), executor);
  gateway.forget();
  gateway.hosts[{"h2"}].replicas[session].shown = {1};
  gateway.report({"h2"}, session);
  EXPECT_EQ(asked(), HostId{"h2"});
}

TEST_F(GatewayRequests, AWorkerIsGoneOnlyWhenItsOwnHostSaysSo) {
  const HostId executor = run("c1");
  gateway.say(tab, TestGateway::request("usage_request", "r1", "{}", Channel::kControl));
  gateway.report(executor, session);
  gateway.hosts[{"h2"}].replicas[session].worker_pid = 4711;
  gateway.report({"h2"}, session);
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
  gateway.hosts[executor].replicas[session].worker = WorkerState::kNone;
  gateway.report(executor, session);
  EXPECT_THAT(gateway.heard(tab), ::testing::Contains("usage_reply:error(r1)"));
  gateway.forget();
  gateway.hosts[executor].replicas[session].worker_pid = 4712;
  gateway.report(executor, session);
  EXPECT_THAT(gateway.heard(tab), IsEmpty()) << "that was said";
}

TEST_F(GatewayRequests, AReplyGoesToWhoAskedWhateverTheRequestSays) {
  const ConnectionId other = gateway.connect(session, "other");
  gateway.say(tab, TestGateway::request("complete_request", "r1", "{}", Channel::kShell, "other"));
  reply(asked(), "complete_reply", "r1", "other");
  EXPECT_THAT(gateway.heard(tab), ElementsAre("complete_reply:ok(r1)"));
  EXPECT_THAT(gateway.heard(other), IsEmpty());
}

TEST_F(GatewayRequests, OneWithoutAReplyIsOverWhenItsWorkerIsIdle) {
  gateway.say(tab, TestGateway::request("comm_msg", "m1"));
  gateway.say(tab, TestGateway::request("usage_request", "r1", "{}", Channel::kControl));
  const HostId host = asked();
  for (const char* one : {"m1", "r1", "unknown"}) state(host, "idle", one);
  gateway.clients[tab].got.clear();
  gateway.lose_host(host);
  gateway.exchange();
  EXPECT_THAT(gateway.heard(tab), ElementsAre("status:busy(r1)", "usage_reply:error(r1)", "status:idle(r1)"))
      << "a reply may come after the idle";
}

TEST_F(GatewayRequests, WhatIsForASubshellIsRefusedAndReachesNoWorker) {
  for (const char* type : {"execute_request", "complete_request"}) {
    gateway.clients[tab].got.clear();
    auto request = TestGateway::request(type, type, R"({"code":"1"})");
    request.header.insert(request.header.size() - 1, R"(,"subshell_id":"s1")");
    gateway.say(tab, request);
    const auto& got = gateway.clients[tab].got;
    const auto reply = std::ranges::find(got, Channel::kShell, &jupyter::Message::channel);
    ASSERT_NE(reply, got.end()) << type;
    EXPECT_NE(reply->content.view().find("NotSupported"), std::string::npos);
    EXPECT_NE(got.back().content.view().find("idle"), std::string::npos);
  }
  EXPECT_TRUE(gateway.who_got<Execute>().empty());
  EXPECT_EQ(asked(), HostId{"0 hosts"});
  auto plain = TestGateway::request("complete_request", "r2");
  plain.header.insert(plain.header.size() - 1, R"(,"subshell_id":null)");
  gateway.say(tab, plain);
  EXPECT_NE(asked(), HostId{"0 hosts"});
}

TEST_F(GatewayRequests, WhoHasEndedACellIsWaitedForUntilItReportsThatItsWorkerIsReady) {
  gateway.execute(tab, "c1");
  const HostId host = gateway.who_got<Execute>()[0];
  gateway.hosts[host].replicas[session].worker = WorkerState::kStarting;
  gateway.report(host, session);
  ExecutionEnded end{.session = session, .execution = {"c1"}, .status = session::Status::kOk};
  end.commit = {1};
  gateway.from_host(host, std::move(end));
  gateway.say(tab, TestGateway::request("history_request", "r1"));
  EXPECT_THAT(gateway.who_got<ToKernel>(), IsEmpty());
  gateway.hosts[host].replicas[session].worker = WorkerState::kReady;
  gateway.report(host, session);
  EXPECT_EQ(asked(), host);
}

TEST_F(GatewayRequests, AStandbyThatLagsIsAskedOnceItShowsTheLastCommit) {
  const HostId executor = run("c1");
  for (auto& [id, host] : gateway.hosts) {
    if (!host.replicas.contains(session)) continue;
    host.replicas[session].last = {1};
    if (id == executor) host.replicas[session].shown = {1};
    gateway.report(id, session);
  }
  gateway.say(tab, TestGateway::request("complete_request", "r1"));
  EXPECT_THAT(gateway.who_got<ToKernel>(), IsEmpty());
  for (auto& [id, host] : gateway.hosts) {
    if (id == executor || !host.replicas.contains(session)) continue;
    host.replicas[session].shown = {1};
    gateway.report(id, session);
    EXPECT_EQ(asked(), id);
    return;
  }
}

TEST_F(GatewayRequests, AStandbysIdleDoesNotHideTheRunningCell) {
  run("c1");
  gateway.say(tab, TestGateway::request("complete_request", "r1"));
  const HostId standby = asked();
  state(standby, "busy", "r1");
  reply(standby, "complete_reply", "r1");
  state(standby, "idle", "r1");
  EXPECT_THAT(gateway.heard(tab),
              ElementsAre("status:busy(r1)", "complete_reply:ok(r1)", "status:idle(r1)", "status:busy(c1)"));
}

TEST_F(GatewayRequests, WithNoCellRunningAnIdleStandsAlone) {
  gateway.say(tab, TestGateway::request("complete_request", "r1"));
  state(asked(), "idle", "r1");
  EXPECT_THAT(gateway.heard(tab), ElementsAre("status:idle(r1)"));
}

TEST_F(GatewayRequests, TheStartOfAReplicasWorkerIsNoStateOfTheSession) {
  state({"h2"}, "starting", "");
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
}

TEST_F(GatewayRequests, OutputOutsideOfCellsReachesEveryClient) {
  const ConnectionId other = gateway.connect(session, "other");
  gateway.from_host({"h1"}, FromKernel{session, {}, 0, TestGateway::kernel_message("comm_open", "", "{}")});
  EXPECT_THAT(gateway.heard(tab), ElementsAre("comm_open()"));
  EXPECT_THAT(gateway.heard(other), ElementsAre("comm_open()"));
}

TEST_F(GatewayRequests, OnlyACommitAnswersACell) {
  const HostId executor = run("c1");
  reply(executor, "execute_reply", "c1");
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
}

TEST_F(GatewayRequests, WhenTheHostIsLostARepeatableRequestGoesToAnother) {
  gateway.say(tab, TestGateway::request("complete_request", "r1"));
  const HostId first = asked();
  gateway.forget();
  gateway.lose_host(first);
  gateway.exchange();
  EXPECT_NE(asked(), first);
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
}

TEST_F(GatewayRequests, WhenTheWorkerIsLostARequestForTheExecutorIsAnsweredWithAnError) {
  const HostId executor = run("c1");
  gateway.say(tab, TestGateway::request("usage_request", "r1", "{}", Channel::kControl));
  gateway.hosts[executor].replicas[session].worker_pid = 4711;
  gateway.report(executor, session);
  EXPECT_THAT(gateway.heard(tab),
              ElementsAre("status:busy(r1)", "usage_reply:error(r1)", "status:idle(r1)", "status:busy(c1)"));
  reply(executor, "usage_reply", "r1");
  EXPECT_EQ(gateway.heard(tab).size(), 4U) << "one reply for each request";
}

TEST_F(GatewayRequests, AReplyToARequestOfAnEarlierLifeFindsItsClient) {
  reply({"h1"}, "inspect_reply", "from-before");
  EXPECT_THAT(gateway.heard(tab), ElementsAre("inspect_reply:ok(from-before)"));
}

TEST_F(GatewayRequests, AnInterruptGoesToTheExecutorAndIsAnsweredByTheGateway) {
  const HostId executor = run("c1");
  gateway.say(tab, TestGateway::request("interrupt_request", "r1", "{}", Channel::kControl));
  EXPECT_THAT(gateway.who_got<Interrupt>(), ElementsAre(executor));
  EXPECT_THAT(gateway.heard(tab),
              ElementsAre("status:busy(r1)", "interrupt_reply:ok(r1)", "status:idle(r1)", "status:busy(c1)"));
  EXPECT_EQ(gateway.clients[tab].got[1].channel, Channel::kControl);
}

TEST_F(GatewayRequests, ShutdownEndsTheSession) {
  gateway.say(tab, TestGateway::request("shutdown_request", "r1", R"({"restart":false})", Channel::kControl));
  EXPECT_EQ(gateway.heard(tab)[1], "shutdown_reply:ok(r1)");
  EXPECT_EQ(gateway.clients[tab].close_code, 1000);
  EXPECT_EQ(gateway.http("GET", "/api/kernels/" + session.value).status, 404);
}

TEST_F(GatewayRequests, ShutdownWithRestartRestarts) {
  gateway.say(tab, TestGateway::request("shutdown_request", "r1", R"({"restart":true})", Channel::kControl));
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
  const auto sent = gateway.got<Restart>(gateway.who_got<Restart>().at(0));
  gateway.from_host({"h1"}, Restarted{session, sent[0].request});
  gateway.advance(150ms);
  EXPECT_EQ(gateway.heard(tab)[1], "shutdown_reply:ok(r1)");
  EXPECT_TRUE(gateway.clients[tab].open);
}

TEST_F(GatewayRequests, ACellAfterARestartIsNotAbortedByOneThatItEnded) {
  gateway.execute(tab, "c1");
  gateway.say(tab, TestGateway::request("shutdown_request", "r1", R"({"restart":true})", Channel::kControl));
  gateway.execute(tab, "c2");
  gateway.from_host({"h1"}, Restarted{session, gateway.got<Restart>({"h1"}).at(0).request});
  gateway.advance(150ms);
  gateway.end({"h1"}, session, "c1", 0, session::Status::kLost);
  EXPECT_THAT(gateway.heard(tab), ::testing::Contains("execute_reply:error(c1)"));
  EXPECT_THAT(gateway.heard(tab), ::testing::Not(::testing::Contains("execute_reply:aborted(c2)")));
}

class GatewayInput : public GatewayRequests {
 protected:
  void ask(const HostId& host) {
    gateway.from_host(host, FromKernel{session,
                                       {},
                                       0,
                                       TestGateway::kernel_message(
                                           "input_request", "c1", R"({"prompt":"name?"})", Channel::kStdin)});
  }
};

TEST_F(GatewayInput, IsAskedOfTheClientThatRanTheCellOnly) {
  const ConnectionId other = gateway.connect(session, "other");
  const HostId executor = run("c1");
  gateway.clients[other].got.clear();
  ask(executor);
  EXPECT_THAT(gateway.heard(tab), ElementsAre("input_request:name?(c1)"));
  EXPECT_THAT(gateway.heard(other), IsEmpty());
  gateway.say(tab, TestGateway::request("input_reply", "i1", R"({"value":"x"})", Channel::kStdin));
  EXPECT_EQ(asked(), executor);
}

TEST_F(GatewayInput, IsAskedAgainAfterAReconnect) {
  const HostId executor = run("c1");
  ask(executor);
  gateway.disconnect(tab);
  tab = gateway.connect(session, "tab");
  EXPECT_THAT(gateway.heard(tab), ElementsAre("status:busy(c1)", "input_request:name?(c1)"));
}

TEST_F(GatewayInput, IsNotAskedTwiceWhenItHadNotLeft) {
  const HostId executor = run("c1");
  gateway.clients[tab].reads = false;
  ask(executor);
  gateway.disconnect(tab);
  tab = gateway.connect(session, "tab");
  EXPECT_THAT(gateway.heard(tab), ElementsAre("input_request:name?(c1)", "status:busy(c1)"));
}

TEST_F(GatewayInput, IsAskedOfWhoeverIsThereWhenTheClientThatRanTheCellHasGone) {
  const HostId executor = run("c1");
  gateway.disconnect(tab);
  const ConnectionId other = gateway.connect(session, "other");
  gateway.clients[other].got.clear();
  ask(executor);
  EXPECT_THAT(gateway.heard(other), ElementsAre("input_request:name?(c1)"));
  tab = gateway.connect(session, "tab");
  EXPECT_THAT(gateway.heard(tab), ElementsAre("input_request:name?(c1)", "status:busy(c1)")) << "once";
  gateway.say(other, TestGateway::request("input_reply", "i1", R"({"value":"x"})", Channel::kStdin));
  gateway.say(tab, TestGateway::request("input_reply", "i2", R"({"value":"y"})", Channel::kStdin));
  EXPECT_EQ(gateway.got<ToKernel>(executor).size(), 1U) << "the first answer counts";
}

TEST_F(GatewayInput, IsAskedOfAnotherClientWhileTheFirstIsAwayAndTheFirstAnswerCounts) {
  const HostId executor = run("c1");
  ask(executor);
  gateway.disconnect(tab);
  const ConnectionId other = gateway.connect(session, "other");
  EXPECT_THAT(gateway.heard(other), ElementsAre("status:busy(c1)", "input_request:name?(c1)"));
  gateway.say(other, TestGateway::request("input_reply", "i1", R"({"value":"x"})", Channel::kStdin));
  gateway.say(other, TestGateway::request("input_reply", "i2", R"({"value":"y"})", Channel::kStdin));
  EXPECT_EQ(gateway.got<ToKernel>(executor).size(), 1U);
}

TEST_F(GatewayInput, IsNotAskedAgainOnceTheCellHasEnded) {
  const HostId executor = run("c1");
  ask(executor);
  gateway.end(executor, session, "c1");
  gateway.disconnect(tab);
  tab = gateway.connect(session, "tab");
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
}

TEST_F(GatewayRequests, BadInputIsDroppedWithALogLine) {
  jupyter::Message message = TestGateway::request("complete_request", "r1");
  for (const char* header : {"[]", "{}", R"({"msg_id":7})", "nonsense", R"({"msg_id":"x"})",
                             R"({"msg_id":"","msg_type":"complete_request","session":"tab"})"}) {
    message.header = header;
    const std::size_t lines = gateway.logs.size();
    gateway.say(tab, message);
    EXPECT_EQ(gateway.logs.size(), lines + 1) << header;
  }
  EXPECT_THAT(gateway.who_got<ToKernel>(), IsEmpty());
  gateway.from_host({"h1"}, FromKernel{session, {}, 0, message});
  gateway.from_host({"h1"}, FromKernel{{"no such session"}, {}, 0, message});
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
}

}  // namespace
}  // namespace banyan::node
