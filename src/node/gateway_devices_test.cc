// Cells that need devices, at the gateway: they wait for them, and have them until they end.

#include <gmock/gmock.h>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Three hosts with one device each, and sessions whose cells need one.
class GatewayDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    gateway.config.kernel_specs[0].demand.gpus = 1;
    for (const char* host : {"h1", "h2", "h3"}) gateway.hosts[{host}].devices = {{.id = {"0"}}};
    gateway.start_with_hosts();
  }
  /// A session of its own runs the cell. The host that was asked to; empty when nobody was.
  HostId run(const std::string& cell) {
    if (!sessions.contains(cell)) sessions[cell] = gateway.create();
    gateway.execute(gateway.connect(sessions[cell], "tab"), cell);
    return lead(cell);
  }
  HostId lead(const std::string& cell) {
    for (auto& [id, host] : gateway.hosts)
      for (const Execute& asked : gateway.got<Execute>(id))
        if (asked.execution.value == cell) return id;
    return {};
  }
  void end(const std::string& cell) { gateway.end(lead(cell), sessions[cell], cell); }
  std::uint64_t bound(const HostId& host) {
    for (const auto& one : TestGateway::json::parse(gateway.http("GET", "/api/banyan/hosts").body))
      if (one["host"] == host.value) return one["bound_gpus"].get<std::uint64_t>();
    return 0;
  }

  TestGateway gateway{{"h1", "h2", "h3"}};
  std::map<std::string, SessionId> sessions;  ///< by the cell that they run
};

/// Four hosts with one device each, and a session on three of them, whose devices others have.
class MovesForDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    gateway.config.kernel_specs[0].demand.gpus = 1;
    for (const HostId& host : {kHost1, kHost2, kHost3, kHost4}) gateway.hosts[host].devices = {{.id = {"0"}}};
    gateway.start_with_hosts();
    mover = gateway.create();
    for (const SessionId& other : {gateway.create(), gateway.create()})
      for (const HostId& host : {kHost1, kHost2, kHost3})
        if (gateway.hosts[host].replicas.contains(other)) bind(host, other);
    gateway.execute(gateway.connect(mover, "tab"), "c");
    gateway.forget();
  }
  void bind(const HostId& host, const SessionId& session) {
    ReplicaReport& replica = gateway.hosts[host].replicas[session];
    replica.running = ExecutionId{"unknown"};
    replica.devices = {{"0"}};
    gateway.report(host, session);
  }
  template <class Change>
  void set(Change change) {
    for (auto& [id, host] : gateway.hosts) {
      if (!host.replicas.contains(mover)) continue;
      change(host.replicas[mover]);
      gateway.report(id, mover);
    }
  }

  const HostId kHost1{"h1"}, kHost2{"h2"}, kHost3{"h3"}, kHost4{"h4"};
  TestGateway gateway{{"h1", "h2", "h3", "h4"}};
  SessionId mover;
};

TEST_F(GatewayDevices, WhatASessionHasReservedIsFreeWhenItIsSuspended) {
  sessions["c1"] = gateway.create("python3", {{"KERNEL_POLICY", "reservation"}});
  const HostId host = run("c1");
  gateway.output(host, sessions["c1"], "c1", 1, "it runs");
  gateway.end(host, sessions["c1"], "c1", 1);
  EXPECT_EQ(bound(host), 1U) << "also between its cells";
  for (auto& [id, one] : gateway.hosts) {
    if (!one.replicas.contains(sessions["c1"])) continue;
    one.replicas[sessions["c1"]].suspended = true;
    one.replicas[sessions["c1"]].worker = WorkerState::kNone;
    gateway.report(id, sessions["c1"]);
  }
  gateway.advance(1s);
  EXPECT_EQ(bound(host), 0U);
}

TEST_F(MovesForDevices, WithoutAPriceItWaits) {
  gateway.advance(5s);
  EXPECT_THAT(gateway.got<OpenReplica>(kHost4), IsEmpty());
}

TEST_F(MovesForDevices, AReplicaComesToTheIdleOneAndTheCellStartsThereAtOnce) {
  set([](ReplicaReport& report) { report.move_us = 600'000; });
  gateway.advance(4s);
  ASSERT_THAT(gateway.got<OpenReplica>(kHost4), ::testing::SizeIs(1));
  EXPECT_EQ(gateway.got<OpenReplica>(kHost4)[0].session, mover);
  EXPECT_THAT(gateway.got<Execute>(kHost4), IsEmpty()) << "its log does not name the new replica yet";
  const session::Members four{{{1}, kHost1}, {{2}, kHost2}, {{3}, kHost3}, {{4}, kHost4}};
  set([&](ReplicaReport& report) { report.members = four; });
  gateway.advance(100ms);
  const auto asked = gateway.got<Execute>(kHost4);
  ASSERT_THAT(asked, ::testing::SizeIs(1));
  EXPECT_EQ(asked[0].execution.value, "c");
  EXPECT_THAT(asked[0].devices, ElementsAre(DeviceId{"0"}));
}

TEST_F(GatewayDevices, ACellIsAskedForWithItsDevicesAndTheNextOneWaitsForThem) {
  std::set<HostId> asked;
  for (const char* cell : {"a", "b", "c"}) asked.insert(run(cell));
  EXPECT_THAT(asked, ElementsAre(HostId{"h1"}, HostId{"h2"}, HostId{"h3"}));
  for (const HostId& host : asked) {
    const auto orders = gateway.got<Execute>(host);
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(orders[0].gpus, 1U);
    EXPECT_THAT(orders[0].devices, ElementsAre(DeviceId{"0"}));
    EXPECT_EQ(bound(host), 1U);
  }
  for (const char* cell : {"a", "b", "c"}) gateway.output(lead(cell), sessions[cell], cell, 1, "it runs");
  EXPECT_EQ(run("d"), HostId{});
  gateway.advance(10s);
  EXPECT_EQ(lead("d"), HostId{}) << "it waits however long it takes";
  const HostId free = lead("b");
  end("b");
  EXPECT_EQ(lead("d"), free);
  end("d");
  EXPECT_EQ(bound(free), 0U) << "between its cells a session has none";
}

TEST_F(GatewayDevices, ACellThatIsDeletedOrLostGivesItsDevicesBack) {
  for (const char* cell : {"a", "b", "c", "d"}) run(cell);
  const HostId first = lead("a");
  gateway.http("DELETE", "/api/kernels/" + sessions["a"].value);
  EXPECT_EQ(lead("d"), first) << "its session was deleted";
  run("e");
  const HostId second = lead("b");
  gateway.end(second, sessions["b"], "b", 0, session::Status::kLost);
  EXPECT_EQ(lead("e"), second);
}

/// The hosts know what runs, whatever the gateway thinks of it.
class DevicesByReport : public GatewayDevices {
 protected:
  /// The host says that the session's cell runs there with its device, or that nothing does.
  void report(const HostId& host, const SessionId& session, const std::string& cell) {
    ReplicaReport& replica = gateway.hosts[host].replicas[session];
    replica.running = cell.empty() ? std::nullopt : std::optional(ExecutionId{cell});
    replica.executor = replica.replica;
    replica.epoch = {1};
    replica.devices = cell.empty() ? std::set<DeviceId>{} : std::set<DeviceId>{{"0"}};
    gateway.report(host, session);
  }
};

TEST_F(DevicesByReport, ALaterLifeOfTheGatewayLearnsWhatIsBound) {
  const HostId host = run("a");
  report(host, sessions["a"], "a");
  gateway.start_with_hosts();
  gateway.advance(1s);
  for (const char* each : {"h1", "h2", "h3"}) EXPECT_EQ(bound({each}), HostId{each} == host ? 1U : 0U);
}

TEST_F(DevicesByReport, WhatIsBoundForACellThatTheGatewayDoesNotKnowIsNotIdle) {
  run("a");
  end("a");
  for (const char* host : {"h1", "h2", "h3"}) report({host}, sessions["a"], "unknown");
  EXPECT_EQ(run("b"), HostId{});
  report({"h2"}, sessions["a"], "");
  EXPECT_EQ(lead("b"), HostId{"h2"});
}

TEST_F(DevicesByReport, AHostThatDoesNotAnswerForAMomentKeepsWhatItsCellsHave) {
  const HostId host = run("a");
  report(host, sessions["a"], "a");
  gateway.lose_host(host);
  gateway.exchange();
  gateway.find_host(host);
  EXPECT_EQ(bound(host), 1U);
}

TEST_F(DevicesByReport, WhatASessionHadThatIsClosedIsFree) {
  for (const char* cell : {"a", "b", "c"}) {
    const HostId host = run(cell);
    report(host, sessions[cell], cell);
  }
  const HostId host = lead("a");
  EXPECT_EQ(run("d"), HostId{});
  gateway.http("DELETE", "/api/kernels/" + sessions["a"].value);
  EXPECT_EQ(lead("d"), host) << "it has said that it has closed it";
}

TEST_F(DevicesByReport, ANewLifeOfAHostHasNothingBound) {
  const HostId host = run("a");
  report(host, sessions["a"], "a");
  gateway.end(host, sessions["a"], "a");
  gateway.hosts[host].replicas.clear();
  gateway.start_host(host);
  EXPECT_EQ(bound(host), 0U);
}

TEST_F(GatewayDevices, ACellThatIsOnlyToBeEndedWaitsForNoDevice) {
  for (const char* cell : {"a", "b", "c"}) run(cell);
  const ConnectionId tab = gateway.connect(sessions["a"], "tab");
  gateway.execute(tab, "a2");
  gateway.start_with_hosts();  // whether hosts know a2 only the log can say
  gateway.advance(1s);
  const HostId host = lead("a");
  gateway.forget();
  gateway.end(host, sessions["a"], "a", 0, session::Status::kError);
  ASSERT_NE(lead("a2"), HostId{});
  EXPECT_TRUE(gateway.got<Execute>(lead("a2")).back().aborts);
  EXPECT_EQ(gateway.got<Execute>(lead("a2")).back().gpus, 0U);
}

TEST_F(GatewayDevices, CompletionGoesToTheExecutorWhileTheNextCellWaits) {
  const HostId executor = run("d");
  end("d");
  for (const char* cell : {"a", "b", "c"}) run(cell);
  const ConnectionId tab = gateway.connect(sessions["d"], "other");
  gateway.execute(tab, "d2");
  ASSERT_EQ(lead("d2"), HostId{});
  gateway.forget();
  gateway.say(tab, TestGateway::request("complete_request", "r1"));
  EXPECT_THAT(gateway.who_got<ToKernel>(), ElementsAre(executor));
}

/// What a cell that waits shows: each text once, and "gone" where it is taken away.
class WaitShown : public GatewayDevices {
 protected:
  /// All three devices are bound, and this many cells wait: "d", "e", …
  void fill(char last) {
    for (char cell = 'a'; cell <= last; ++cell) tabs[cell] = start(std::string(1, cell));
    for (const char* cell : {"a", "b", "c"}) gateway.output(lead(cell), sessions[cell], cell, 1, "it runs");
  }
  ConnectionId start(const std::string& cell) {
    sessions[cell] = gateway.create();
    const ConnectionId tab = gateway.connect(sessions[cell], "tab");
    gateway.execute(tab, cell);
    return tab;
  }
  std::vector<std::string> shown(char cell) {
    std::vector<std::string> texts;
    for (const jupyter::Message& message : gateway.clients[tabs[cell]].got) {
      const auto content = TestGateway::json::parse(message.content.view(), nullptr, false);
      if (message.header.find("clear_output") != std::string::npos) texts.emplace_back("gone");
      if (content.contains("transient")) texts.push_back(content["data"]["text/plain"]);
    }
    return texts;
  }
  TestGateway::json queue() {
    return TestGateway::json::parse(gateway.http("GET", "/api/banyan/queue").body);
  }

  std::map<char, ConnectionId> tabs;
};

TEST_F(WaitShown, ItsPlaceAndWhenItIsGoneBeforeTheCellRuns) {
  fill('e');
  gateway.advance(3s);
  EXPECT_THAT(shown('a'), IsEmpty());
  EXPECT_THAT(shown('d'), ElementsAre("Banyan waits for a GPU: this cell is the next one"));
  EXPECT_THAT(shown('e'), ElementsAre("Banyan waits for a GPU: place 2 in the queue"));
  end("b");
  EXPECT_EQ(lead("d"), lead("b"));
  EXPECT_THAT(shown('d'), ElementsAre("Banyan waits for a GPU: this cell is the next one", "gone"));
  gateway.advance(1s);
  EXPECT_EQ(shown('e').back(), "Banyan waits for a GPU: this cell is the next one, about 10 s");
  gateway.http("POST", "/api/kernels/" + sessions["e"].value + "/interrupt");
  EXPECT_EQ(shown('e').back(), "gone");
}

TEST_F(WaitShown, AShortWaitShowsNothing) {
  fill('d');
  gateway.advance(500ms);
  end("a");
  EXPECT_EQ(lead("d"), lead("a"));
  gateway.advance(3s);
  EXPECT_THAT(shown('d'), IsEmpty());
}

/// A line of before is replaced, and gone without the output that may stand beside it.
TEST_F(WaitShown, AlsoAfterTheGatewayHasStartedAgain) {
  fill('d');
  gateway.advance(2s);
  for (const char* cell : {"a", "b", "c"}) {
    ReplicaReport& replica = gateway.hosts[lead(cell)].replicas[sessions[cell]];
    replica.running = ExecutionId{cell};
    replica.executor = replica.replica;
    replica.epoch = {1};
    replica.devices = {{"0"}};
  }
  gateway.start_with_hosts();
  const ConnectionId tab = tabs['d'] = gateway.connect(sessions["d"], "tab");
  gateway.advance(3s);
  EXPECT_THAT(shown('d'), ElementsAre("Banyan waits for a GPU: this cell is the next one"));
  EXPECT_THAT(gateway.heard(tab), ::testing::Contains(::testing::HasSubstr("update_display_data")));
  gateway.http("POST", "/api/kernels/" + sessions["d"].value + "/interrupt");
  gateway.advance(1s);
  EXPECT_THAT(gateway.heard(tab), ::testing::Not(::testing::Contains(::testing::HasSubstr("clear_output"))));
  gateway.execute(tab, "d2");
  gateway.advance(3s);
  EXPECT_THAT(shown('d'), ::testing::Contains("Banyan waits for a GPU: this cell is the next one"));
}

TEST_F(WaitShown, NothingWhileNobodyCanRunIt) {
  fill('d');
  gateway.advance(2s);
  for (const char* host : {"h2", "h3"}) gateway.lose_host({host});
  gateway.exchange();
  gateway.advance(2s);
  EXPECT_EQ(shown('d').back(), "gone");
}

TEST_F(WaitShown, OperatorsSeeTheQueueAndWhoHasWhat) {
  fill('e');
  gateway.advance(2s);
  const auto waiting = queue();
  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_EQ(waiting[0]["session"], sessions["d"].value);
  EXPECT_EQ(waiting[0]["place"], 1);
  EXPECT_EQ(waiting[1]["place"], 2);
  EXPECT_EQ(waiting[1]["gpus"], 1);
  EXPECT_GE(waiting[1]["waiting_ms"], 2000);
  EXPECT_FALSE(waiting[1].contains("expected_ms")) << "no cell has ended yet";
  const auto gpus = TestGateway::json::parse(gateway.http("GET", "/api/banyan/gpus").body);
  ASSERT_EQ(gpus.size(), 3U);
  for (const auto& gpu : gpus) {
    EXPECT_EQ(gpu["state"], "bound");
    bool known = false;
    for (const char* cell : {"a", "b", "c"})
      known = known || (gpu["session"] == sessions[cell].value && gpu["host"] == lead(cell).value);
    EXPECT_TRUE(known) << gpu.dump();
  }
  for (const auto& session : TestGateway::json::parse(gateway.http("GET", "/api/banyan/sessions").body))
    EXPECT_EQ(session.contains("waits"),
              session["id"] == sessions["d"].value || session["id"] == sessions["e"].value);
  for (const char* cell : {"a", "b", "c", "d", "e"}) end(cell);
  EXPECT_TRUE(queue().empty());
}

TEST_F(WaitShown, WhoHasAsManyAsOneUserMayHaveIsToldSo) {
  gateway.config.gpus_per_user = 2;
  gateway.start_with_hosts();
  for (const char* cell : {"a", "b", "c"}) tabs[*cell] = start(cell);
  for (const char* cell : {"a", "b"}) gateway.output(lead(cell), sessions[cell], cell, 1, "it runs");
  gateway.advance(2s);
  EXPECT_THAT(shown('c'),
              ElementsAre("Banyan waits for a GPU: your cells have as many as one user may have at "
                          "once; it runs when one of them has ended"));
  const auto waiting = queue();
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_TRUE(waiting[0]["at_limit"].get<bool>());
  end("a");
  gateway.advance(1s);
  EXPECT_TRUE(queue().empty());
}

TEST_F(GatewayDevices, AnInterruptEndsACellThatWaits) {
  for (const char* cell : {"a", "b", "c", "d"}) run(cell);
  gateway.http("POST", "/api/kernels/" + sessions["d"].value + "/interrupt");
  EXPECT_EQ(gateway.model(sessions["d"])["execution_state"], "idle");
  end("b");
  EXPECT_EQ(lead("d"), HostId{});
  EXPECT_EQ(run("e"), lead("b")) << "its place in the queue is free";
}

TEST_F(GatewayDevices, HowACellEndedIsAskedForAlsoWhileNoDeviceIsFree) {
  for (const char* cell : {"a", "b", "c"}) run(cell);
  const HostId first = lead("a"), other = lead("b");
  gateway.forget();
  gateway.lose_host(first);
  gateway.exchange();
  const auto asked = gateway.got<Execute>(other);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].execution.value, "a");
  EXPECT_EQ(asked[0].lead, kNoLead) << "it has no device for it";
  gateway.end(other, sessions["a"], "a");
  EXPECT_EQ(gateway.model(sessions["a"])["execution_state"], "idle");
}

TEST_F(GatewayDevices, ACellOfASessionWithoutAMajorityHoldsNoDevice) {
  for (const char* cell : {"a", "b", "c", "d"}) run(cell);
  const HostId left = lead("a");
  for (const char* host : {"h1", "h2", "h3"})
    if (HostId{host} != left) gateway.lose_host({host});
  gateway.exchange();
  end("a");
  gateway.advance(4s);
  EXPECT_EQ(lead("d"), HostId{}) << "it could not begin";
  EXPECT_EQ(bound(left), 0U);
}

TEST_F(GatewayDevices, AnInterruptOfACellThatMayHaveBegunLeavesItToTheLog) {
  for (const char* cell : {"a", "b", "c", "d"}) run(cell);
  gateway.start_with_hosts();
  gateway.advance(1s);
  std::string waits;
  for (const char* cell : {"a", "b", "c", "d"}) {
    gateway.forget();
    gateway.http("POST", "/api/kernels/" + sessions[cell].value + "/interrupt");
    for (const auto& host : gateway.who_got<Execute>())
      for (const Execute& asked : gateway.got<Execute>(host))
        waits += asked.aborts ? asked.execution.value : "";
  }
  EXPECT_EQ(waits.size(), 1U) << "three have a device, and one waits";
}

TEST_F(GatewayDevices, AnInterruptedCellThatIsLeftToTheLogGoesOnWhereItsClientIs) {
  for (const char* cell : {"a", "b", "c"}) run(cell);
  const HostId first = lead("a"), other = lead("b");
  gateway.output(first, sessions["a"], "a", 1, "it runs");
  gateway.lose_host(first);
  gateway.exchange();
  gateway.forget();
  gateway.http("POST", "/api/kernels/" + sessions["a"].value + "/interrupt");
  gateway.exchange();
  const auto asked = gateway.got<Execute>(other);
  ASSERT_FALSE(asked.empty());
  EXPECT_TRUE(asked.back().aborts);
  EXPECT_EQ(asked.back().outputs_seen, 1U);
}

TEST_F(GatewayDevices, AnOutputOfACellThatIsLeftToTheLogWithoutAMajorityReachesItsClient) {
  sessions["a"] = gateway.create();
  const ConnectionId tab = gateway.connect(sessions["a"], "tab");
  gateway.execute(tab, "a");
  const HostId first = lead("a");
  for (const char* host : {"h1", "h2", "h3"}) gateway.lose_host({host});
  gateway.http("POST", "/api/kernels/" + sessions["a"].value + "/interrupt");
  gateway.forget();
  gateway.hosts[first].up = true;
  gateway.output(first, sessions["a"], "a", 1, "it ran");
  EXPECT_THAT(gateway.heard(tab), ::testing::Contains(::testing::HasSubstr("stream")));
  gateway.advance(300ms);
  gateway.forget();
  for (const char* host : {"h1", "h2", "h3"}) gateway.hosts[{host}].up = true;
  gateway.start();
  gateway.advance(1s);
  std::uint64_t seen = 0;
  for (const auto& host : gateway.who_got<Execute>()) seen = gateway.got<Execute>(host).back().outputs_seen;
  EXPECT_EQ(seen, 1U) << "the next life of the gateway knows what the client has";
}

TEST_F(GatewayDevices, AHostThatDeclinesBecauseItsDeviceIsTakenIsFollowedByAnotherOne) {
  const HostId first = run("a");
  gateway.from_host(first, ExecutionDeclined{sessions["a"], {"a"}, "another cell has it", true});
  std::set<HostId> asked;
  for (const auto& host : gateway.who_got<Execute>()) asked.insert(host);
  EXPECT_EQ(asked.size(), 2U);
  EXPECT_EQ(bound(first), 0U);
}

TEST_F(GatewayDevices, ADeviceThatIsFaultyIsNotGrantedUntilItWorksAgain) {
  for (const char* cell : {"a", "b", "c"}) sessions[cell] = gateway.create();
  gateway.hosts[{"h3"}].devices[0].healthy = false;
  gateway.tell_kernels({"h3"}, {});
  EXPECT_EQ(run("a"), HostId{"h1"});
  EXPECT_EQ(run("b"), HostId{"h2"});
  for (const char* cell : {"a", "b"}) gateway.output(lead(cell), sessions[cell], cell, 1, "it runs");
  EXPECT_EQ(run("c"), HostId{});
  gateway.hosts[{"h3"}].devices[0].healthy = true;
  gateway.tell_kernels({"h3"}, {});
  gateway.advance(3s);
  EXPECT_EQ(lead("c"), HostId{"h3"});
}

}  // namespace
}  // namespace banyan::node
