// What clients and workers say beside cells: who gets it, and what counts as use of the session.

#include <gmock/gmock.h>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using jupyter::Channel;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// A session that has run a cell on h1, with two clients.
class GatewayChannels : public ::testing::Test {
 protected:
  void SetUp() override {
    gateway.start_with_hosts();
    session = gateway.create();
    tab = gateway.connect(session, "tab");
    second = gateway.connect(session, "second");
    gateway.execute(tab, "c0");
    gateway.end({"h1"}, session, "c0");
    for (const char* name : {"h1", "h2", "h3"}) {
      ReplicaReport& report = gateway.hosts[{name}].replicas[session];
      report.executor = report.leader = {1};
      report.last = report.shown = {1};
      gateway.report({name}, session);
    }
    gateway.advance(100ms);
    gateway.forget();
  }
  void say(const std::string& type, const std::string& id, Channel channel = Channel::kShell,
           const std::string& content = "{}") {
    gateway.say(tab, TestGateway::request(type, id, content, channel));
  }
  std::string used_last() { return gateway.model(session)["last_activity"]; }
  std::size_t passed() {
    std::size_t count = 0;
    for (const HostId& host : gateway.who_got<ToKernel>()) count += gateway.got<ToKernel>(host).size();
    return count;
  }
  void input(const std::string& cell, const std::string& parent_session = "tab") {
    gateway.from_host({"h1"},
                      FromKernel{session,
                                 {},
                                 0,
                                 TestGateway::kernel_message("input_request", cell, R"({"prompt":"?"})",
                                                             Channel::kStdin, parent_session)});
  }
  void reply(const std::string& type, const std::string& parent, const std::string& parent_session = "tab") {
    gateway.from_host(
        {"h1"}, FromKernel{session,
                           {},
                           0,
                           TestGateway::kernel_message(type, parent, "{}", Channel::kShell, parent_session)});
  }

  TestGateway gateway;
  SessionId session;
  ConnectionId tab, second;
};

TEST_F(GatewayChannels, NothingForTheKernelTravelsOnIopub) {
  say("complete_request", "r1", Channel::kIopub);
  EXPECT_EQ(passed(), 0U);
  say("complete_request", "r1");
  EXPECT_EQ(passed(), 1U);
}

TEST_F(GatewayChannels, OnlyShellRequestsThatNameASubshellAreForOne) {
  jupyter::Message request = TestGateway::request("complete_request", "r1");
  request.header = R"({"msg_id":"r1","msg_type":"complete_request","session":"tab","subshell_id":""})";
  gateway.say(tab, request);
  EXPECT_EQ(passed(), 1U);
  request.header = R"({"msg_id":"r2","msg_type":"debug_request","session":"tab","subshell_id":"s1"})";
  request.channel = Channel::kControl;
  gateway.say(tab, request);
  EXPECT_EQ(passed(), 2U);
  request.channel = Channel::kShell;
  gateway.say(tab, request);
  EXPECT_EQ(passed(), 2U);
  EXPECT_THAT(gateway.heard(tab), Contains("debug_reply:error(r2)"));
}

TEST_F(GatewayChannels, ACellForASubshellIsRefusedAsACell) {
  jupyter::Message request = TestGateway::request("execute_request", "c1", R"({"code":"1"})");
  request.header = R"({"msg_id":"c1","msg_type":"execute_request","session":"tab","subshell_id":"s1"})";
  gateway.say(tab, request);
  EXPECT_THAT(gateway.who_got<Execute>(), IsEmpty());
  EXPECT_THAT(gateway.heard(tab), Contains("execute_reply:error(c1)"));
  EXPECT_THAT(gateway.heard(second), Contains("error:NotSupported(c1)"));
  EXPECT_THAT(gateway.heard(second), Not(Contains("execute_reply:error(c1)")));
}

TEST_F(GatewayChannels, WhoAsksTheKernelUsesIt) {
  for (const char* type : {"complete_request", "interrupt_request"}) {
    const std::string before = used_last();
    gateway.advance(1s);
    say(type, std::string("of ") + type, Channel::kControl);
    EXPECT_NE(used_last(), before) << type;
  }
  const std::string before = used_last();
  gateway.advance(1s);
  say("input_reply", "r1", Channel::kStdin);
  EXPECT_NE(used_last(), before);
}

TEST_F(GatewayChannels, OutputUsesTheKernelToo) {
  gateway.execute(tab, "c1");
  const std::string before = used_last();
  gateway.advance(1s);
  gateway.output({"h1"}, session, "c1", 1, "hello");
  EXPECT_NE(used_last(), before);
}

TEST_F(GatewayChannels, AReplyToNobodyReachesNobody) {
  reply("complete_reply", "");
  reply("complete_reply", "unknown", "");
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
  EXPECT_THAT(gateway.heard(second), IsEmpty());
}

TEST_F(GatewayChannels, WhoHasGoneAndAskedIsNotAnswered) {
  say("interrupt_request", "r1", Channel::kControl);
  EXPECT_THAT(gateway.heard(tab), Contains("interrupt_reply:ok(r1)"));
  EXPECT_THAT(gateway.heard(second), Not(Contains("interrupt_reply:ok(r1)")));
}

TEST_F(GatewayChannels, ARequestThatHasNoReplyIsFramedOnly) {
  gateway.say(tab, TestGateway::request("comm_open", "m1"));
  gateway.lose_host({"h1"});
  gateway.advance(3s);
  EXPECT_THAT(gateway.heard(tab), ElementsAre("status:busy(m1)", "status:idle(m1)"));
}

// ---- input

TEST_F(GatewayChannels, ARunningCellAsksItsOwnClientWhateverTheWorkerSays) {
  gateway.execute(tab, "c1");
  gateway.forget();
  input("c1", "second");
  EXPECT_THAT(gateway.heard(tab), Contains("input_request:?(c1)"));
  EXPECT_THAT(gateway.heard(second), Not(Contains("input_request:?(c1)")));
}

TEST_F(GatewayChannels, WhatRunsBesideCellsAsksWhoStartedIt) {
  input("r7", "second");
  EXPECT_THAT(gateway.heard(second), Contains("input_request:?(r7)"));
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
}

TEST_F(GatewayChannels, WhatNobodyStartedAsksNobody) {
  input("r7", "");
  input("");
  EXPECT_THAT(gateway.heard(tab), Not(Contains("input_request:?(r7)")));
  EXPECT_THAT(gateway.heard(second), IsEmpty());
}

TEST_F(GatewayChannels, AnAnswerThatNobodyAskedForInThisLifeIsPassedOn) {
  say("input_reply", "r1", Channel::kStdin);
  EXPECT_EQ(passed(), 1U) << "an earlier life may have asked";
  gateway.execute(tab, "c1");
  input("c1");
  say("input_reply", "r2", Channel::kStdin);
  EXPECT_EQ(passed(), 2U);
  gateway.say(second, TestGateway::request("input_reply", "r3", "{}", Channel::kStdin, "second"));
  EXPECT_EQ(passed(), 2U) << "another one was faster";
}

TEST_F(GatewayChannels, AnAnswerIsNotForAHostThatIsAway) {
  gateway.execute(tab, "c1");
  input("c1");
  gateway.lose_host({"h1"});
  say("input_reply", "r2", Channel::kStdin);
  EXPECT_THAT(gateway.got<ToKernel>({"h1"}), IsEmpty());
}

TEST_F(GatewayChannels, TheEndOfAnotherCellDoesNotEndTheQuestion) {
  input("r7");
  gateway.execute(tab, "c1");
  gateway.end({"h1"}, session, "c1");
  gateway.disconnect(tab);
  gateway.forget();
  tab = gateway.connect(session, "tab");
  EXPECT_THAT(gateway.heard(tab), Contains("input_request:?(r7)"));
}

TEST_F(GatewayChannels, ARestartEndsTheQuestion) {
  input("r7");
  gateway.http("POST", "/api/kernels/" + session.value + "/restart");
  gateway.from_host({"h1"}, Restarted{session, 1});
  gateway.advance(1s);
  ASSERT_EQ(gateway.last_reply().status, 200);
  gateway.disconnect(tab);
  gateway.forget();
  tab = gateway.connect(session, "tab");
  EXPECT_THAT(gateway.heard(tab), Not(Contains("input_request:?(r7)")));
}

TEST_F(GatewayChannels, ARestartEndsWhatWasAskedOfTheWorkersBefore) {
  gateway.say(tab, TestGateway::request("complete_request", "r1"));
  EXPECT_EQ(passed(), 1U);
  gateway.http("POST", "/api/kernels/" + session.value + "/restart");
  gateway.from_host({"h1"}, Restarted{session, 1});
  gateway.advance(1s);
  reply("complete_reply", "r1");
  EXPECT_EQ(passed(), 2U) << "another worker is asked";
}

TEST_F(GatewayChannels, WhatARestartedSessionKnewOfItsLastCellIsForgotten) {
  gateway.execute(tab, "c1");
  gateway.forget();
  EXPECT_EQ(gateway.http("DELETE", "/api/kernels/" + session.value).status, 204);
  for (const auto& [key, value] : gateway.store) {
    EXPECT_FALSE(key.starts_with("cell/")) << key;
    EXPECT_FALSE(key.starts_with("progress/")) << key;
  }
}

// ---- cells that a later life takes up

TEST_F(GatewayChannels, CellsOfALaterLifeFollowThoseOfAnEarlierOne) {
  gateway.execute(tab, "c1");
  gateway.execute(tab, "c2");
  const auto cells = [&] {
    return std::ranges::count_if(gateway.store,
                                 [](const auto& item) { return item.first.starts_with("cell/"); });
  };
  EXPECT_EQ(cells(), 2);
  gateway.stop();
  gateway.start_with_hosts();
  tab = gateway.connect(session, "tab");
  gateway.execute(tab, "c3");
  EXPECT_EQ(cells(), 3) << "none takes the place of another";
  gateway.advance(1s);
  gateway.end({"h1"}, session, "c1");
  gateway.end({"h1"}, session, "c2");
  gateway.end({"h1"}, session, "c3");
  EXPECT_THAT(gateway.heard(tab), Contains("execute_reply:ok(c3)"));
}

TEST_F(GatewayChannels, WhatAnEarlierLifeWasToldToGoOnAfterAnErrorGoesOn) {
  gateway.execute(tab, "c1", R"({"code":"1","stop_on_error":false})");
  gateway.execute(tab, "c2");
  gateway.stop();
  gateway.start_with_hosts();
  tab = gateway.connect(session, "tab");
  gateway.advance(1s);
  gateway.forget();
  gateway.end({"h1"}, session, "c1", 0, session::Status::kError);
  gateway.advance(1s);
  std::set<std::string> asked;
  for (const HostId& host : gateway.who_got<Execute>())
    for (const Execute& one : gateway.got<Execute>(host))
      if (!one.aborts && one.lead != kNoLead) asked.insert(one.execution.value);
  EXPECT_TRUE(asked.contains("c2"));
}

// ---- what is not for anybody

TEST_F(GatewayChannels, WhatIsSaidToAHostThatIsAwayDoesNotWaitForIt) {
  input("r7");
  gateway.lose_host({"h1"});
  say("input_reply", "i1", Channel::kStdin);
  gateway.http("POST", "/api/kernels/" + session.value + "/interrupt");
  gateway.find_host({"h1"});
  EXPECT_THAT(gateway.got<ToKernel>({"h1"}), IsEmpty());
  EXPECT_THAT(gateway.got<Interrupt>({"h1"}), IsEmpty()) << "it would end what runs then";
}

TEST_F(GatewayChannels, AnInterruptByRestUsesTheKernelToo) {
  const std::string before = used_last();
  gateway.advance(1s);
  gateway.http("POST", "/api/kernels/" + session.value + "/interrupt");
  EXPECT_NE(used_last(), before);
}

TEST_F(GatewayChannels, WhatAWorkerSaysOfNoRequestReachesNobody) {
  for (const char* parent : {"no JSON", R"({"session":"tab"})"}) {
    for (const Channel channel : {Channel::kShell, Channel::kControl}) {
      jupyter::Message message = TestGateway::kernel_message("complete_reply", "r1", "{}", channel);
      message.parent_header = parent;
      gateway.from_host({"h1"}, FromKernel{session, {}, 0, std::move(message)});
    }
  }
  jupyter::Message question =
      TestGateway::kernel_message("input_request", "r1", R"({"prompt":"?"})", Channel::kStdin);
  question.parent_header = "no JSON";
  gateway.from_host({"h1"}, FromKernel{session, {}, 0, std::move(question)});
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
  EXPECT_THAT(gateway.heard(second), IsEmpty());
}

TEST_F(GatewayChannels, TheIdleOfTheRunningCellIsNotHidden) {
  gateway.execute(tab, "c1");
  gateway.from_host(
      {"h1"},
      FromKernel{
          session, {}, 0, TestGateway::kernel_message("status", "c1", R"({"execution_state":"idle"})")});
  EXPECT_THAT(gateway.heard(tab), ElementsAre("status:idle(c1)"));
}

}  // namespace
}  // namespace banyan::node
