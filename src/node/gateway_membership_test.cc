// Which hosts hold a session: placement, opening, replacement, growth, hosts that come back.

#include <gmock/gmock.h>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GatewayMembers : public ::testing::Test {
 protected:
  void begin() {
    gateway.start_with_hosts();
    session = gateway.create();
  }
  /// The log of the session says so: every replica that is up reports these members.
  void commit(const session::Members& members) {
    for (auto& [id, host] : gateway.hosts) {
      if (!host.up || !host.replicas.contains(session)) continue;
      host.replicas[session].members = members;
      gateway.report(id, session);
    }
  }

  TestGateway gateway;
  SessionId session;
};

TEST_F(GatewayMembers, AKernelIsOpenedOnThreeHostsOnceItsRecordIsDurable) {
  gateway.start_with_hosts();
  gateway.store_works = false;
  EXPECT_EQ(gateway.http("POST", "/api/kernels").status, 0);
  EXPECT_THAT(gateway.who_got<OpenReplica>(), IsEmpty());
  EXPECT_EQ(gateway.http("GET", "/api/kernels").body, "[]") << "it does not exist yet";
  gateway.store_works = true;
  gateway.flush_store();
  EXPECT_THAT(gateway.who_got<OpenReplica>(), ElementsAre(HostId{"h1"}, HostId{"h2"}, HostId{"h3"}));
  const OpenReplica open = gateway.got<OpenReplica>({"h2"})[0];
  EXPECT_EQ(open.origin, Origin::kFounding);
  EXPECT_EQ(open.replica, ReplicaId{2});
  EXPECT_EQ(open.members, (session::Members{{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}}));
}

TEST_F(GatewayMembers, KernelsSpreadOverTheHosts) {
  begin();
  const SessionId second = gateway.create();
  EXPECT_TRUE(gateway.hosts[{"h4"}].replicas.contains(second)) << "it holds the fewest";
}

TEST_F(GatewayMembers, ARequestThatComesBeforeTheHostsWaitsForThem) {
  gateway.start();
  EXPECT_EQ(gateway.http("POST", "/api/kernels").status, 0);
  for (const char* host : {"h1", "h2", "h3"}) gateway.start_host({host});
  EXPECT_EQ(gateway.last_reply().status, 201);
}

TEST_F(GatewayMembers, WithTooFewHostsAKernelIsRefusedWithAdvice) {
  gateway.start();
  gateway.start_host({"h1"});
  EXPECT_EQ(gateway.http("POST", "/api/kernels").status, 0);
  gateway.advance(11s);
  EXPECT_EQ(gateway.last_reply().status, 503);
  EXPECT_THAT(gateway.last_reply().body, HasSubstr("up: h1). Start host agents"));
}

TEST_F(GatewayMembers, WithAMajorityOfHostsAKernelStartsAndGrowsLater) {
  gateway.start();
  gateway.start_host({"h1"});
  gateway.start_host({"h2"});
  gateway.http("POST", "/api/kernels");
  gateway.advance(1100ms);
  ASSERT_EQ(gateway.last_reply().status, 201);
  session = {TestGateway::json::parse(gateway.last_reply().body)["id"]};
  gateway.start_host({"h3"});
  ASSERT_EQ(gateway.got<OpenReplica>({"h3"}).size(), 1U);
  EXPECT_EQ(gateway.got<OpenReplica>({"h3"})[0].origin, Origin::kJoining);
  const session::Members wanted{{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}};
  EXPECT_EQ(gateway.got<ChangeMembers>({"h1"}).back().members, wanted);
}

TEST_F(GatewayMembers, WithOneHostInTheConfigurationOneReplicaIsEnough) {
  TestGateway small({"only"});
  small.start_with_hosts();
  const SessionId id = small.create();
  const ConnectionId tab = small.connect(id, "tab");
  small.execute(tab, "c1");
  EXPECT_EQ(small.got<Execute>({"only"}).size(), 1U);
}

TEST_F(GatewayMembers, AReplicaOnADeadHostIsReplacedOnASpareOne) {
  begin();
  gateway.lose_host({"h2"});
  gateway.advance(7s);
  EXPECT_THAT(gateway.got<OpenReplica>({"h4"}), IsEmpty()) << "a restart takes less";
  gateway.advance(2s);
  ASSERT_EQ(gateway.got<OpenReplica>({"h4"}).size(), 1U);
  const OpenReplica open = gateway.got<OpenReplica>({"h4"})[0];
  EXPECT_EQ(open.origin, Origin::kJoining);
  EXPECT_EQ(open.replica, ReplicaId{4}) << "an id is never used again";
  EXPECT_EQ(gateway.got<ChangeMembers>({"h1"})[0].members,
            (session::Members{{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h4"}}}));
}

TEST_F(GatewayMembers, TheOldReplicaIsClosedWhenItsHostReturnsAfterTheChange) {
  begin();
  gateway.lose_host({"h2"});
  gateway.advance(9s);
  commit({{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h4"}}});
  gateway.hosts[{"h2"}].got.clear();
  gateway.start_host({"h2"});
  EXPECT_FALSE(gateway.got<CloseReplica>({"h2"}).empty());
}

TEST_F(GatewayMembers, TheOldReplicaStaysWhileTheChangeIsNotCommitted) {
  begin();
  gateway.lose_host({"h2"});
  gateway.advance(9s);
  gateway.start_host({"h2"});
  gateway.advance(2s);
  EXPECT_THAT(gateway.got<CloseReplica>({"h2"}), IsEmpty());
  commit({{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h4"}}});
  EXPECT_EQ(gateway.got<CloseReplica>({"h2"}).size(), 1U);
}

TEST_F(GatewayMembers, TheOldReplicaStaysUntilTheNewOneHasTheValues) {
  begin();
  gateway.lose_host({"h2"});
  gateway.advance(9s);
  gateway.start_host({"h2"});
  gateway.hosts[{"h4"}].replicas[session].complete = false;
  commit({{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h4"}}});
  EXPECT_THAT(gateway.got<CloseReplica>({"h2"}), IsEmpty());
  gateway.hosts[{"h4"}].replicas[session].complete = true;
  gateway.report({"h4"}, session);
  EXPECT_EQ(gateway.got<CloseReplica>({"h2"}).size(), 1U);
}

TEST_F(GatewayMembers, TheCellOfAReplicaThatIsNoMemberAnyMoreIsAskedOfAnother) {
  begin();
  const ConnectionId tab = gateway.connect(session, "tab");
  gateway.execute(tab, "c1");
  const HostId host = gateway.who_got<Execute>().front();
  gateway.lose_host(host);
  gateway.advance(9s);
  gateway.start_host(host);
  gateway.output(host, session, "c1", 1, "it still runs here");
  gateway.forget();
  session::Members members{{{4}, {"h4"}}};
  for (const std::uint64_t id : {1, 2, 3}) {
    const HostId other{"h" + std::to_string(id)};
    if (other != host) members[{id}] = other;
  }
  commit(members);
  ASSERT_EQ(gateway.who_got<Execute>().size(), 1U);
  EXPECT_NE(gateway.who_got<Execute>().front(), host);
}

TEST_F(GatewayMembers, ACellIsNotGivenToAReplicaThatIsAboutToLeave) {
  begin();
  gateway.lose_host({"h2"});
  gateway.advance(9s);
  gateway.start_host({"h2"});
  for (const char* host : {"h1", "h2", "h3"}) {  // nobody has led or run anything, and h2 could begin at once
    ReplicaReport& report = gateway.hosts[{host}].replicas[session];
    report.executor = report.leader = {};
    report.worker = HostId{host} == HostId{"h2"} ? WorkerState::kReady : WorkerState::kStarting;
    gateway.report({host}, session);
  }
  gateway.execute(gateway.connect(session, "tab"), "c1");
  ASSERT_EQ(gateway.who_got<Execute>().size(), 1U);
  EXPECT_NE(gateway.who_got<Execute>().front(), HostId{"h2"});
}

TEST_F(GatewayMembers, NorIsItAskedInAnElectionOfAll) {
  gateway.config.elect = true;
  begin();
  gateway.lose_host({"h2"});
  gateway.advance(9s);
  gateway.start_host({"h2"});
  gateway.execute(gateway.connect(session, "tab"), "c1");
  EXPECT_THAT(gateway.who_got<Execute>(), ElementsAre(HostId{"h1"}, HostId{"h3"}));
}

TEST_F(GatewayMembers, AHostWithTheOnlyCopyIsNotReplacedBeforeAMinute) {
  TestGateway five({"h1", "h2", "h3", "h4", "h5"});
  five.start_with_hosts();
  const SessionId id = five.create();
  five.lose_host({"h2"});
  five.advance(9s);
  for (const char* host : {"h1", "h3", "h4"}) {
    five.hosts[{host}].replicas[id].members = {{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
    five.hosts[{host}].replicas[id].complete = false;
    five.report({host}, id);
  }
  five.lose_host({"h1"});
  five.forget();
  five.advance(40s);
  EXPECT_THAT(five.who_got<OpenReplica>(), IsEmpty());
  five.advance(30s);
  EXPECT_EQ(five.who_got<OpenReplica>().size(), 1U) << "the log's new members are a majority without it";
}

TEST_F(GatewayMembers, AChangeIsAskedForAgainUntilItIsCommitted) {
  begin();
  gateway.lose_host({"h2"});
  gateway.advance(9s);
  gateway.forget();
  gateway.advance(4s);
  EXPECT_EQ(gateway.got<ChangeMembers>({"h1"}).size(), 1U);
  commit({{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h4"}}});
  gateway.forget();
  gateway.advance(10s);
  EXPECT_THAT(gateway.who_got<ChangeMembers>(), IsEmpty());
}

TEST_F(GatewayMembers, WhenTheNewReplicasHostDiesTooAnotherIsChosen) {
  TestGateway five({"h1", "h2", "h3", "h4", "h5"});
  five.start_with_hosts();
  five.create();
  five.lose_host({"h2"});
  five.advance(9s);
  ASSERT_FALSE(five.got<OpenReplica>({"h4"}).empty());
  five.lose_host({"h4"});
  five.advance(9s);
  ASSERT_EQ(five.got<OpenReplica>({"h5"}).size(), 1U);
  EXPECT_EQ(five.got<OpenReplica>({"h5"})[0].replica, ReplicaId{5});
}

TEST_F(GatewayMembers, WithoutAMajorityNothingIsReplaced) {
  begin();
  gateway.lose_host({"h2"});
  gateway.lose_host({"h3"});
  gateway.advance(30s);
  EXPECT_THAT(gateway.got<OpenReplica>({"h4"}), IsEmpty());
}

TEST_F(GatewayMembers, AHostThatReturnsWithItsReplicaKeepsIt) {
  begin();
  gateway.lose_host({"h2"});
  gateway.start_host({"h2"});
  gateway.advance(10s);
  EXPECT_THAT(gateway.got<OpenReplica>({"h4"}), IsEmpty());
  EXPECT_THAT(gateway.got<CloseReplica>({"h2"}), IsEmpty());
}

TEST_F(GatewayMembers, AHostThatHasLostItsReplicaNeverFoundsItAgain) {
  begin();
  gateway.lose_host({"h2"});
  gateway.hosts[{"h2"}].replicas.clear();
  gateway.hosts[{"h2"}].got.clear();
  gateway.start_host({"h2"});
  EXPECT_THAT(gateway.got<OpenReplica>({"h2"}), IsEmpty()) << "it has forgotten its votes";
  ASSERT_EQ(gateway.got<OpenReplica>({"h4"}).size(), 1U);
  EXPECT_EQ(gateway.got<OpenReplica>({"h4"})[0].replica, ReplicaId{4});
}

TEST_F(GatewayMembers, AReplicaThatWasNeverReportedIsAskedForAgain) {
  gateway.start_with_hosts();
  gateway.hosts_open = false;
  session = gateway.create();
  gateway.hosts_open = true;
  gateway.lose_host({"h2"});
  gateway.start_host({"h2"});
  EXPECT_TRUE(gateway.hosts[{"h2"}].replicas.contains(session));
}

TEST_F(GatewayMembers, TheLogIsNotToNameAReplicaBeforeItIsOpen) {
  begin();
  gateway.hosts_open = false;
  gateway.lose_host({"h2"});
  gateway.advance(20s);
  EXPECT_EQ(gateway.got<OpenReplica>({"h4"}).size(), 1U);
  EXPECT_THAT(gateway.who_got<ChangeMembers>(), IsEmpty());
  gateway.hosts_open = true;
  gateway.start_host({"h4"});
  ASSERT_EQ(gateway.got<OpenReplica>({"h4"}).size(), 2U);
  EXPECT_EQ(gateway.got<OpenReplica>({"h4"})[1].origin, Origin::kJoining);
  EXPECT_THAT(gateway.who_got<ChangeMembers>(), ElementsAre(HostId{"h1"}, HostId{"h3"}, HostId{"h4"}));
}

TEST_F(GatewayMembers, AReplicaThatWasLostWithItsDiskIsReplacedOnItsHostWhereThatIsTheOnlyOne) {
  TestGateway three({"h1", "h2", "h3"});
  three.start_with_hosts();
  const SessionId id = three.create();
  const auto commit_in_three = [&](const session::Members& members) {
    for (const auto& [replica, host] : members) {
      three.hosts[host].replicas[id].members = members;
      three.report(host, id);
    }
  };
  three.wipe_host({"h3"});
  three.advance(1s);
  ASSERT_FALSE(three.got<ChangeMembers>({"h1"}).empty());
  const session::Members two{{{1}, {"h1"}}, {{2}, {"h2"}}};
  EXPECT_EQ(three.got<ChangeMembers>({"h1"}).back().members, two);
  commit_in_three(two);
  three.advance(1s);
  const session::Members again{{{1}, {"h1"}}, {{2}, {"h2"}}, {{4}, {"h3"}}};
  EXPECT_EQ(three.got<ChangeMembers>({"h1"}).back().members, again);
}

/// The group would grow by a voter that does not exist any more.
TEST_F(GatewayMembers, WhoLeadsIsToldInWhichLifeOfItsHostANewReplicaIsThere) {
  TestGateway three({"h1", "h2", "h3"});
  three.start();
  three.start_host({"h1"});
  three.start_host({"h2"});
  three.http("POST", "/api/kernels");
  three.advance(1100ms);
  const HostId h3{"h3"};
  three.start_host(h3);
  ASSERT_FALSE(three.got<ChangeMembers>({"h1"}).empty());
  EXPECT_EQ(three.got<ChangeMembers>({"h1"}).back().lives,
            (std::map<HostId, Incarnation>{{h3, {three.hosts[h3].life}}}));
  three.forget();
  three.wipe_host(h3);
  const Incarnation empty{three.hosts[h3].life};
  ASSERT_FALSE(three.got<ChangeMembers>({"h1"}).empty());
  for (const ChangeMembers& wish : three.got<ChangeMembers>({"h1"}))
    for (const auto& [replica, host] : wish.members)
      if (replica == ReplicaId{3}) EXPECT_NE(wish.lives.at(host), empty);
}

TEST_F(GatewayMembers, AReplicaThatIsOnlySilentStaysWhereNoHostIsSpare) {
  TestGateway three({"h1", "h2", "h3"});
  three.start_with_hosts();
  three.create();
  three.lose_host({"h3"});
  three.advance(120s);
  EXPECT_THAT(three.who_got<ChangeMembers>(), IsEmpty());
}

TEST_F(GatewayMembers, AReplicaThatWasLostStaysAMinuteWhileOthersMissValues) {
  TestGateway three({"h1", "h2", "h3"});
  three.start_with_hosts();
  const SessionId id = three.create();
  three.hosts[{"h2"}].replicas[id].complete = false;
  three.report({"h2"}, id);
  three.wipe_host({"h3"});
  three.advance(30s);
  EXPECT_THAT(three.who_got<ChangeMembers>(), IsEmpty());
  three.advance(40s);
  EXPECT_FALSE(three.got<ChangeMembers>({"h1"}).empty());
}

TEST_F(GatewayMembers, ANewReplicaThatNobodyOpensIsGivenUpForTheOneThatCameBack) {
  begin();
  gateway.hosts_open = false;
  gateway.lose_host({"h2"});
  gateway.advance(9s);
  ASSERT_EQ(gateway.got<OpenReplica>({"h4"}).size(), 1U);
  gateway.lose_host({"h4"});
  gateway.advance(9s);
  ASSERT_FALSE(gateway.got<ChangeMembers>({"h1"}).empty());
  const session::Members three{{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}};
  EXPECT_EQ(gateway.got<ChangeMembers>({"h1"}).back().members, three);
  EXPECT_EQ(gateway.got<ChangeMembers>({"h1"}).back().wish, 2U) << "an earlier wish may be on its way";
  gateway.start_host({"h2"});
  commit(three);
  gateway.forget();
  gateway.hosts_open = true;
  gateway.start_host({"h4"});
  gateway.advance(60s);
  EXPECT_THAT(gateway.who_got<ChangeMembers>(), IsEmpty());
  EXPECT_THAT(gateway.who_got<OpenReplica>(), IsEmpty());
}

TEST_F(GatewayMembers, ThatAReplicaIsOpenIsDurableBeforeTheLogNamesIt) {
  begin();
  gateway.hosts_open = false;
  gateway.lose_host({"h2"});
  gateway.advance(9s);
  gateway.hosts_open = true;
  gateway.store_works = false;
  gateway.start_host({"h4"});
  gateway.advance(4s);  // it is asked for again when nothing comes of it
  EXPECT_THAT(gateway.who_got<ChangeMembers>(), IsEmpty());
  gateway.store_works = true;
  gateway.flush_store();
  EXPECT_THAT(gateway.who_got<ChangeMembers>(), ElementsAre(HostId{"h1"}, HostId{"h3"}, HostId{"h4"}));
}

TEST_F(GatewayMembers, TheSameMembersOfAnEarlierWishFulfilNone) {
  TestGateway three({"h1", "h2", "h3"});
  three.start_with_hosts();
  const SessionId id = three.create();
  three.wipe_host({"h3"});
  three.advance(1s);
  ASSERT_EQ(three.got<ChangeMembers>({"h1"}).back().wish, 1U);
  ReplicaReport& late = three.hosts[{"h1"}].replicas[id];
  late.members = {{{1}, {"h1"}}, {{2}, {"h2"}}};
  three.from_host({"h1"}, HostReport{.cpus = 8, .memory_bytes = 1 << 30, .replicas = {late}});
  three.advance(1s);
  EXPECT_EQ(three.got<ChangeMembers>({"h1"}).back().wish, 1U) << "it is not done";
  three.hosts[{"h2"}].replicas[id].members = late.members;
  for (const char* host : {"h1", "h2"}) three.report({host}, id);
  three.advance(1s);
  EXPECT_EQ(three.got<ChangeMembers>({"h1"}).back().wish, 2U);
}

/// Whoever does not know it still counts over the old members.
TEST_F(GatewayMembers, TheOldReplicaStaysUntilAMajorityOfTheNewMembersKnowsTheChange) {
  begin();
  gateway.lose_host({"h2"});
  gateway.advance(9s);
  gateway.start_host({"h2"});
  const session::Members changed{{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  gateway.hosts[{"h4"}].replicas[session].members = changed;
  gateway.report({"h4"}, session);
  EXPECT_THAT(gateway.got<CloseReplica>({"h2"}), IsEmpty());
  gateway.hosts[{"h1"}].replicas[session].members = changed;
  gateway.report({"h1"}, session);
  EXPECT_EQ(gateway.got<CloseReplica>({"h2"}).size(), 1U);
}

/// What an earlier life of the gateway has asked a host for arrives late.
TEST_F(GatewayMembers, AReplicaThatIsNoMemberIsClosedAndTheMembersIsOpened) {
  TestGateway four;
  four.start_with_hosts();
  const SessionId id = four.create();
  four.forget();
  four.hosts[{"h4"}].replicas[id] = {.session = id, .replica = {9}};
  four.report({"h4"}, id);
  ASSERT_EQ(four.got<CloseReplica>({"h4"}).size(), 1U);
  EXPECT_EQ(four.got<CloseReplica>({"h4"})[0].replica, ReplicaId{9}) << "and no other that has come since";
  four.lose_host({"h3"});
  four.hosts_open = false;
  four.advance(9s);
  ASSERT_EQ(four.got<OpenReplica>({"h4"}).size(), 1U);
  four.hosts[{"h4"}].replicas[id] = {.session = id, .replica = {9}};
  four.hosts_open = true;
  four.report({"h4"}, id);
  EXPECT_EQ(four.hosts[{"h4"}].replicas[id].replica, ReplicaId{4});
}

TEST_F(GatewayMembers, AFounderThatHasNotBegunWhenTheMembersChangeIsNotFoundedAnyMore) {
  gateway.start_with_hosts();
  gateway.hosts_open = false;
  session = gateway.create();
  gateway.hosts_open = true;
  gateway.start_host({"h1"});
  gateway.start_host({"h2"});
  gateway.forget();
  gateway.lose_host({"h2"});
  gateway.advance(9s);
  ASSERT_EQ(gateway.got<OpenReplica>({"h3"}).size(), 1U);
  EXPECT_EQ(gateway.got<OpenReplica>({"h3"})[0].origin, Origin::kJoining);
}

TEST_F(GatewayMembers, ASessionWhoseReplicasLostTheirDataIsDead) {
  begin();
  for (const char* host : {"h1", "h2"}) {
    gateway.lose_host({host});
    gateway.hosts[{host}].replicas.clear();
    gateway.start_host({host});
  }
  // The first was replaced by one on h4, which counts only once it is committed.
  EXPECT_EQ(gateway.model(session)["execution_state"], "dead");
  EXPECT_THAT(gateway.model(session)["reason"].get<std::string>(), HasSubstr("start a new one"));
}

TEST_F(GatewayMembers, ReplicasOfSessionsThatAreNoMoreAreClosed) {
  begin();
  gateway.hosts[{"h4"}].replicas[{"ended"}] = {
      .session = {"ended"}, .replica = {1}, .founding = gateway.hosts[{"h1"}].replicas[session].founding};
  gateway.start();
  gateway.advance(1s);
  EXPECT_EQ(gateway.got<CloseReplica>({"h4"}).size(), 1U);
  EXPECT_THAT(gateway.got<CloseReplica>({"h1"}), IsEmpty());
}

TEST_F(GatewayMembers, ReplicasOfASessionWhoseRecordCannotBeReadAreLeftAlone) {
  gateway.store["session/precious"] = "{ not JSON";
  gateway.hosts[{"h1"}].replicas[{"precious"}] = {.session = {"precious"}, .replica = {1}};
  gateway.start_with_hosts();
  EXPECT_THAT(gateway.got<CloseReplica>({"h1"}), IsEmpty());
  EXPECT_EQ(gateway.store.size(), 1U);
}

TEST_F(GatewayMembers, ADeletedSessionIsClosedEverywhereAlsoWhereItsHostWasDown) {
  begin();
  gateway.lose_host({"h3"});
  gateway.http("DELETE", "/api/kernels/" + session.value);
  EXPECT_EQ(gateway.got<CloseReplica>({"h1"}).size(), 1U);
  gateway.start_host({"h3"});
  EXPECT_EQ(gateway.got<CloseReplica>({"h3"}).size(), 1U);
  EXPECT_EQ(gateway.store.size(), 1U) << "that there was one";
}

TEST_F(GatewayMembers, EachLifeOfAHostIsToldOfTheReplicasThatItIsToClose) {
  begin();
  const ReplicaReport replica = gateway.hosts[{"h3"}].replicas[session];
  gateway.lose_host({"h3"});
  gateway.http("DELETE", "/api/kernels/" + session.value);
  for (std::size_t life = 1; life <= 2; ++life) {
    gateway.start_host({"h3"});
    EXPECT_EQ(gateway.got<CloseReplica>({"h3"}).size(), life);
    gateway.hosts[{"h3"}].replicas[session] = replica;  // it ends before that is durable
    gateway.lose_host({"h3"});
  }
}

TEST_F(GatewayMembers, ANewLifeOfTheGatewayKnowsItsSessions) {
  begin();
  gateway.start();
  EXPECT_EQ(gateway.model(session)["execution_state"], "starting");
  gateway.advance(1s);
  EXPECT_EQ(gateway.model(session)["execution_state"], "idle");
  EXPECT_FALSE(gateway.who_got<ReportAll>().empty());
  EXPECT_THAT(gateway.who_got<CloseReplica>(), IsEmpty());
}

TEST_F(GatewayMembers, FramesOfHostsThatAreNotConfiguredAreRefused) {
  begin();
  Link stranger({5}, {}, {});
  const std::size_t lines = gateway.logs.size();
  gateway.step(FrameArrived{{"stranger"}, *stranger.poll({})});
  EXPECT_EQ(gateway.logs.size(), lines + 1);
  gateway.step(FrameArrived{{"h1"}, RaftFrame{}});
  EXPECT_EQ(gateway.model(session)["execution_state"], "idle");
}

}  // namespace
}  // namespace banyan::node
