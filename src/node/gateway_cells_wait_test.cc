// Cells that wait at the gateway: what is kept of them, what an interrupt does to them, and what an outage
// does.

#include <gmock/gmock.h>

#include <algorithm>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class GatewayWaits : public ::testing::Test {
 protected:
  void begin() {
    gateway.start_with_hosts();
    session = gateway.create();
    tab = gateway.connect(session, "tab");
    gateway.forget();
  }
  std::size_t kept(const std::string& what) {
    return static_cast<std::size_t>(std::ranges::count_if(
        gateway.store, [&](const auto& item) { return item.first.starts_with(what + "/"); }));
  }
  /// The cells that hosts were asked to run, in their order, each once.
  std::vector<std::string> asked() {
    std::vector<std::string> cells;
    for (auto& [id, host] : gateway.hosts)
      for (const Execute& one : gateway.got<Execute>(id))
        if (!one.aborts && std::ranges::find(cells, one.execution.value) == cells.end())
          cells.push_back(one.execution.value);
    return cells;
  }

  TestGateway gateway{{"h1", "h2", "h3"}};
  SessionId session;
  ConnectionId tab;
};

// ---- what is kept

TEST_F(GatewayWaits, WhatIsKnownOfACellsOutputsGoesWithItsEnd) {
  begin();
  gateway.execute(tab, "c1");
  gateway.advance(300ms);
  gateway.output({"h1"}, session, "c1", 1, "a");
  EXPECT_EQ(kept("progress"), 1U);
  gateway.end({"h1"}, session, "c1", 1);
  EXPECT_EQ(kept("progress"), 0U);
  EXPECT_EQ(kept("cell"), 0U);
}

TEST_F(GatewayWaits, OfACellThatEndsSoonNoOutputIsNoted) {
  begin();
  gateway.execute(tab, "c1");
  gateway.advance(150ms);
  gateway.output({"h1"}, session, "c1", 1, "a");
  EXPECT_EQ(kept("progress"), 0U);
  gateway.advance(50ms);
  EXPECT_EQ(kept("progress"), 1U) << "it goes on";
}

TEST_F(GatewayWaits, WithTheKernelEverythingGoes) {
  begin();
  gateway.clients[tab].confirms = false;
  gateway.execute(tab, "c1");
  gateway.end({"h1"}, session, "c1");
  gateway.execute(tab, "c2");
  gateway.advance(300ms);
  gateway.output({"h1"}, session, "c2", 1, "a");
  gateway.execute(tab, "c3");
  EXPECT_EQ(kept("cell"), 3U);
  EXPECT_EQ(kept("progress"), 1U);
  EXPECT_EQ(gateway.http("DELETE", "/api/kernels/" + session.value).status, 204);
  EXPECT_EQ(kept("cell"), 0U);
  EXPECT_EQ(kept("progress"), 0U);
}

TEST_F(GatewayWaits, OnlyTheOutputsOfTheFirstCellArePassedOn) {
  begin();
  gateway.execute(tab, "c1");
  gateway.execute(tab, "c2");
  gateway.output({"h1"}, session, "c2", 1, "early");
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
  gateway.end({"h1"}, session, "c1");
  gateway.end({"h1"}, session, "c2");
  gateway.forget();
  gateway.output({"h1"}, session, "c2", 1, "late");
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
}

TEST_F(GatewayWaits, AtTheLimitOfBytesACellIsAcceptedAndAboveItNot) {
  const jupyter::Message cell = TestGateway::request("execute_request", "c1", R"({"code":"1"})");
  gateway.config.sizes.message_max = 2 * cell.size();
  begin();
  for (const char* id : {"c1", "c2"}) gateway.execute(tab, id);
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
  gateway.execute(tab, "c3");
  EXPECT_THAT(gateway.heard(tab), Contains("error:QueueFull(c3)"));
}

TEST_F(GatewayWaits, WhatALaterLifeTakesUpCountsForTheLimitToo) {
  const jupyter::Message cell = TestGateway::request("execute_request", "c1", R"({"code":"1"})");
  gateway.config.sizes.message_max = 2 * cell.size();
  begin();
  for (const char* id : {"c1", "c2"}) gateway.execute(tab, id);
  gateway.start();
  gateway.advance(1s);
  tab = gateway.connect(session, "tab");
  gateway.execute(tab, "c3");
  EXPECT_THAT(gateway.heard(tab), Contains("error:QueueFull(c3)"));
}

TEST_F(GatewayWaits, CellsOfALaterLifeDoNotTakeThePlacesOfThoseOfAnEarlierOne) {
  begin();
  for (const char* id : {"c1", "c2"}) gateway.execute(tab, id);
  gateway.start();
  gateway.advance(1s);
  tab = gateway.connect(session, "tab");
  gateway.execute(tab, "c3");
  EXPECT_EQ(kept("cell"), 3U);
}

TEST_F(GatewayWaits, OneMissingOutputIsMarkedToo) {
  begin();
  gateway.execute(tab, "c1");
  gateway.output({"h1"}, session, "c1", 2, "b");
  ASSERT_THAT(gateway.heard(tab), SizeIs(2));
  EXPECT_THAT(gateway.heard(tab)[0], HasSubstr("1 messages of output are missing here"));
  EXPECT_EQ(gateway.heard(tab)[1], "stream:b(c1)");
}

TEST_F(GatewayWaits, WhatAClientHasOfAnEarlierCellSaysNothingOfTheOneThatRuns) {
  begin();
  gateway.disconnect(tab);
  tab = gateway.connect(session, "tab", "&repeats=dropped");
  gateway.clients[tab].confirms = false;
  gateway.execute(tab, "c1");
  gateway.output({"h1"}, session, "c1", 1, "a");
  gateway.end({"h1"}, session, "c1", 1);
  gateway.execute(tab, "c2");
  gateway.advance(300ms);
  gateway.confirm(tab);
  gateway.advance(300ms);
  EXPECT_EQ(kept("progress"), 0U);
}

TEST_F(GatewayWaits, WhatAnotherClientHasIsNotWhatTheCellsOwnClientHas) {
  begin();
  gateway.connect(session, "second");
  gateway.clients[tab].reads = false;
  gateway.execute(tab, "c1");
  gateway.advance(300ms);
  gateway.output({"h1"}, session, "c1", 1, "a");
  gateway.advance(300ms);
  EXPECT_EQ(kept("progress"), 0U);
  gateway.drain(tab);
  gateway.advance(300ms);
  EXPECT_EQ(kept("progress"), 1U);
}

TEST_F(GatewayWaits, ACellThatWaitsAndThatHostsKnowIsLeftToTheLogWhenTheFirstFails) {
  begin();
  for (const char* id : {"c1", "c2", "c3"}) gateway.execute(tab, id);
  gateway.hosts[{"h2"}].replicas[session].newest = {"c2"};  // an earlier life of the gateway has sent it
  gateway.report({"h2"}, session);
  gateway.end({"h1"}, session, "c1", 0, session::Status::kError);
  EXPECT_THAT(gateway.heard(tab), Contains("execute_reply:aborted(c3)"));
  EXPECT_THAT(gateway.heard(tab), Not(Contains("execute_reply:aborted(c2)")));
  EXPECT_EQ(gateway.model(session)["execution_state"], "busy");
}

// ---- outages

TEST_F(GatewayWaits, InEachOutageAClientIsToldOfItsCellOnce) {
  begin();
  gateway.execute(tab, "c1");
  const auto told = [&] {
    std::size_t count = 0;
    for (const std::string& one : gateway.heard(tab)) count += one.starts_with("stream:[banyan: ") ? 1 : 0;
    return count;
  };
  for (std::size_t outage = 1; outage <= 2; ++outage) {
    for (const char* host : {"h1", "h2", "h3"}) gateway.lose_host({host});
    gateway.advance(20s);
    EXPECT_EQ(told(), outage);
    for (const char* host : {"h1", "h2", "h3"}) gateway.hosts[{host}].up = true;
    gateway.advance(3s);
  }
}

TEST_F(GatewayWaits, ACellThatNobodyWasAskedToRunIsRefusedWhenTheOutageLasts) {
  begin();
  gateway.execute(tab, "c1");
  gateway.execute(tab, "c2");
  for (const char* host : {"h1", "h2", "h3"}) gateway.lose_host({host});
  gateway.advance(11s);
  EXPECT_THAT(gateway.heard(tab), Contains("error:NoQuorum(c2)"));
  EXPECT_THAT(gateway.heard(tab), Not(Contains("error:NoQuorum(c1)"))) << "it may have begun";
  EXPECT_EQ(gateway.heard(tab).back(), "status:busy(c1)") << "the idle of c2 does not hide it";
  EXPECT_EQ(gateway.model(session)["execution_state"], "busy");
}

// ---- interrupts

/// One device on each host, and three sessions whose cells have them: the cells of a fourth wait.
class GatewayWaitsForDevices : public GatewayWaits {
 protected:
  GatewayWaitsForDevices() {
    gateway.config.kernel_specs[0].demand.gpus = 1;
    for (const char* host : {"h1", "h2", "h3"}) gateway.hosts[{host}].devices = {{.id = {"0"}}};
    gateway.start_with_hosts();
    for (const char* cell : {"x", "y", "z"}) {
      others.push_back(gateway.create());
      gateway.execute(gateway.connect(others.back(), "other"), cell);
    }
    session = gateway.create();
    tab = gateway.connect(session, "tab");
    gateway.forget();
  }
  void interrupt() { gateway.http("POST", "/api/kernels/" + session.value + "/interrupt"); }

  std::vector<SessionId> others;
};

TEST_F(GatewayWaitsForDevices, AnInterruptAbortsWhatWaitsBehindACellThatWaits) {
  for (const char* cell : {"c1", "c2"}) gateway.execute(tab, cell);
  ASSERT_THAT(asked(), IsEmpty());
  interrupt();
  EXPECT_THAT(gateway.heard(tab), Contains("error:KeyboardInterrupt(c1)"));
  EXPECT_THAT(gateway.heard(tab), Contains("execute_reply:aborted(c2)"));
  EXPECT_EQ(gateway.model(session)["execution_state"], "idle");
  EXPECT_THAT(gateway.who_got<Interrupt>(), IsEmpty()) << "no worker has anything to do with it";
}

TEST_F(GatewayWaitsForDevices, AnInterruptLeavesWhatFollowsACellThatDoesNotStopOthers) {
  gateway.execute(tab, "c1", R"({"code":"1","stop_on_error":false})");
  gateway.execute(tab, "c2");
  interrupt();
  EXPECT_THAT(gateway.heard(tab), Contains("error:KeyboardInterrupt(c1)"));
  EXPECT_THAT(gateway.heard(tab), Not(Contains("execute_reply:aborted(c2)")));
  EXPECT_EQ(gateway.model(session)["execution_state"], "busy");
  for (const char* host : {"h1", "h2", "h3"}) gateway.end({host}, others[0], "x");
  EXPECT_THAT(asked(), ElementsAre("c2")) << "it waits in the place of the first";
}

TEST_F(GatewayWaitsForDevices, AnOutageEndsACellThatWaitsAndThatNobodyWasAskedToRun) {
  gateway.execute(tab, "c1");
  for (const char* host : {"h1", "h2", "h3"}) gateway.lose_host({host});
  gateway.advance(15s);
  EXPECT_THAT(gateway.heard(tab), Contains("error:NoQuorum(c1)"));
  for (const char* host : {"h1", "h2", "h3"}) gateway.hosts[{host}].up = true;
  gateway.advance(3s);
  for (const char* host : {"h1", "h2", "h3"}) gateway.end({host}, others[0], "x");
  gateway.advance(1s);
  EXPECT_THAT(asked(), Not(Contains("c1")));
  gateway.execute(tab, "c2");
  EXPECT_THAT(asked(), Contains("c2"));
}

TEST_F(GatewayWaits, AnInterruptOfACellThatRunsIsForItsWorker) {
  begin();
  gateway.execute(tab, "c1");
  gateway.http("POST", "/api/kernels/" + session.value + "/interrupt");
  EXPECT_THAT(gateway.who_got<Interrupt>(), ElementsAre(HostId{"h1"}));
}

}  // namespace
}  // namespace banyan::node
