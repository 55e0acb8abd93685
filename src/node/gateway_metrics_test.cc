// What the gateway tells Prometheus of its cells.

#include "node/gateway_metrics.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class GatewayMetrics : public ::testing::Test {
 protected:
  void SetUp() override {
    gateway.start_with_hosts();
    session = gateway.create();
    tab = gateway.connect(session, "tab");
  }
  std::string page() { return gateway.http("GET", "/metrics").body; }

  TestGateway gateway;
  SessionId session;
  ConnectionId tab;
};

TEST_F(GatewayMetrics, ACellWaitsUntilThereIsASignThatItRunsAndTakesUntilItsEnd) {
  gateway.execute(tab, "c");
  gateway.advance(2s);
  gateway.output({"h1"}, session, "c", 1, "it runs");
  gateway.advance(3s);
  EXPECT_THAT(page(), HasSubstr("banyan_open_cells 1\n"));
  gateway.output({"h1"}, session, "c", 2, "still");
  gateway.end({"h1"}, session, "c");
  EXPECT_THAT(page(), HasSubstr("banyan_cell_delay_seconds_sum{gpus=\"none\"} 2\n"));
  EXPECT_THAT(page(), HasSubstr("banyan_cell_delay_seconds_count{gpus=\"none\"} 1\n"));
  EXPECT_THAT(page(), HasSubstr("banyan_cell_seconds_sum{gpus=\"none\"} 5\n"));
  EXPECT_THAT(page(), HasSubstr("banyan_cells_total{status=\"ok\"} 1\n"));
  EXPECT_THAT(page(), HasSubstr("banyan_open_cells 0\n"));
}

TEST(GatewayMetricsOfGpus, ItIsCountedHowCellsCameToThem) {
  TestGateway gateway({"h1", "h2"});
  gateway.config.kernel_specs[0].demand.gpus = 1;
  gateway.config.replicas = 2;
  for (const char* host : {"h1", "h2"}) gateway.hosts[{host}].devices = {{.id = {"0"}}};
  gateway.start_with_hosts();
  const std::string family = "banyan_gpu_starts_total{bound=\"";
  const auto page = [&] { return gateway.http("GET", "/metrics").body; };
  std::map<std::string, SessionId> sessions;
  const auto begin = [&](const std::string& cell) {
    sessions[cell] = gateway.create();
    gateway.execute(gateway.connect(sessions[cell], "tab"), cell);
  };
  begin("first");  // each begins as the one that ran last on the host of its first executor
  EXPECT_THAT(page(), HasSubstr(family + "at_once\",host=\"same\"} 1\n"));
  begin("second");
  EXPECT_THAT(page(), HasSubstr(family + "at_once\",host=\"other\"} 1\n")) << "h1 is busy";
  begin("third");
  EXPECT_THAT(page(), Not(HasSubstr(family + "later")));
  gateway.end({"h1"}, sessions["first"], "first");
  gateway.exchange();
  EXPECT_THAT(page(), HasSubstr(family + "later\",host=\"same\"} 1\n"));
}

TEST_F(GatewayMetrics, ReplicasThatAreToGoElsewhereAreCounted) {
  EXPECT_THAT(page(), HasSubstr("banyan_moves_total 0\n"));
  for (auto& [host, state] : gateway.hosts) {
    state.replicas[session].complete = true;
    gateway.report(host, session);
  }
  gateway.start_host({"h4"});
  gateway.http("POST", "/api/banyan/hosts/h3/drain");
  gateway.advance(1s);
  EXPECT_THAT(page(), HasSubstr("banyan_moves_total 1\n"));
}

TEST_F(GatewayMetrics, WhatNeverRanIsCountedAndNotTimed) {
  gateway.execute(tab, "c1");
  gateway.execute(tab, "c2");
  gateway.end({"h1"}, session, "c1", 0, session::Status::kError);
  gateway.exchange();
  EXPECT_THAT(page(), HasSubstr("banyan_cells_total{status=\"error\"} 1\n"));
  EXPECT_THAT(page(), HasSubstr("banyan_cells_total{status=\"aborted\"} 1\n"));
  EXPECT_THAT(page(), HasSubstr("banyan_cell_seconds_count{gpus=\"none\"} 1\n"));
  EXPECT_THAT(page(), HasSubstr("banyan_cell_delay_seconds_count{gpus=\"none\"} 1\n"));
}

TEST_F(GatewayMetrics, HostsAreCountedByWhatCanBeCountedOn) {
  gateway.lose_host({"h2"});
  gateway.http("POST", "/api/banyan/hosts/h3/drain");
  gateway.exchange();
  EXPECT_THAT(page(), HasSubstr("banyan_hosts{state=\"up\"} 2\n"));
  EXPECT_THAT(page(), HasSubstr("banyan_hosts{state=\"silent\"} 1\n"));
  EXPECT_THAT(page(), HasSubstr("banyan_hosts{state=\"draining\"} 1\n"));
  EXPECT_THAT(page(), Not(HasSubstr("banyan_subscription_ratio"))) << "there are no GPUs";
}

}  // namespace
}  // namespace banyan::node
