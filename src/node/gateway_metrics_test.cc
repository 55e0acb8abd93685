// What the gateway tells Prometheus of its cells.

#include "node/gateway_metrics.h"

#include <gmock/gmock.h>

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
