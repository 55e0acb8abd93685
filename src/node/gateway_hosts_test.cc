// Hosts that are added, register themselves, are drained and removed while the gateway runs.

#include <gmock/gmock.h>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using json = TestGateway::json;

class GatewayHosts : public ::testing::Test {
 protected:
  GatewayHosts() { gateway.start_with_hosts(); }

  HttpReply add(const std::string& host) {
    return gateway.http("POST", "/api/banyan/hosts", json{{"host", host}}.dump());
  }
  HttpReply drain(const std::string& host) {
    return gateway.http("POST", "/api/banyan/hosts/" + host + "/drain");
  }
  HttpReply remove(const std::string& host, const std::string& query = {}) {
    return gateway.http("DELETE", "/api/banyan/hosts/" + host + query);
  }
  json model(const std::string& host) {
    for (const json& one : json::parse(gateway.http("GET", "/api/banyan/hosts").body))
      if (one["host"] == host) return one;
    return {};
  }
  void restart_gateway() {
    gateway.stop();
    gateway.addresses.clear();
    gateway.keys.clear();
    gateway.start();
    gateway.advance(3s);
  }
  std::set<std::string> holders(const SessionId& session) {
    std::set<std::string> names;
    for (auto& [id, host] : gateway.hosts)
      if (host.replicas.contains(session)) names.insert(id.value);
    return names;
  }
  /// The hosts do what they are asked: replicas have what they should have, and the log says what the gateway
  /// wants.
  void follow(const SessionId& session) {
    for (int round = 0; round < 20; ++round) {
      gateway.advance(100ms);
      std::optional<session::Members> wanted;
      for (auto& [id, host] : gateway.hosts)
        for (const auto& change : gateway.got<ChangeMembers>(id)) wanted = change.members;
      for (auto& [id, host] : gateway.hosts) {
        if (!host.up || !host.replicas.contains(session)) continue;
        if (wanted) host.replicas[session].members = *wanted;
        gateway.report(id, session);
      }
    }
  }

  TestGateway gateway{{"h1", "h2", "h3", "h4"}};
};

TEST_F(GatewayHosts, AHostRegistersItself) {
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.5:7401"});
  EXPECT_EQ(gateway.addresses.at({"h5"}), "10.0.0.5:7401");
  gateway.start_host({"h5"});
  EXPECT_EQ(model("h5")["up"], true);
  const auto told = gateway.got<PeerAddresses>({"h5"});
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back().peers.at({"h1"}), "h1:1");
  ASSERT_FALSE(gateway.got<PeerAddresses>({"h1"}).empty());
  EXPECT_EQ(gateway.got<PeerAddresses>({"h1"}).back().peers.at({"h5"}), "10.0.0.5:7401")
      << "the other hosts have to reach it, too";
  restart_gateway();
  EXPECT_EQ(gateway.addresses.at({"h5"}), "10.0.0.5:7401");
  EXPECT_EQ(model("h5")["up"], true);
}

TEST_F(GatewayHosts, AHostMayMoveToAnotherAddressWhenItDoesNotAnswerAtTheOldOne) {
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.5:7401"});
  gateway.start_host({"h5"});
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.6:7401"});
  EXPECT_EQ(gateway.addresses.at({"h5"}), "10.0.0.5:7401") << "somebody has copied its file";
  gateway.lose_host({"h5"});
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.6:7401"});
  EXPECT_EQ(gateway.addresses.at({"h5"}), "10.0.0.6:7401");
  restart_gateway();
  EXPECT_EQ(gateway.addresses.at({"h5"}), "10.0.0.6:7401");
  gateway.step(PeerIntroduced{{"h1"}, "10.0.0.9:1"});
  EXPECT_EQ(gateway.addresses.at({"h1"}), "h1:1") << "the configuration says where h1 is";
}

TEST_F(GatewayHosts, WhatIsWrongIsSaidAndChangesNothing) {
  for (const char* name : {"", "gateway", "a/b", ".hidden", "two words", "../h7"})
    gateway.step(PeerIntroduced{{name}, "10.0.0.5:7401"});
  for (const char* address :
       {"", "10.0.0.5", ":7401", "10.0.0.5:", "10.0.0.5:0", "10.0.0.5:70000", "h:7x", "h i:7"})
    gateway.step(PeerIntroduced{{"h5"}, address});
  EXPECT_EQ(gateway.addresses.size(), 4);
  EXPECT_EQ(add("h5").status, 404);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr("registers itself"));
  EXPECT_EQ(drain("h9").status, 404);
  EXPECT_EQ(remove("h9").status, 404);
  EXPECT_EQ(remove("h1", "?force=perhaps").status, 400);
  EXPECT_EQ(gateway.http("POST", "/api/banyan/hosts/h1/drain?force").status, 400);
  EXPECT_EQ(gateway.http("DELETE", "/api/banyan/hosts/h1?force=1").status, 400);
  EXPECT_EQ(gateway.http("GET", "/api/banyan/hosts/h1").status, 405);
  EXPECT_EQ(gateway.http("POST", "/api/banyan/hosts/h1/empty").status, 404);
  EXPECT_EQ(gateway.http("POST", "/api/banyan/hosts", "no json").status, 400);
  EXPECT_EQ(gateway.http("POST", "/api/banyan/hosts", R"({"host":7})").status, 400);
}

TEST_F(GatewayHosts, AChangeIsAnsweredWhenItIsDurable) {
  gateway.store_works = false;
  EXPECT_EQ(drain("h2").status, 0);
  gateway.flush_store();
  EXPECT_EQ(gateway.last_reply().status, 204);
}

TEST_F(GatewayHosts, AHostThatHoldsSomethingIsNotRemoved) {
  const SessionId session = gateway.create();
  const std::string held = *holders(session).begin();
  const HttpReply refused = remove(held);
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("Drain it first"));
  EXPECT_EQ(model(held)["up"], true);
}

TEST_F(GatewayHosts, AHostThatIsLostIsRemovedByForceAndReplacedAtOnce) {
  const SessionId session = gateway.create();
  gateway.advance(20s);  // the gateway has run for longer than it waits for a host to come back
  const std::string held = *holders(session).begin();
  gateway.lose_host({held});
  EXPECT_EQ(remove(held, "?force=true").status, 204);
  gateway.hosts[{held}].replicas.clear();
  gateway.advance(200ms);
  EXPECT_EQ(holders(session).size(), 3) << "another host has opened a replica";
  EXPECT_TRUE(model(held).is_null());
  EXPECT_FALSE(gateway.addresses.contains({held}));
}

TEST_F(GatewayHosts, AHostThatWasRemovedStaysRemovedUntilItIsAdded) {
  EXPECT_EQ(remove("h4").status, 204);
  gateway.advance(2s);
  EXPECT_TRUE(model("h4").is_null()) << "its agent still runs, and sends frames";
  restart_gateway();
  EXPECT_FALSE(gateway.addresses.contains({"h4"})) << "though the configuration names it";
  EXPECT_TRUE(model("h4").is_null());
  gateway.forget();
  EXPECT_EQ(add("h4").status, 204);
  gateway.advance(2s);
  EXPECT_EQ(gateway.addresses.at({"h4"}), "h4:1");
  EXPECT_EQ(model("h4")["up"], true);

  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.5:7401"});
  EXPECT_EQ(remove("h5").status, 204);
  EXPECT_EQ(remove("h5").status, 204) << "somebody whose connection broke asks again";
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.6:7401"});
  EXPECT_FALSE(gateway.addresses.contains({"h5"})) << "nor at another address";
  EXPECT_THAT(gateway.logs.back().text, HasSubstr("`banyan hosts add h5` takes it back"));
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.5:7401"});
  EXPECT_FALSE(gateway.addresses.contains({"h5"})) << "it must not register itself again";
}

// ---- whose name it is

TEST_F(GatewayHosts, AHostsNameBelongsToTheKeyThatIsProvenFirst) {
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.5:7401", "k5"});
  EXPECT_EQ(gateway.keys.at({"h5"}), "k5");
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.6:7401", "other"});
  EXPECT_EQ(gateway.keys.at({"h5"}), "k5");
  EXPECT_EQ(gateway.addresses.at({"h5"}), "10.0.0.5:7401") << "though nobody answers there";
  EXPECT_THAT(gateway.logs.back().text, HasSubstr("`banyan hosts remove h5`"));
  const std::size_t lines = gateway.logs.size();
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.6:7401", "other"});
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.6:7401", ""});
  EXPECT_EQ(gateway.logs.size(), lines) << "it is said once";
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.7:7401", "k5"});
  EXPECT_EQ(gateway.addresses.at({"h5"}), "10.0.0.7:7401") << "the host itself may move";
  restart_gateway();
  EXPECT_EQ(gateway.keys.at({"h5"}), "k5");
}

TEST_F(GatewayHosts, AHostOfTheConfigurationIsKnownByItsFirstConnection) {
  gateway.step(PeerIntroduced{{"h1"}, "", "k1"});  // the gateway has connected: nothing is said of addresses
  EXPECT_EQ(gateway.keys.at({"h1"}), "k1");
  EXPECT_EQ(gateway.addresses.at({"h1"}), "h1:1");
  gateway.step(PeerIntroduced{{"h1"}, "10.0.0.9:1", "other"});
  EXPECT_EQ(gateway.keys.at({"h1"}), "k1");
  restart_gateway();
  EXPECT_EQ(gateway.keys.at({"h1"}), "k1");
  EXPECT_FALSE(gateway.keys.contains({"h2"}));
}

TEST_F(GatewayHosts, AHostThatTheConfigurationNamesNoMoreIsNoneByItsKeyAlone) {
  gateway.step(PeerIntroduced{{"h4"}, "", "k4"});
  gateway.config.hosts.erase({"h4"});
  restart_gateway();
  EXPECT_FALSE(gateway.addresses.contains({"h4"}));
  EXPECT_TRUE(model("h4").is_null());
  gateway.config.hosts[{"h4"}] = "h4:2";
  restart_gateway();
  EXPECT_EQ(gateway.addresses.at({"h4"}), "h4:2") << "the configuration says where it is";
  EXPECT_EQ(gateway.keys.at({"h4"}), "k4");
}

TEST_F(GatewayHosts, AHostThatWasKnownBeforeThereWereKeysTakesOne) {
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.5:7401"});
  ASSERT_FALSE(gateway.keys.contains({"h5"}));
  restart_gateway();
  gateway.step(PeerIntroduced{{"h5"}, "10.0.0.5:7401", "k5"});
  EXPECT_EQ(gateway.keys.at({"h5"}), "k5");
  restart_gateway();
  EXPECT_EQ(gateway.keys.at({"h5"}), "k5");
}

TEST_F(GatewayHosts, HostsLearnTheKeysOfOthers) {
  gateway.step(PeerIntroduced{{"h2"}, "", "k2"});
  gateway.advance(100ms);
  const PeerAddresses told = gateway.got<PeerAddresses>({"h1"}).back();
  EXPECT_EQ(told.keys, (std::map<HostId, std::string>{{{"h2"}, "k2"}}));
  EXPECT_EQ(told.peers.size(), 4);
  EXPECT_EQ(remove("h2").status, 204);
  gateway.advance(100ms);
  EXPECT_TRUE(gateway.got<PeerAddresses>({"h1"}).back().keys.empty());
}

TEST_F(GatewayHosts, AHostThatWasRemovedAndAddedComesBackWithAnotherKey) {
  gateway.step(PeerIntroduced{{"h4"}, "", "k4"});
  EXPECT_EQ(remove("h4").status, 204);
  EXPECT_FALSE(gateway.keys.contains({"h4"}));
  gateway.step(PeerIntroduced{{"h4"}, "", "k4"});  // its agent still runs
  EXPECT_FALSE(gateway.keys.contains({"h4"})) << "it is no host, so it gets no key";
  restart_gateway();
  EXPECT_EQ(add("h4").status, 204);
  EXPECT_FALSE(gateway.keys.contains({"h4"}));
  gateway.step(PeerIntroduced{{"h4"}, "", "anew"});
  EXPECT_EQ(gateway.keys.at({"h4"}), "anew");
  gateway.step(PeerIntroduced{{"h4"}, "", "k4"});
  EXPECT_EQ(gateway.keys.at({"h4"}), "anew");
}

TEST_F(GatewayHosts, WhoeverUsedARemovedHostsNameIsForgottenWhenItIsAdded) {
  EXPECT_EQ(remove("h4").status, 204);
  gateway.disconnected.clear();
  EXPECT_EQ(add("h4").status, 204);
  EXPECT_EQ(gateway.disconnected, (std::vector<HostId>{{"h4"}}))
      << "so that the network forgets the key under which the name was used meanwhile";
  EXPECT_EQ(gateway.addresses.at({"h4"}), "h4:1") << "and connects afterwards";
}

/// It may have voted before its disk was lost, and its report was on its way.
TEST_F(GatewayHosts, AReplicaThatWasNotReportedDoesNotBeginAnewOnAHostThatWasRemoved) {
  gateway.lose_host({"h2"}, false);
  const SessionId session = gateway.create();
  EXPECT_EQ(remove("h2", "?force=true").status, 204);
  restart_gateway();
  EXPECT_EQ(add("h2").status, 204);
  gateway.start_host({"h2"});
  gateway.advance(1s);
  for (const OpenReplica& open : gateway.got<OpenReplica>({"h2"})) EXPECT_NE(open.replica, ReplicaId{2});
  EXPECT_TRUE(holders(session).contains("h4")) << "another one takes its place";
}

/// The other one has all that both have agreed on.
TEST_F(GatewayHosts, OfTwoReplicasTheOneThatWasNotReportedBeginsAnew) {
  for (const char* host : {"h3", "h4"}) EXPECT_EQ(remove(host).status, 204);
  gateway.lose_host({"h2"}, false);
  const SessionId session = gateway.create();
  EXPECT_EQ(remove("h2", "?force=true").status, 204);
  EXPECT_EQ(add("h2").status, 204);
  gateway.start_host({"h2"});
  gateway.advance(1s);
  ASSERT_FALSE(gateway.got<OpenReplica>({"h2"}).empty());
  EXPECT_EQ(gateway.got<OpenReplica>({"h2"}).back().replica, ReplicaId{2});
}

TEST_F(GatewayHosts, WhereNoAddressChangesNobodyIsToldOfAny) {
  gateway.forget();
  EXPECT_EQ(drain("h4").status, 204);
  EXPECT_EQ(add("h4").status, 204);
  EXPECT_TRUE(gateway.who_got<PeerAddresses>().empty());
  EXPECT_EQ(remove("h4").status, 204);
  EXPECT_EQ(gateway.who_got<PeerAddresses>(), (std::vector<HostId>{{"h1"}, {"h2"}, {"h3"}}));
  gateway.forget();
  EXPECT_EQ(add("h4").status, 204);
  EXPECT_FALSE(gateway.who_got<PeerAddresses>().empty());
}

TEST_F(GatewayHosts, TheConnectionsOfStrangersChangeNothing) {
  const std::size_t lines = gateway.logs.size();
  gateway.step(PeerUp{{"stranger"}});
  gateway.step(PeerDown{{"stranger"}});
  EXPECT_EQ(gateway.logs.size(), lines);
  EXPECT_EQ(json::parse(gateway.http("GET", "/api/banyan/hosts").body).size(), 4U);
}

TEST_F(GatewayHosts, AHostThatIsDrainedKeepsItsKey) {
  gateway.step(PeerIntroduced{{"h4"}, "", "k4"});
  EXPECT_EQ(drain("h4").status, 204);
  restart_gateway();
  EXPECT_EQ(gateway.keys.at({"h4"}), "k4");
  EXPECT_EQ(add("h4").status, 204);
  restart_gateway();
  EXPECT_EQ(gateway.keys.at({"h4"}), "k4");
}

TEST_F(GatewayHosts, AHostThatIsAddedAgainInTheSameLifeTellsWhatItHolds) {
  const SessionId session = gateway.create();
  std::string free;
  for (const char* name : {"h1", "h2", "h3", "h4"})
    if (!holders(session).contains(name)) free = name;
  EXPECT_EQ(remove(free).status, 204);
  gateway.hosts[{free}].replicas[session] = {.session = session, .replica = {9}};
  EXPECT_EQ(add(free).status, 204);
  gateway.advance(1s);
  EXPECT_FALSE(holders(session).contains(free)) << "the replica belongs to no membership: it is closed";
  EXPECT_EQ(model(free)["up"], true);
}

TEST_F(GatewayHosts, ADrainGoesOnInTheNextLifeOfTheGateway) {
  EXPECT_EQ(drain("h2").status, 204);
  restart_gateway();
  EXPECT_EQ(model("h2")["draining"], true);
  const SessionId session = gateway.create();
  EXPECT_THAT(holders(session), Not(Contains("h2")));
  EXPECT_EQ(add("h2").status, 204);
  EXPECT_EQ(model("h2")["draining"], false);
}

/// A replica that is added makes none too many in a session that lacks one, so that none would leave.
TEST_F(GatewayHosts, ASessionThatLacksAReplicaGetsThatFirst) {
  for (const char* host : {"h3", "h4"}) EXPECT_EQ(remove(host).status, 204);
  const SessionId session = gateway.create();
  ASSERT_EQ(holders(session), (std::set<std::string>{"h1", "h2"}));
  EXPECT_EQ(add("h3").status, 204);
  EXPECT_EQ(drain("h1").status, 204) << "before any time passes";
  for (int i = 0; i < 5; ++i) follow(session);
  EXPECT_EQ(holders(session), (std::set<std::string>{"h1", "h2", "h3"}));
  ASSERT_EQ(model("h1")["stay"].size(), 1);
  EXPECT_THAT(model("h1")["stay"][0]["reason"].dump(), HasSubstr("no other host"));
}

/// A session whose cells run on h1, with everything reported.
class GatewayDrains : public GatewayHosts {
 protected:
  GatewayDrains() {
    session = gateway.create();
    tab = gateway.connect(session, "tab");
    gateway.execute(tab, "c1");
    gateway.end({"h1"}, session, "c1");
    for (auto& [id, host] : gateway.hosts) {
      if (!host.replicas.contains(session)) continue;
      ReplicaReport& report = host.replicas[session];
      report.executor = report.leader = {1};
      report.epoch = {1};
      report.last = report.shown = {1};
      gateway.report(id, session);
    }
  }
  std::string reason() {
    const json stay = model("h1")["stay"];
    return stay.empty() || stay[0]["reason"].is_null() ? "" : stay[0]["reason"].get<std::string>();
  }

  SessionId session;
  ConnectionId tab;
};

TEST_F(GatewayDrains, TheExecutorLeavesAsAPersonWouldMoveIt) {
  EXPECT_EQ(drain("h1").status, 204);
  gateway.advance(1s);
  const auto asked = gateway.got<AskSession>({"h1"});
  ASSERT_FALSE(asked.empty());
  EXPECT_THAT(asked.back().question, HasSubstr("leave"));
  gateway.from_host({"h1"}, SessionAnswer{.session = session,
                                          .request = asked.back().request,
                                          .refused = ErrorKind::kDenied,
                                          .reason = "moving the session would lose 'sock'"});
  gateway.advance(100ms);
  EXPECT_THAT(reason(), HasSubstr("'sock'"));
  EXPECT_EQ(holders(session), (std::set<std::string>{"h1", "h2", "h3"}));
}

TEST_F(GatewayDrains, ACellThatRunsOnADrainedHostIsNotDisturbed) {
  gateway.execute(tab, "c2");
  EXPECT_EQ(drain("h1").status, 204);
  gateway.advance(900s);
  EXPECT_EQ(holders(session), (std::set<std::string>{"h1", "h2", "h3"})) << "nobody copies while it runs";
  EXPECT_THAT(reason(), HasSubstr("a cell runs there"));
  gateway.end({"h1"}, session, "c2");
  gateway.advance(6s);
  ASSERT_FALSE(gateway.got<AskSession>({"h1"}).empty());
  EXPECT_THAT(gateway.got<AskSession>({"h1"}).back().question, HasSubstr("leave"));
}

TEST_F(GatewayDrains, AMoveThatIsGivenUpTakesBackWhatItHasBrought) {
  EXPECT_EQ(drain("h1").status, 204);
  gateway.advance(200ms);
  gateway.from_host({"h1"}, SessionAnswer{.session = session,
                                          .request = gateway.got<AskSession>({"h1"}).back().request,
                                          .content = R"({"lost":[]})"});
  follow(session);
  ASSERT_EQ(holders(session), (std::set<std::string>{"h1", "h2", "h3", "h4"}));
  EXPECT_EQ(add("h1").status, 204) << "the drain is over, so that nothing is moved any more";
  gateway.execute(tab, "c2");  // and lasts longer than a move may take
  gateway.output({"h1"}, session, "c2", 1, "it runs here");
  gateway.advance(650s);
  follow(session);
  EXPECT_EQ(holders(session), (std::set<std::string>{"h1", "h2", "h3"}));
}

TEST_F(GatewayDrains, APersonsMoveTakesThePlaceOfADrains) {
  EXPECT_EQ(drain("h1").status, 204);
  gateway.advance(100ms);
  gateway.http("POST", "/api/banyan/sessions/" + session.value + "/suspend", "{}");
  EXPECT_THAT(reason(), HasSubstr("in another way"));
}

/// The replica that a move brings makes one too many; the one on a lost host goes, and the move begins again.
TEST_F(GatewayDrains, AHostThatIsLostDuringAMoveDoesNotEndTheDrain) {
  gateway.step(PeerIntroduced{{"h5"}, "h5:1"});
  gateway.start_host({"h5"});
  EXPECT_EQ(drain("h2").status, 204);
  for (int i = 0; i < 4 && !holders(session).contains("h4") && !holders(session).contains("h5"); ++i)
    gateway.advance(100ms);
  gateway.lose_host({"h3"});
  gateway.hosts[{"h3"}].replicas.clear();
  gateway.advance(10s);
  for (int i = 0; i < 10; ++i) follow(session);
  EXPECT_EQ(holders(session), (std::set<std::string>{"h1", "h4", "h5"}));
}

TEST_F(GatewayDrains, ADrainedHostGetsNoCellsOfSessionsThatCanRunElsewhere) {
  EXPECT_EQ(drain("h2").status, 204);
  gateway.lose_host({"h1"});
  gateway.forget();
  gateway.execute(tab, "c2");
  EXPECT_EQ(gateway.who_got<Execute>(), (std::vector<HostId>{{"h3"}}));
}

TEST_F(GatewayDrains, WhatTheLogStillCountsIsThere) {
  EXPECT_EQ(drain("h2").status, 204);
  follow(session);
  ASSERT_EQ(holders(session), (std::set<std::string>{"h1", "h3", "h4"}));
  EXPECT_EQ(drain("h3").status, 204);
  gateway.advance(100ms);
  EXPECT_EQ(model("h3")["stay"].size(), 1) << "no other host is left";
}

TEST_F(GatewayDrains, WhatAHostHoldsMovesToOthers) {
  EXPECT_EQ(drain("h2").status, 204);
  EXPECT_EQ(model("h2")["draining"], true);
  follow(session);
  EXPECT_EQ(holders(session), (std::set<std::string>{"h1", "h3", "h4"}));
  EXPECT_EQ(model("h2")["stay"], json::array());
  EXPECT_EQ(remove("h2").status, 204);
}

/// A move is booked, and before it can begin another host is lost: the only host that is left is the one that
/// is booked.
TEST_F(GatewayDrains, AMoveThatCannotBeginKeepsNoHostFromAReplicaThatIsMissing) {
  EXPECT_EQ(drain("h1").status, 204);
  gateway.advance(100ms);
  gateway.lose_host({"h2"});
  gateway.hosts[{"h2"}].replicas.clear();
  gateway.advance(20s);
  EXPECT_THAT(holders(session), Contains("h4"));
}

/// The host to which the executor is to move gets a replica in another way first, in the place of one that is
/// lost. Nothing is too many when the executor has moved, so the drain begins again.
TEST_F(GatewayDrains, AMoveToAHostThatHasAReplicaMeanwhileDoesNotEndTheDrain) {
  EXPECT_EQ(drain("h1").status, 204);
  gateway.advance(100ms);
  gateway.lose_host({"h2"});
  gateway.hosts[{"h2"}].replicas.clear();
  gateway.advance(10s);
  follow(session);
  ASSERT_EQ(holders(session), (std::set<std::string>{"h1", "h3", "h4"}));
  gateway.step(PeerIntroduced{{"h5"}, "h5:1"});
  gateway.start_host({"h5"});
  gateway.from_host({"h1"}, SessionAnswer{.session = session,
                                          .request = gateway.got<AskSession>({"h1"}).back().request,
                                          .content = R"({"lost":[]})"});
  const ReplicaId there = gateway.hosts[{"h4"}].replicas[session].replica;
  for (auto& [id, host] : gateway.hosts) {
    if (!host.replicas.contains(session)) continue;
    host.replicas[session].executor = there;
    host.replicas[session].epoch = {2};
    host.replicas[session].last = host.replicas[session].shown = {1};
    gateway.report(id, session);
  }
  for (int i = 0; i < 5; ++i) follow(session);
  EXPECT_EQ(holders(session), (std::set<std::string>{"h3", "h4", "h5"}));
}

/// The gateway has let the replica go, and the session's log has not: the host is needed for its quorum.
TEST_F(GatewayDrains, AHostThatTheLogStillCountsIsNotRemoved) {
  EXPECT_EQ(drain("h2").status, 204);
  for (int i = 0; i < 50 && gateway.got<ChangeMembers>({"h1"}).empty(); ++i) gateway.advance(100ms);
  for (auto& [id, host] : gateway.hosts) {  // the log names four; then the gateway wants three
    if (!host.replicas.contains(session)) continue;
    host.replicas[session].members = gateway.got<ChangeMembers>({"h1"}).back().members;
    gateway.report(id, session);
  }
  gateway.advance(1s);
  ASSERT_EQ(gateway.got<ChangeMembers>({"h1"}).back().members.size(), 3);
  EXPECT_EQ(model("h2")["replicas"], 0) << "the scheduler has done its part";
  EXPECT_EQ(model("h2")["stay"].size(), 1);
  EXPECT_EQ(remove("h2").status, 409);
}

TEST_F(GatewayDrains, WhatOnlyHostsKnowIsNotThrownAway) {
  gateway.hosts[{"h4"}].replicas[{"stray"}] = {
      .session = {"stray"}, .replica = {1}, .founding = {.life = 4711, .number = 1}};
  gateway.report({"h4"}, {"stray"});
  EXPECT_EQ(drain("h4").status, 204);
  ASSERT_EQ(model("h4")["stay"].size(), 1);
  EXPECT_THAT(model("h4")["stay"][0]["reason"].get<std::string>(), HasSubstr("does not know it"));
  EXPECT_EQ(remove("h4").status, 409);
  EXPECT_EQ(remove("h4", "?force=true").status, 204);
}

}  // namespace
}  // namespace banyan::node
