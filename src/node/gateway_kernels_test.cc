// Hosts that cannot run every kernel: sessions are placed, grow, move, run and wake only where theirs can.

#include <gmock/gmock.h>

#include <algorithm>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using json = TestGateway::json;

KernelReport runs(const std::string& name, const std::string& python = "3.11.2") {
  return {name, KernelState::kRuns, python, {}};
}
KernelReport cannot(const std::string& name, const std::string& reason) {
  return {name, KernelState::kCannot, {}, reason};
}
KernelReport checking(const std::string& name) { return {name, KernelState::kChecking, {}, {}}; }

/// Five hosts: h1, h2 and h3 can run torch, h4 tried to, h5 does not name it.
class GatewayKernels : public ::testing::Test {
 protected:
  GatewayKernels() {
    gateway.config.kernel_specs.push_back({"torch", R"({"argv":[]})", {}});
    for (const char* host : {"h1", "h2", "h3"})
      gateway.hosts[{host}].kernels = {runs("python3"), runs("torch")};
    gateway.hosts[{"h4"}].kernels = {runs("python3"), cannot("torch", "/t/python has no package banyan")};
    gateway.hosts[{"h5"}].kernels = {runs("python3")};
  }
  void begin() {
    gateway.start_with_hosts();
    session = gateway.create("torch");
    tab = gateway.connect(session, "tab");
    gateway.execute(tab, "c1");
    gateway.end({"h1"}, session, "c1");
    set([](ReplicaReport& report) {
      report.executor = report.leader = {1};
      report.epoch = {1};
      report.last = report.shown = {1};
      report.complete = true;
      report.worker = WorkerState::kReady;
      report.worker_pid = 7;
    });
    gateway.forget();
  }
  template <class Change>
  void set(Change change) {
    for (auto& [id, host] : gateway.hosts) {
      if (!host.up || !host.replicas.contains(session)) continue;
      change(host.replicas[session]);
      gateway.report(id, session);
    }
  }
  HttpReply post(const std::string& what, const std::string& body = "{}") {
    return gateway.http("POST", "/api/banyan/sessions/" + session.value + "/" + what, body);
  }
  HttpReply create_torch() { return gateway.http("POST", "/api/kernels", R"({"name":"torch"})"); }
  std::string question_to(const HostId& host) {
    const auto all = gateway.got<AskSession>(host);
    return all.empty() ? "" : all.back().question;
  }

  TestGateway gateway{{"h1", "h2", "h3", "h4", "h5"}};
  SessionId session;
  ConnectionId tab;
};

TEST_F(GatewayKernels, ASessionIsPlacedWhereItsKernelRuns) {
  gateway.hosts[{"h1"}].kernels = {runs("python3")};
  gateway.hosts[{"h5"}].kernels = {runs("torch")};
  gateway.start_with_hosts();
  gateway.create("torch");
  EXPECT_THAT(gateway.who_got<OpenReplica>(), ElementsAre(HostId{"h2"}, HostId{"h3"}, HostId{"h5"}));
}

TEST_F(GatewayKernels, AKernelOfFewerHostsThanReplicasIsPlacedOnThoseAtOnce) {
  gateway.hosts[{"h1"}].kernels = gateway.hosts[{"h2"}].kernels = {runs("python3")};
  gateway.start_with_hosts();
  gateway.create("torch");
  EXPECT_THAT(gateway.who_got<OpenReplica>(), ElementsAre(HostId{"h3"}));
}

TEST_F(GatewayKernels, OneThatNoHostCanRunIsRefusedAtOnceWithAllReasons) {
  for (auto& [id, host] : gateway.hosts)
    if (id != HostId{"h4"}) host.kernels = {runs("python3")};
  gateway.start_with_hosts();
  const HttpReply reply = create_torch();
  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(reply.body, HasSubstr(R"(No host can run the kernel \"torch\".)"));
  EXPECT_THAT(reply.body, HasSubstr("h4 cannot run it: /t/python has no package banyan."));
  EXPECT_THAT(reply.body, HasSubstr("h1, h2, h3, h5 cannot run it: its configuration does not name"));
  EXPECT_EQ(gateway.http("POST", "/api/kernels").status, 201) << "the others of these hosts work";
}

TEST_F(GatewayKernels, AHostThatSaysNothingRunsTheDefaultKernelOnly) {
  for (auto& [id, host] : gateway.hosts) host.kernels = {};
  gateway.start_with_hosts();
  EXPECT_EQ(create_torch().status, 503);
  gateway.create();
  EXPECT_EQ(gateway.who_got<OpenReplica>().size(), 3U);
}

TEST_F(GatewayKernels, AHostWithoutNamesRunsTheDefaultKernelIfItsPythonStarts) {
  for (auto& [id, host] : gateway.hosts) host.kernels = {runs("")};
  gateway.hosts[{"h1"}].kernels = {cannot("", "there is no Python interpreter python3")};
  gateway.start_with_hosts();
  gateway.create();
  EXPECT_THAT(gateway.who_got<OpenReplica>(), ElementsAre(HostId{"h2"}, HostId{"h3"}, HostId{"h4"}));
  EXPECT_EQ(create_torch().status, 503);
}

TEST_F(GatewayKernels, ARequestWaitsForAPythonThatIsBeingTried) {
  for (const char* host : {"h1", "h2", "h3"}) gateway.hosts[{host}].kernels = {checking("torch")};
  gateway.start_with_hosts();
  EXPECT_EQ(create_torch().status, 0);
  gateway.advance(1s);
  EXPECT_EQ(gateway.last_reply().status, 0);
  for (const char* host : {"h1", "h2"}) gateway.tell_kernels({host}, {runs("torch")});
  EXPECT_EQ(gateway.last_reply().status, 201) << "a majority";
  EXPECT_THAT(gateway.who_got<OpenReplica>(), ElementsAre(HostId{"h1"}, HostId{"h2"}));
}

TEST_F(GatewayKernels, OneThatIsTriedForLongIsBelievedAble) {
  for (const char* host : {"h1", "h2", "h3"}) gateway.hosts[{host}].kernels = {checking("torch")};
  gateway.start_with_hosts();
  create_torch();
  gateway.advance(6s);
  EXPECT_EQ(gateway.last_reply().status, 201);
}

TEST_F(GatewayKernels, AReplicaIsReplacedOnlyWhereTheKernelRuns) {
  begin();
  gateway.lose_host({"h2"});
  gateway.advance(20s);
  EXPECT_THAT(gateway.who_got<OpenReplica>(), IsEmpty()) << "no spare host has the kernel";
  gateway.tell_kernels({"h5"}, {runs("python3"), runs("torch")});
  gateway.advance(1s);
  EXPECT_THAT(gateway.who_got<OpenReplica>(), ElementsAre(HostId{"h5"}));
}

TEST_F(GatewayKernels, AMoveToAHostWithoutTheKernelIsRefusedAndNamesThoseWithIt) {
  begin();
  for (const auto& [host, reason] :
       std::map<std::string, std::string>{{"h4", "/t/python has no package banyan"},
                                          {"h5", "its configuration does not name this kernel"}}) {
    const HttpReply reply = post("migrate", json{{"host", host}, {"force", true}}.dump());
    EXPECT_EQ(reply.status, 409);
    EXPECT_THAT(reply.body, HasSubstr("Host " + host + R"( cannot run the kernel \"torch\": )" + reason));
    EXPECT_THAT(reply.body, HasSubstr("These can: h1, h2, h3."));
  }
  gateway.advance(2s);
  EXPECT_THAT(gateway.who_got<OpenReplica>(), IsEmpty());
  EXPECT_THAT(gateway.who_got<AskSession>(), IsEmpty());
}

TEST_F(GatewayKernels, AMoveWaitsForAHostThatIsStillTryingItsPython) {
  begin();
  for (const bool able : {false, true}) {
    gateway.tell_kernels({"h5"}, {checking("torch")});
    EXPECT_EQ(post("migrate", R"({"host":"h5"})").status, 0);
    gateway.from_host({"h1"}, SessionAnswer{.session = session,
                                            .request = gateway.got<AskSession>({"h1"}).back().request,
                                            .content = R"({"lost":[]})"});
    gateway.advance(2s);
    EXPECT_THAT(gateway.got<OpenReplica>({"h5"}), IsEmpty());
    gateway.tell_kernels({"h5"}, {able ? runs("torch") : cannot("torch", "it has no package banyan")});
    gateway.advance(1s);
    if (!able) {
      EXPECT_EQ(gateway.last_reply().status, 409);
      EXPECT_THAT(gateway.last_reply().body, HasSubstr("it has no package banyan. These can: h1, h2, h3."));
    }
  }
  EXPECT_EQ(gateway.got<OpenReplica>({"h5"}).size(), 1U);
}

TEST_F(GatewayKernels, ACellThatAsksForSuchAMoveIsRefusedToo) {
  begin();
  gateway.from_host({"h1"}, AskSession{session, "q", R"({"do":"migrate","host":"h5"})"});
  const auto answers = gateway.got<SessionAnswer>({"h1"});
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].refused, ErrorKind::kDenied);
  EXPECT_THAT(answers[0].reason, HasSubstr("These can: h1, h2, h3."));
}

TEST_F(GatewayKernels, AHostWhosePythonIsAnotherMinorVersionTakesNoSessionOfTheOthers) {
  gateway.hosts[{"h5"}].kernels = {runs("torch", "3.12.1")};
  begin();
  const HttpReply reply = post("migrate", R"({"host":"h5"})");
  EXPECT_EQ(reply.status, 409);
  EXPECT_THAT(reply.body, HasSubstr("is 3.12, and the session's values are of Python 3.11"));
  gateway.tell_kernels({"h5"}, {runs("torch", "3.11.7")});
  EXPECT_NE(post("migrate", R"({"host":"h5"})").status, 409) << "a bug-fix version loads the same";
}

TEST_F(GatewayKernels, ANewSessionStaysWithinOnePython) {
  gateway.hosts[{"h1"}].kernels = {runs("torch", "3.12.1")};
  gateway.hosts[{"h4"}].kernels = {runs("torch", "3.11.9")};
  gateway.start_with_hosts();
  gateway.create("torch");
  EXPECT_THAT(gateway.who_got<OpenReplica>(), ElementsAre(HostId{"h2"}, HostId{"h3"}, HostId{"h4"}));
}

TEST_F(GatewayKernels, CellsRunWhereThePythonStillStarts) {
  begin();
  gateway.tell_kernels({"h1"}, {runs("python3"), cannot("torch", "it was deleted")});
  gateway.execute(tab, "c2");
  EXPECT_THAT(gateway.who_got<Execute>(), Not(testing::Contains(HostId{"h1"})));
  EXPECT_EQ(gateway.who_got<Execute>().size(), 1U);
}

TEST_F(GatewayKernels, WithNoneLeftTheCellIsSentAllTheSameAndTheHostSaysWhy) {
  begin();
  for (const char* host : {"h1", "h2", "h3"}) gateway.tell_kernels({host}, {cannot("torch", "deleted")});
  gateway.execute(tab, "c2");
  EXPECT_THAT(gateway.who_got<Execute>(), ElementsAre(HostId{"h1"}));
}

TEST_F(GatewayKernels, WhenAllThatCanDeclineTheCellEnds) {
  begin();
  gateway.tell_kernels({"h1"}, {cannot("torch", "it was deleted")});
  gateway.execute(tab, "c2");
  for (int i = 0; i < 200 && gateway.model(session)["execution_state"] == "busy"; ++i) {
    for (const char* host : {"h2", "h3"})
      gateway.from_host({host}, ExecutionDeclined{session, {"c2"}, "no GPU is free"});
    gateway.advance(250ms);
  }
  EXPECT_THAT(gateway.got<Execute>({"h1"}), IsEmpty());
  EXPECT_THAT(gateway.heard(tab), testing::Contains(HasSubstr("NoExecutor")));
}

TEST_F(GatewayKernels, AReplicaWhoseHostCannotRunTheKernelAnyMoreMovesToOneThatCan) {
  begin();
  gateway.tell_kernels({"h5"}, {runs("torch")});
  gateway.tell_kernels({"h2"}, {cannot("torch", "it was deleted")});
  gateway.advance(5s);
  EXPECT_THAT(gateway.who_got<OpenReplica>(), IsEmpty()) << "somebody may be installing it anew";
  gateway.advance(5s);
  EXPECT_THAT(gateway.who_got<OpenReplica>(), ElementsAre(HostId{"h5"}));
  EXPECT_EQ(gateway.got<ChangeMembers>({"h1"}).back().members,
            (session::Members{{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h5"}}}));
}

TEST_F(GatewayKernels, NotWhileACellRuns) {
  begin();
  gateway.execute(tab, "c2");
  gateway.tell_kernels({"h5"}, {runs("torch")});
  gateway.tell_kernels({"h1"}, {cannot("torch", "it was deleted")});
  gateway.advance(12s);
  EXPECT_THAT(gateway.who_got<OpenReplica>(), IsEmpty());
}

TEST_F(GatewayKernels, ASuspendedSessionWakesWhereThePythonStillStarts) {
  begin();
  set([](ReplicaReport& report) {
    report.suspended = true;
    report.worker = WorkerState::kNone;
  });
  gateway.tell_kernels({"h1"}, {cannot("torch", "it was deleted")});
  post("resume");
  EXPECT_EQ(question_to({"h1"}), R"({"do":"hand_over","force":false,"gpus":0,"to":2})");
  set([](ReplicaReport& report) {
    report.executor = {2};
    report.epoch = {2};
  });
  gateway.from_host({"h1"}, SessionAnswer{.session = session,
                                          .request = gateway.got<AskSession>({"h1"}).back().request,
                                          .content = R"({"executor":2,"lost":[]})"});
  gateway.advance(1s);
  EXPECT_EQ(question_to({"h2"}), R"({"do":"resume"})");
}

TEST_F(GatewayKernels, RestShowsWhatEachHostCanRunAndWhyNot) {
  gateway.start_with_hosts();
  const json hosts = json::parse(gateway.http("GET", "/api/banyan/hosts").body);
  const json torch_on_h4 = {
      {"name", "torch"}, {"state", "cannot"}, {"python", ""}, {"reason", "/t/python has no package banyan"}};
  EXPECT_EQ(hosts[0]["kernels"][1], (json{{"name", "torch"}, {"state", "runs"}, {"python", "3.11.2"}}));
  EXPECT_EQ(hosts[3]["kernels"][1], torch_on_h4);
  EXPECT_EQ(hosts[4]["kernels"][1]["reason"], "its configuration does not name this kernel");
}

}  // namespace
}  // namespace banyan::node
