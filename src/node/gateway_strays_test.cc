// Sessions that hosts have and the control store has lost.

#include <gmock/gmock.h>

#include <algorithm>
#include <utility>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GatewayStrays : public ::testing::Test {
 protected:
  GatewayStrays() {
    gateway.start_with_hosts();
    session = gateway.create();
  }
  void start_with(std::map<std::string, std::string> store) {
    gateway.store = std::move(store);
    gateway.logs.clear();
    gateway.start();
    gateway.advance(1s);
  }
  /// Hosts that are said to have a replica of it.
  std::vector<std::string> strayed(const SessionId& id) {
    std::vector<std::string> hosts;
    for (const auto& host : nlohmann::json::parse(gateway.http("GET", "/api/banyan/hosts").body)) {
      const auto strays = host["strays"].get<std::vector<std::string>>();
      if (std::ranges::count(strays, id.value) > 0) hosts.push_back(host["host"].get<std::string>());
    }
    return hosts;
  }
  std::size_t complaints() {
    return static_cast<std::size_t>(std::ranges::count_if(gateway.logs, [](const Log& log) {
      return log.level == Log::Level::kError && log.text.find("does not know") != std::string::npos;
    }));
  }

  TestGateway gateway;
  SessionId session;
};

TEST_F(GatewayStrays, AStoreThatWasLostTakesNoSessionWithIt) {
  const auto kept = gateway.store;
  start_with({});
  gateway.advance(60s);
  EXPECT_THAT(gateway.who_got<CloseReplica>(), IsEmpty());
  EXPECT_THAT(strayed(session), ElementsAre("h1", "h2", "h3"));
  EXPECT_EQ(complaints(), 3U) << "each host's once";
  start_with(kept);
  EXPECT_EQ(gateway.model(session)["execution_state"], "idle");
  EXPECT_THAT(strayed(session), IsEmpty());
}

TEST_F(GatewayStrays, AStoreThatIsPutBackAsItWasEndsNoYoungerSession) {
  const auto old = gateway.store;
  const SessionId younger = gateway.create();
  start_with(old);
  gateway.create();
  gateway.start();
  gateway.advance(1s);
  EXPECT_EQ(gateway.model(session)["execution_state"], "idle");
  EXPECT_EQ(strayed(younger).size(), 3U);
  EXPECT_THAT(gateway.who_got<CloseReplica>(), IsEmpty());
}

TEST_F(GatewayStrays, AnotherStoreFoundsSessionsBesideThem) {
  start_with({});
  const SessionId other = gateway.create();
  gateway.start();
  gateway.advance(1s);
  EXPECT_EQ(gateway.model(other)["execution_state"], "idle");
  EXPECT_EQ(strayed(session).size(), 3U);
  ASSERT_TRUE(gateway.hosts[{"h1"}].replicas.contains(other));
  gateway.lose_host({"h1"});
  gateway.http("DELETE", "/api/kernels/" + other.value);
  gateway.start_host({"h1"});
  EXPECT_FALSE(gateway.hosts[{"h1"}].replicas.contains(other)) << "what it ended is closed as ever";
  EXPECT_TRUE(gateway.hosts[{"h1"}].replicas.contains(session));
}

TEST_F(GatewayStrays, OnlyAnOperatorDeletesThem) {
  start_with({});
  EXPECT_EQ(gateway.http("DELETE", "/api/kernels/" + session.value).status, 404)
      << "a Jupyter server that ends says so of all kernels that it knew";
  EXPECT_THAT(gateway.who_got<CloseReplica>(), IsEmpty());
  EXPECT_EQ(gateway.http("GET", "/api/banyan/strays/" + session.value).status, 405);
  EXPECT_EQ(gateway.http("DELETE", "/api/banyan/strays/" + session.value).status, 204);
  EXPECT_THAT(gateway.who_got<CloseReplica>(), ElementsAre(HostId{"h1"}, HostId{"h2"}, HostId{"h3"}));
  EXPECT_THAT(strayed(session), IsEmpty());
  EXPECT_EQ(gateway.http("DELETE", "/api/banyan/strays/" + session.value).status, 404);
}

TEST_F(GatewayStrays, ItsIdIsNotGivenToANewKernel) {
  const std::string id = "00000000-0000-4000-8000-000000000001";
  const std::string named = R"({"env":{"KERNEL_ID":")" + id + R"("}})";
  ASSERT_EQ(gateway.http("POST", "/api/kernels", named).status, 201);
  for (auto& [host, state] : gateway.hosts) gateway.lose_host(host);
  gateway.store.clear();
  gateway.start();
  EXPECT_EQ(gateway.http("POST", "/api/kernels", named).status, 0) << "nobody knows yet";
  for (auto& [host, state] : gateway.hosts) gateway.start_host(host);
  EXPECT_EQ(gateway.last_reply().status, 409);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr("Delete it first"));
  gateway.http("DELETE", "/api/banyan/strays/" + id);
  EXPECT_EQ(gateway.http("POST", "/api/kernels", named).status, 201);
}

TEST_F(GatewayStrays, ItsIdIsRefusedAtOnceWhereTooFewHostsAreUpForANewKernel) {
  const std::string id = "00000000-0000-4000-8000-000000000001";
  const std::string named = R"({"env":{"KERNEL_ID":")" + id + R"("}})";
  ASSERT_EQ(gateway.http("POST", "/api/kernels", named).status, 201);
  const HostId holder = gateway.who_got<OpenReplica>().front();
  for (auto& [host, state] : gateway.hosts) gateway.lose_host(host);
  gateway.store.clear();
  gateway.start();
  EXPECT_EQ(gateway.http("POST", "/api/kernels", named).status, 0) << "nobody knows yet";
  gateway.start_host(holder);
  EXPECT_EQ(gateway.last_reply().status, 409);
  EXPECT_EQ(gateway.http("POST", "/api/kernels", named).status, 409);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr("Delete it first"));
  for (auto& [host, state] : gateway.hosts)
    if (host != holder) gateway.start_host(host);
  EXPECT_EQ(gateway.http("GET", "/api/kernels").body, "[]") << "what was refused is not placed later";
}

TEST_F(GatewayStrays, AStoreOfAnEarlierVersionKnowsItsSessions) {
  std::map<std::string, std::string> store;
  for (const auto& [key, value] : gateway.store) {
    auto record = nlohmann::json::parse(value, nullptr, false);
    if (!key.starts_with("session/")) continue;
    record.erase("founding");
    store[key] = record.dump();
  }
  for (auto& [host, state] : gateway.hosts) {
    for (auto& [id, replica] : state.replicas) replica.founding = {};
  }
  const SessionId ended{"ended"};
  gateway.hosts[{"h4"}].replicas[ended] = {.session = ended, .replica = {1}};
  start_with(store);
  EXPECT_EQ(gateway.model(session)["execution_state"], "idle");
  EXPECT_THAT(gateway.who_got<CloseReplica>(), ElementsAre(HostId{"h4"})) << "as ever";
  gateway.hosts[{"h4"}].got.clear();
  start_with({});
  EXPECT_THAT(gateway.who_got<CloseReplica>(), IsEmpty());
  EXPECT_EQ(strayed(session).size(), 3U);
}

TEST_F(GatewayStrays, WhatASessionsRecordTellsIsFoundedTooWhenTheCountWasNotWritten) {
  std::erase_if(gateway.store, [](const auto& record) { return record.first.starts_with("founded/"); });
  const SessionId older{"older"};
  gateway.hosts[{"h4"}].replicas[older] = {.session = older, .replica = {1}};
  gateway.start();
  gateway.advance(1s);
  gateway.lose_host({"h1"});
  gateway.http("DELETE", "/api/kernels/" + session.value);
  gateway.start();
  gateway.start_host({"h1"});
  gateway.advance(1s);
  EXPECT_FALSE(gateway.hosts[{"h1"}].replicas.contains(session));
  EXPECT_EQ(strayed(older).size(), 1U) << "an earlier version founded nothing here";
}

TEST_F(GatewayStrays, AHostThatHasClosedOneIsNotSaidToHaveIt) {
  start_with({});
  gateway.from_host({"h2"}, HostReport{.cpus = 8, .closed = {session}});
  EXPECT_THAT(strayed(session), ElementsAre("h1", "h3"));
}

}  // namespace
}  // namespace banyan::node
