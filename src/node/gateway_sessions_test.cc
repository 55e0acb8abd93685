// Sessions that end: what the control store knows of them comes before what hosts have of them.

#include <gmock/gmock.h>

#include <algorithm>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const HostId kH1{"h1"}, kH2{"h2"}, kH3{"h3"}, kH4{"h4"};

/// Nothing becomes durable from the deletion on.
class GatewayEndings : public ::testing::Test {
 protected:
  GatewayEndings() {
    gateway.start_with_hosts();
    EXPECT_EQ(create(), 201);
    gateway.store_works = false;
  }
  int create() {
    const std::string env = R"({"env":{"KERNEL_ID":")" + session.value + R"("}})";
    return gateway.http("POST", "/api/kernels", env).status;
  }
  int shut_down() { return gateway.http("DELETE", "/api/kernels/" + session.value).status; }

  TestGateway gateway;
  const SessionId session{"00000000-0000-4000-8000-000000000001"};
};

TEST_F(GatewayEndings, ReplicasAreClosedWhenTheEndIsDurable) {
  EXPECT_EQ(shut_down(), 0) << "no answer yet";
  gateway.report(kH1, session);
  gateway.advance(1s);
  EXPECT_THAT(gateway.who_got<CloseReplica>(), IsEmpty());
  gateway.flush_store();
  EXPECT_EQ(gateway.last_reply().status, 204);
  EXPECT_THAT(gateway.who_got<CloseReplica>(), ElementsAre(kH1, kH2, kH3));
  EXPECT_FALSE(gateway.store.contains("session/" + session.value));
}

TEST_F(GatewayEndings, AGatewayThatDiesBeforeThatLeavesTheSessionAsItWas) {
  const ConnectionId tab = gateway.connect(session, "tab");
  shut_down();
  EXPECT_FALSE(gateway.clients[tab].open) << "it is over for those who use it";
  gateway.report(kH2, session);
  gateway.start();
  gateway.store_works = true;
  gateway.advance(1s);
  EXPECT_EQ(gateway.model(session)["execution_state"], "idle");
  EXPECT_THAT(gateway.who_got<CloseReplica>(), IsEmpty());
}

TEST_F(GatewayEndings, AReplicaThatIsReportedMeanwhileIsClosedThen) {
  shut_down();
  gateway.hosts[kH4].replicas[session] = gateway.hosts[kH1].replicas[session];
  gateway.report(kH4, session);
  EXPECT_THAT(gateway.who_got<CloseReplica>(), IsEmpty());
  gateway.flush_store();
  EXPECT_THAT(gateway.who_got<CloseReplica>(), ElementsAre(kH1, kH2, kH3, kH4));
}

TEST_F(GatewayEndings, ANewSessionOfThatIdOpensItsReplicasAfterThat) {
  shut_down();
  gateway.forget();
  create();
  EXPECT_THAT(gateway.who_got<OpenReplica>(), IsEmpty());
  gateway.flush_store();
  EXPECT_EQ(gateway.last_reply().status, 201);
  for (const HostId& host : gateway.who_got<OpenReplica>()) {
    const std::vector<PeerMessage>& got = gateway.hosts[host].got;
    const auto opens = std::ranges::find_if(
        got, [](const PeerMessage& message) { return std::holds_alternative<OpenReplica>(message); });
    EXPECT_FALSE(std::any_of(opens, got.end(), [](const PeerMessage& message) {
      return std::holds_alternative<CloseReplica>(message);
    })) << host.value;
  }
}

TEST_F(GatewayEndings, TheKernelOfANotebookEndsSo) {
  gateway.store_works = true;
  const auto answer = gateway.http(
      "POST", "/api/sessions",
      R"({"path":"a.ipynb","name":"a","type":"notebook","kernel":{"id":")" + session.value + R"("}})");
  const std::string notebook = nlohmann::json::parse(answer.body)["id"];
  gateway.store_works = false;
  EXPECT_EQ(gateway.http("DELETE", "/api/sessions/" + notebook).status, 0);
  EXPECT_THAT(gateway.who_got<CloseReplica>(), IsEmpty());
  gateway.flush_store();
  EXPECT_EQ(gateway.last_reply().status, 204);
  EXPECT_THAT(gateway.who_got<CloseReplica>(), ElementsAre(kH1, kH2, kH3));
}

}  // namespace
}  // namespace banyan::node
