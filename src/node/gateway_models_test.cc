#include "node/gateway_models.h"

#include <gmock/gmock.h>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::HasSubstr;
using json = nlohmann::json;

/// One session, with its executor on h1.
class GatewayModels : public ::testing::Test {
 protected:
  void SetUp() override {
    gateway.start_with_hosts();
    session = gateway.create();
    change({"h1"}, [](ReplicaReport& report) { report.executor = {1}; });
  }
  json get(const std::string& target) { return json::parse(gateway.http("GET", target).body); }
  json shown() { return get("/api/banyan/sessions")[0]; }
  json host(std::size_t number) { return get("/api/banyan/hosts")[number]; }
  template <class Change>
  void change(const HostId& host, Change change) {
    change(gateway.hosts[host].replicas[session]);
    gateway.report(host, session);
  }

  TestGateway gateway;
  SessionId session;
};

TEST_F(GatewayModels, ASessionIsShownAsItsNewestReplicaSaysIt) {
  change({"h1"}, [](ReplicaReport& report) {
    report.epoch = {2};
    report.last = {5};
    report.amended = 3;
    report.execution_count = 4;
  });
  const json model = shown();
  EXPECT_EQ(model["kernel"], "python3");
  EXPECT_EQ(model["executor"], "h1");
  EXPECT_EQ(model["epoch"], 2);
  EXPECT_EQ(model["last_commit"], 5);
  EXPECT_EQ(model["amended"], 3);
  EXPECT_EQ(model["execution_count"], 4);
  EXPECT_EQ(model["queued"], 0);
  EXPECT_EQ(model["connections"], 0);
  EXPECT_FALSE(model.contains("reason"));
}

TEST_F(GatewayModels, ASessionsAgeIsThatOfItsRecord) {
  const auto before = shown()["age_s"].get<std::int64_t>();
  gateway.advance(10s);
  EXPECT_EQ(shown()["age_s"], before + 10);
}

TEST_F(GatewayModels, AReplicaIsShownAsItsHostSaysIt) {
  change({"h1"}, [](ReplicaReport& report) {
    report.leader = {1};
    report.last = {5};
    report.lacking = 7;
    report.lost = 8;
  });
  const json replicas = shown()["replicas"];
  ASSERT_EQ(replicas.size(), 3U);
  EXPECT_EQ(replicas[0]["replica"], 1);
  EXPECT_EQ(replicas[0]["role"], "executor");
  EXPECT_EQ(replicas[0]["leader"], true);
  EXPECT_EQ(replicas[0]["last_commit"], 5);
  EXPECT_EQ(replicas[0]["lacking"], 7);
  EXPECT_EQ(replicas[0]["lost"], 8);
  EXPECT_GT(replicas[0]["pid"], 0);
  EXPECT_EQ(replicas[1]["role"], "standby");
  EXPECT_EQ(replicas[1]["leader"], false);
}

TEST_F(GatewayModels, AWorkerIsShownByItsState) {
  const std::vector<std::pair<WorkerState, std::string>> states{{WorkerState::kNone, "none"},
                                                                {WorkerState::kStarting, "starting"},
                                                                {WorkerState::kReady, "ready"},
                                                                {WorkerState::kBusy, "busy"}};
  for (const auto& [state, name] : states) {
    change({"h2"}, [&](ReplicaReport& report) { report.worker = state; });
    EXPECT_EQ(shown()["replicas"][1]["worker"], name);
  }
}

TEST_F(GatewayModels, AReplicaThatJoinsIsShownToJoin) {
  gateway.lose_host({"h3"});
  gateway.advance(9s);
  const json replicas = shown()["replicas"];
  ASSERT_EQ(replicas.size(), 3U);
  EXPECT_EQ(replicas[2]["host"], "h4");
  EXPECT_EQ(replicas[2]["role"], "joining");
}

TEST_F(GatewayModels, TheLastViewOfTheExecutorIsShown) {
  EXPECT_FALSE(shown().contains("view"));
  change({"h2"}, [](ReplicaReport& report) { report.built = ViewBuilt{.took_us = 9'000'000}; });
  EXPECT_FALSE(shown().contains("view")) << "that of a standby is of no interest";
  change({"h1"}, [](ReplicaReport& report) {
    report.built =
        ViewBuilt{.predicted_us = 1'500'000, .took_us = 2'500'000, .values = 3, .bytes = 4, .cells = 5};
  });
  const json view = shown()["view"];
  EXPECT_EQ(view["predicted_ms"], 1500);
  EXPECT_EQ(view["took_ms"], 2500);
  EXPECT_EQ(view["values"], 3);
  EXPECT_EQ(view["bytes"], 4);
  EXPECT_EQ(view["cells"], 5);
}

TEST_F(GatewayModels, AViewThatIsBeingBuiltAnywhereIsShownFirst) {
  change({"h1"}, [](ReplicaReport& report) { report.built = ViewBuilt{.took_us = 9'000'000}; });
  change({"h2"}, [](ReplicaReport& report) {
    report.building = ViewProgress{.what = "loading df", .percent = 40, .left_us = 2'500'000};
  });
  const json view = shown()["view"];
  EXPECT_EQ(view["building"], "loading df");
  EXPECT_EQ(view["host"], "h2");
  EXPECT_EQ(view["percent"], 40);
  EXPECT_EQ(view["left_ms"], 2500);
}

TEST_F(GatewayModels, ASuspendedSessionIsShownToBeUnlessItDoesSomething) {
  for (const char* name : {"h1", "h2", "h3"})
    change({name}, [](ReplicaReport& report) { report.suspended = true; });
  EXPECT_EQ(shown()["state"], "suspended");
  const ConnectionId tab = gateway.connect(session, "tab");
  gateway.execute(tab, "c");
  const json model = shown();
  EXPECT_EQ(model["state"], "busy");
  EXPECT_EQ(model["queued"], 1);
  EXPECT_EQ(model["connections"], 1);
}

TEST_F(GatewayModels, ThePythonOfASessionIsThatOfItsExecutor) {
  EXPECT_EQ(shown()["python"], "") << "no host has said";
  gateway.tell_kernels({"h2"}, {{"python3", KernelState::kRuns, "3.12.1", {}}});
  EXPECT_EQ(shown()["python"], "3.12.1");
  gateway.tell_kernels({"h1"}, {{"python3", KernelState::kRuns, "3.11.2", {}}});
  EXPECT_EQ(shown()["python"], "3.11.2");
}

TEST_F(GatewayModels, AHostIsShownAsItSaysItIs) {
  gateway.hosts[{"h1"}].devices = {{.id = {"0"}}, {.id = {"1"}, .healthy = false}};
  gateway.tell_kernels({"h1"}, {{"python3", KernelState::kRuns, "3.11.2", {}}});
  const json model = host(0);
  EXPECT_EQ(model["host"], "h1");
  EXPECT_EQ(model["cpus"], 8);
  EXPECT_EQ(model["faulty_gpus"], 1);
  EXPECT_EQ(model["bound_gpus"], 0);
  EXPECT_EQ(model["memory_bytes"], 1 << 30);
  EXPECT_EQ(model["running_cells"], 0);
  EXPECT_EQ(model["draining"], false);
  EXPECT_EQ(model["sessions"], json::array({session.value}));
  EXPECT_EQ(model["strays"], json::array());
  ASSERT_EQ(model["kernels"].size(), 1U);
  EXPECT_EQ(model["kernels"][0]["state"], "runs");
  EXPECT_EQ(model["kernels"][0]["python"], "3.11.2");
}

TEST_F(GatewayModels, WhatAHostCannotRunIsShownWithTheReason) {
  gateway.tell_kernels({"h1"}, {{"python3", KernelState::kCannot, {}, "no module ipykernel"}});
  EXPECT_EQ(host(0)["kernels"][0]["state"], "cannot");
  EXPECT_EQ(host(0)["kernels"][0]["reason"], "no module ipykernel");
  gateway.tell_kernels({"h1"}, {{"python3", KernelState::kChecking, {}, {}}});
  EXPECT_EQ(host(0)["kernels"][0]["state"], "checking");
}

TEST_F(GatewayModels, HowLongAHostHasBeenSilentIsShown) {
  gateway.lose_host({"h4"}, false);
  gateway.advance(3s);
  EXPECT_GE(host(3)["silent_ms"], 3000);
  EXPECT_LT(host(3)["silent_ms"], 4000);
  EXPECT_EQ(host(3)["up"], false);
}

TEST_F(GatewayModels, ThePlatformIsShownAtAGlance) {
  const json before = get("/api/banyan/status");
  EXPECT_EQ(before["hosts"], 4);
  EXPECT_EQ(before["hosts_up"], 4);
  EXPECT_EQ(before["sessions"], 1);
  EXPECT_EQ(before["sessions_busy"], 0);
  EXPECT_EQ(before["sessions_without_quorum"], 0);
  const ConnectionId tab = gateway.connect(session, "tab");
  gateway.execute(tab, "c");
  EXPECT_EQ(get("/api/banyan/status")["sessions_busy"], 1);
  gateway.lose_host({"h1"});
  gateway.lose_host({"h2"});
  const json after = get("/api/banyan/status");
  EXPECT_EQ(after["hosts_up"], 2);
  EXPECT_EQ(after["sessions_without_quorum"], 1);
  gateway.advance(10s);
  EXPECT_EQ(get("/api/banyan/status")["uptime_s"], before["uptime_s"].get<std::int64_t>() + 10);
}

TEST_F(GatewayModels, TheServersActivityIsTheLatestOfItsKernels) {
  const json before = get("/api/status");
  EXPECT_EQ(before["connections"], 0);
  gateway.advance(5s);
  const ConnectionId tab = gateway.connect(session, "tab");
  gateway.execute(tab, "c");
  const json after = get("/api/status");
  EXPECT_EQ(after["connections"], 1);
  EXPECT_EQ(after["started"], before["started"]);
  EXPECT_NE(after["last_activity"], before["last_activity"]);
  EXPECT_EQ(after["last_activity"], gateway.model(session)["last_activity"]);
}

TEST_F(GatewayModels, FilesOfAKernelspecAreNamedAsClientsKnowThem) {
  const KernelSpec spec{
      .name = "k", .spec_json = "no object", .files = {{"logo-svg.svg", ""}, {"kernel.js", ""}}};
  const api::KernelSpecModel model = kernel_spec_model(spec);
  EXPECT_EQ(model.spec, json::object());
  EXPECT_EQ(model.resources.at("logo-svg"), "/kernelspecs/k/logo-svg.svg");
  EXPECT_EQ(model.resources.at("kernel.js"), "/kernelspecs/k/kernel.js");
}

TEST_F(GatewayModels, AHostThatIsDrainedSaysWhatStays) {
  EXPECT_FALSE(host(0).contains("stay") && !host(0)["stay"].empty());
  gateway.http("POST", "/api/banyan/hosts/h1/drain");
  const json model = host(0);
  EXPECT_EQ(model["draining"], true);
  ASSERT_EQ(model["stay"].size(), 1U);
  EXPECT_EQ(model["stay"][0]["session"], session.value);
}

TEST_F(GatewayModels, WhereNoHostAnswersASessionIsShownWithoutALeader) {
  change({"h1"}, [](ReplicaReport& report) { report.leader = {1}; });
  EXPECT_EQ(shown()["replicas"][0]["leader"], true);
  for (const char* name : {"h1", "h2", "h3"}) gateway.lose_host({name});
  const json model = shown();
  for (const json& replica : model["replicas"]) {
    EXPECT_EQ(replica["leader"], false);
    EXPECT_EQ(replica["up"], false);
    EXPECT_EQ(replica["worker"], "ready") << "as it was when its host was heard";
  }
}

TEST_F(GatewayModels, WhatAHostHeldBeforeItStartedAgainIsNotShown) {
  gateway.hosts[{"h1"}].up = false;  // what it is asked then does not reach it
  const Incarnation before{0}, now{77}, gateways{1001};
  gateway.step(FrameArrived{{"h1"}, LinkFrame{.from = now, .to = before, .messages = {}}});
  gateway.step(FrameArrived{{"h1"}, LinkFrame{.from = now, .to = gateways, .messages = {}, .answer = 1}});
  EXPECT_EQ(host(0)["sessions"], json::array());
  EXPECT_EQ(shown()["replicas"][0]["worker"], "none");
  EXPECT_EQ(shown()["replicas"][0]["up"], false) << "it has not told what it holds";
}

}  // namespace
}  // namespace banyan::node
