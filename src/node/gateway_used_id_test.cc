// A kernel that gets the id of one that was deleted: the hosts need not have heard yet that the first has
// ended.

#include <gmock/gmock.h>

#include <set>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::Field;
using ::testing::Not;

class GatewayUsedId : public ::testing::Test {
 protected:
  GatewayUsedId() {
    gateway.start_with_hosts();
    create();
    first = gateway.hosts.at({"h1"}).replicas.at(session);
  }
  void create() {
    const std::string env = R"({"env":{"KERNEL_ID":")" + session.value + R"("}})";
    EXPECT_EQ(gateway.http("POST", "/api/kernels", env).status, 201);
  }
  void create_again() {
    EXPECT_EQ(gateway.http("DELETE", "/api/kernels/" + session.value).status, 204);
    gateway.forget();
    create();
  }
  std::set<ReplicaId> opened() {
    std::set<ReplicaId> ids;
    for (const auto& [host, state] : gateway.hosts)
      for (const OpenReplica& order : gateway.got<OpenReplica>(host)) ids.insert(order.replica);
    return ids;
  }

  TestGateway gateway;
  const SessionId session{"00000000-0000-4000-8000-000000000001"};
  ReplicaReport first;  ///< of the first session's replica on h1
};

TEST_F(GatewayUsedId, GivesTheReplicasOtherIds) {
  const std::set<ReplicaId> before = opened();
  create_again();
  const std::set<ReplicaId> after = opened();
  ASSERT_EQ(after.size(), 3U);
  for (const ReplicaId replica : after) EXPECT_FALSE(before.contains(replica));
}

TEST_F(GatewayUsedId, IsNotToldOfByTheFirstSession) {
  create_again();
  const ReplicaReport second = gateway.hosts.at({"h1"}).replicas.at(session);
  first.epoch = {7};
  first.last = {9};
  first.worker_pid = 4711;
  HostReport late;
  late.replicas = {first};
  gateway.from_host({"h1"}, late);
  const json model = json::parse(gateway.http("GET", "/api/banyan/sessions").body).at(0);
  for (const json& replica : model["replicas"]) {
    EXPECT_NE(replica["pid"], 4711);
    EXPECT_NE(replica["last_commit"], 9);
  }
  EXPECT_THAT(gateway.got<CloseReplica>({"h1"}), Contains(Field(&CloseReplica::replica, first.replica)));
  EXPECT_THAT(gateway.got<CloseReplica>({"h1"}),
              Not(Contains(Field(&CloseReplica::replica, second.replica))));
}

}  // namespace
}  // namespace banyan::node
