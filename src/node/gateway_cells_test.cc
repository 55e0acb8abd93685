// The life of a cell at the gateway: queue, dispatch, outputs, ends.

#include <gmock/gmock.h>

#include "node/test_gateway.h"

namespace banyan::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class GatewayCells : public ::testing::Test {
 protected:
  void SetUp() override {
    gateway.start_with_hosts();
    session = gateway.create();
    tab = gateway.connect(session, "tab");
    gateway.forget();
  }
  /// The host that was asked to lead, of the last Execute for the cell; empty when nobody was.
  HostId lead(const std::string& cell) {
    for (auto& [id, host] : gateway.hosts) {
      const auto asked = gateway.got<Execute>(id);
      if (!asked.empty() && asked.back().execution.value == cell) return id;
    }
    return {};
  }
  std::size_t cells_stored() {
    std::size_t count = 0;
    for (const auto& [key, value] : gateway.store) count += key.starts_with("cell/") ? 1 : 0;
    return count;
  }

  TestGateway gateway;
  SessionId session;
  ConnectionId tab;
};

TEST_F(GatewayCells, AnAcceptedCellIsJournaledAndSentToOneReplicaAtOnce) {
  gateway.store_works = false;
  gateway.execute(tab, "c1");
  EXPECT_EQ(gateway.who_got<Execute>().size(), 1U) << "nobody waits for the journal";
  gateway.flush_store();
  EXPECT_EQ(cells_stored(), 1U);
  const Execute sent = gateway.got<Execute>(lead("c1")).front();
  EXPECT_EQ(sent.lead, gateway.hosts[lead("c1")].replicas[session].replica);
  EXPECT_EQ(sent.outputs_seen, 0U);
}

TEST(GatewayQueue, IsBoundedInBytesOfWhichCellsThatEndedCountNoMore) {
  TestGateway gateway;
  gateway.config.sizes.message_max = 2000;
  gateway.start_with_hosts();
  const SessionId session = gateway.create();
  const ConnectionId tab = gateway.connect(session, "tab");
  const std::string large = R"({"code":")" + std::string(1200, 'x') + R"("})";
  const auto asked_for = [&](const std::string& cell) {
    for (auto& [id, host] : gateway.hosts) {
      for (const Execute& asked : gateway.got<Execute>(id)) {
        if (asked.execution.value == cell) return id;
      }
    }
    return HostId{};
  };
  const auto heard = [&] { return gateway.heard(tab); };
  gateway.execute(tab, "c1", large);
  gateway.execute(tab, "c2", large);
  EXPECT_THAT(heard(), Contains("error:QueueFull(c2)"));
  gateway.execute(tab, "c3");
  gateway.end(asked_for("c1"), session, "c1");
  gateway.execute(tab, "c4", large);
  EXPECT_THAT(heard(), Not(Contains("error:QueueFull(c4)"))) << "c1 waits no more";
  gateway.end(asked_for("c3"), session, "c3", 0, session::Status::kError);
  EXPECT_THAT(heard(), Contains("execute_reply:aborted(c4)"));
  gateway.execute(tab, "c5", large);
  EXPECT_THAT(heard(), Not(Contains("error:QueueFull(c5)"))) << "nor does c4, which was aborted";
  EXPECT_NE(asked_for("c5"), HostId{});
}

TEST_F(GatewayCells, OutputsThenReplyThenIdleReachTheClientAndTheJournalIsCleared) {
  gateway.execute(tab, "c1");
  const HostId host = lead("c1");
  gateway.output(host, session, "c1", 1, "a");
  gateway.output(host, session, "c1", 2, "b");
  gateway.end(host, session, "c1", 2);
  EXPECT_THAT(gateway.heard(tab),
              ElementsAre("stream:a(c1)", "stream:b(c1)", "execute_reply:ok(c1)", "status:idle(c1)"));
  EXPECT_EQ(cells_stored(), 0U);
  ASSERT_FALSE(gateway.got<OutputDelivered>(host).empty());
  EXPECT_TRUE(gateway.got<OutputDelivered>(host).back().whole);
}

TEST_F(GatewayCells, CellsWaitInTheGatewayAndGoOneAfterTheOtherWithoutAStatus) {
  gateway.execute(tab, "c1");
  gateway.execute(tab, "c2");
  const HostId host = lead("c1");
  EXPECT_EQ(lead("c2"), HostId{});
  EXPECT_THAT(gateway.heard(tab), IsEmpty());
  EXPECT_EQ(gateway.model(session)["execution_state"], "busy");
  gateway.end(host, session, "c1");
  EXPECT_EQ(lead("c2"), host) << "the same host: its worker is warm";
  gateway.end(host, session, "c2");
  EXPECT_EQ(gateway.model(session)["execution_state"], "idle");
}

TEST_F(GatewayCells, OutputsThatComeTwiceAreDeliveredOnce) {
  gateway.execute(tab, "c1");
  const HostId host = lead("c1");
  gateway.output(host, session, "c1", 1, "a");
  gateway.output(host, session, "c1", 1, "a");
  gateway.output(host, session, "c1", 2, "b");
  gateway.end(host, session, "c1", 2);
  gateway.end(host, session, "c1", 2);
  EXPECT_EQ(gateway.heard(tab).size(), 4U);
}

TEST_F(GatewayCells, OutputsThatNoReplicaKeptAreMarked) {
  gateway.execute(tab, "c1");
  const HostId host = lead("c1");
  gateway.output(host, session, "c1", 4, "d");
  gateway.end(host, session, "c1", 9);
  EXPECT_THAT(gateway.heard(tab),
              ElementsAre(HasSubstr("3 messages of output are missing here"), "stream:d(c1)",
                          HasSubstr("the last 5 messages of output are missing"), "execute_reply:ok(c1)",
                          "status:idle(c1)"));
}

TEST_F(GatewayCells, ARequestThatComesTwiceIsOneCell) {
  gateway.execute(tab, "c1");
  gateway.execute(tab, "c1");
  gateway.end(lead("c1"), session, "c1");
  EXPECT_EQ(gateway.heard(tab).size(), 2U);
  EXPECT_EQ(gateway.model(session)["execution_state"], "idle");
}

TEST_F(GatewayCells, ACellWhoseEndTheClientHasNotGotYetIsNotAcceptedAgain) {
  gateway.clients[tab].confirms = false;
  gateway.execute(tab, "c1");
  gateway.end(lead("c1"), session, "c1");
  gateway.forget();
  gateway.execute(tab, "c1");
  EXPECT_THAT(gateway.who_got<Execute>(), IsEmpty()) << "its end is on the way";
  EXPECT_EQ(gateway.model(session)["execution_state"], "idle");
}

TEST_F(GatewayCells, AnAnsweredCellThatComesAgainIsNotAbortedWithTheQueueButAskedOfTheLog) {
  gateway.execute(tab, "c1");
  gateway.end(lead("c1"), session, "c1", 0);
  gateway.execute(tab, "c2");
  gateway.execute(tab, "c1");
  gateway.execute(tab, "c3");
  const HostId host = lead("c2");
  gateway.forget();
  gateway.end(host, session, "c2", 0, session::Status::kError);
  EXPECT_THAT(gateway.heard(tab), Contains("execute_reply:aborted(c3)"));
  EXPECT_THAT(gateway.heard(tab), Not(Contains("execute_reply:aborted(c1)")));
  EXPECT_NE(lead("c1"), HostId{});
}

TEST_F(GatewayCells, AnErrorAbortsWhatWaitsAsIpykernelDoes) {
  for (const char* cell : {"c1", "c2", "c3"}) gateway.execute(tab, cell);
  gateway.end(lead("c1"), session, "c1", 0, session::Status::kError);
  EXPECT_THAT(gateway.heard(tab),
              ElementsAre("execute_reply:error(c1)", "status:idle(c1)", "status:busy(c2)",
                          "execute_reply:aborted(c2)", "status:idle(c2)", "status:busy(c3)",
                          "execute_reply:aborted(c3)", "status:idle(c3)"));
  EXPECT_EQ(lead("c2"), HostId{});
  EXPECT_EQ(cells_stored(), 0U);
  gateway.execute(tab, "c4");
  EXPECT_NE(lead("c4"), HostId{}) << "later cells run";
}

TEST_F(GatewayCells, StopOnErrorFalseLetsTheQueueGoOn) {
  gateway.execute(tab, "c1", R"({"code":"1/0","stop_on_error":false})");
  gateway.execute(tab, "c2");
  gateway.end(lead("c1"), session, "c1", 0, session::Status::kError);
  EXPECT_NE(lead("c2"), HostId{});
}

TEST_F(GatewayCells, AnAbortIsToldOnlyOnceItIsWritten) {
  gateway.execute(tab, "c1");
  gateway.execute(tab, "c2");
  gateway.store_works = false;
  gateway.end(lead("c1"), session, "c1", 0, session::Status::kError);
  EXPECT_EQ(gateway.heard(tab).size(), 2U) << "a later life of the gateway could still run c2";
  gateway.store_works = true;
  gateway.flush_store();
  EXPECT_EQ(gateway.heard(tab).size(), 5U);
}

TEST_F(GatewayCells, ALostCellIsExplainedAndEndsOnce) {
  gateway.execute(tab, "c1");
  for (const char* host : {"h1", "h2", "h3"}) gateway.end({host}, session, "c1", 0, session::Status::kLost);
  EXPECT_THAT(gateway.heard(tab), ElementsAre("status:busy(c1)", "error:ExecutionLost(c1)",
                                              "execute_reply:error(c1)", "status:idle(c1)"));
  const auto content = TestGateway::json::parse(gateway.clients[tab].got[2].content.view());
  EXPECT_THAT(content["evalue"], HasSubstr("stopped answering. The cell may have run partly"));
  EXPECT_EQ(content["traceback"].size(), 1U);
}

TEST_F(GatewayCells, WhenTheHostThatWasAskedGoesAnotherIsAskedAtOnce) {
  gateway.execute(tab, "c1");
  const HostId first = lead("c1");
  gateway.output(first, session, "c1", 1, "a");
  gateway.lose_host(first);
  gateway.exchange();
  gateway.hosts[first].got.clear();
  const HostId second = lead("c1");
  ASSERT_NE(second, HostId{});
  ASSERT_NE(second, first);
  EXPECT_EQ(gateway.got<Execute>(second).front().outputs_seen, 1U);
  gateway.end(second, session, "c1", 1, session::Status::kLost);
  EXPECT_EQ(gateway.heard(tab).back(), "status:idle(c1)");
}

TEST_F(GatewayCells, AHostThatIsSilentCountsAsDownWithoutAHint) {
  gateway.execute(tab, "c1");
  const HostId first = lead("c1");
  gateway.lose_host(first, false);
  gateway.advance(2500ms);
  gateway.hosts[first].got.clear();
  EXPECT_NE(lead("c1"), HostId{});
}

TEST_F(GatewayCells, AReplicaThatShowsNoSignIsPassedOver) {
  gateway.execute(tab, "c1");
  const HostId first = lead("c1");
  gateway.forget();
  gateway.advance(2900ms);
  EXPECT_THAT(gateway.who_got<Execute>(), IsEmpty());
  gateway.advance(200ms);
  EXPECT_NE(lead("c1"), HostId{});
  EXPECT_NE(lead("c1"), first);
}

TEST_F(GatewayCells, AReplicaThatReportsTheCellAsRunningIsLeftAlone) {
  gateway.execute(tab, "c1");
  const HostId host = lead("c1");
  auto& replica = gateway.hosts[host].replicas[session];
  replica.running = ExecutionId{"c1"};
  replica.executor = replica.replica;
  replica.epoch = {1};
  gateway.report(host, session);
  gateway.forget();
  gateway.advance(10s);
  EXPECT_THAT(gateway.who_got<Execute>(), IsEmpty());
}

TEST_F(GatewayCells, AReplicaThatDeclinesHandsOnToTheNextAndWhenAllDeclineTheyAreAskedAgain) {
  gateway.execute(tab, "c1");
  std::set<HostId> asked;
  for (int i = 0; i < 3; ++i) {
    const HostId host = lead("c1");
    ASSERT_TRUE(asked.insert(host).second) << "nobody is asked twice in a round";
    gateway.forget();
    gateway.from_host(host, ExecutionDeclined{session, {"c1"}, "no device works"});
  }
  EXPECT_EQ(lead("c1"), HostId{}) << "a pause comes first";
  gateway.advance(250ms);
  EXPECT_NE(lead("c1"), HostId{});
}

TEST_F(GatewayCells, AfterFiveRoundsOfDecliningTheCellIsRefusedWithTheReason) {
  gateway.execute(tab, "c1");
  for (int i = 0; i < 200 && gateway.heard(tab).empty(); ++i) {
    if (const HostId host = lead("c1"); host != HostId{}) {
      gateway.hosts[host].got.clear();
      gateway.from_host(host, ExecutionDeclined{session, {"c1"}, "no device works"});
    }
    gateway.advance(50ms);
  }
  ASSERT_EQ(gateway.heard(tab).size(), 4U);
  EXPECT_EQ(gateway.heard(tab)[1], "error:NoExecutor(c1)");
  EXPECT_THAT(std::string(gateway.clients[tab].got[1].content.view()), HasSubstr("no device works"));
  EXPECT_EQ(cells_stored(), 0U);
}

TEST_F(GatewayCells, WhatAnEarlierLifeMayHaveSentIsNotRefusedButEndedByTheLog) {
  gateway.execute(tab, "c1");
  gateway.start_with_hosts();
  gateway.advance(1s);
  const auto aborts = [&](const HostId& host) {
    const auto asked = gateway.got<Execute>(host);
    return !asked.empty() && asked.back().aborts;
  };
  HostId host;
  for (int i = 0; i < 200 && !aborts(host); ++i) {
    host = lead("c1");
    if (host != HostId{} && !aborts(host)) {
      gateway.hosts[host].got.clear();
      gateway.from_host(host, ExecutionDeclined{session, {"c1"}, "no device works"});
    }
    gateway.advance(50ms);
  }
  EXPECT_TRUE(aborts(host));
  EXPECT_EQ(cells_stored(), 1U) << "only the log can say how it ends";
}

TEST_F(GatewayCells, WithoutAMajorityNewCellsAreRefusedAfterAGraceAndNotRun) {
  gateway.lose_host({"h1"});
  gateway.lose_host({"h2"});
  gateway.forget();
  gateway.execute(tab, "c1");
  gateway.advance(9s);
  EXPECT_THAT(gateway.heard(tab), IsEmpty()) << "hosts may be just starting again";
  gateway.advance(2s);
  ASSERT_EQ(gateway.heard(tab).size(), 4U);
  EXPECT_EQ(gateway.heard(tab)[1], "error:NoQuorum(c1)");
  EXPECT_THAT(std::string(gateway.clients[tab].got[1].content.view()),
              HasSubstr("Only 1 of the session's 3 replicas is up, and a cell needs 2; not up: h1, h2."));
  gateway.clients[tab].got.clear();
  gateway.execute(tab, "c2");
  EXPECT_EQ(gateway.heard(tab).size(), 4U) << "now at once";
  EXPECT_THAT(gateway.who_got<Execute>(), IsEmpty());
  EXPECT_THAT(gateway.model(session)["reason"].get<std::string>(), HasSubstr("Only 1"));
  gateway.find_host({"h1"});
  gateway.execute(tab, "c3");
  EXPECT_NE(lead("c3"), HostId{});
}

TEST_F(GatewayCells, ACellThatMayHaveStartedIsNotRefusedButExplained) {
  gateway.execute(tab, "c1");
  for (const char* host : {"h1", "h2", "h3"}) gateway.lose_host({host});
  gateway.advance(11s);
  ASSERT_EQ(gateway.heard(tab).size(), 1U);
  EXPECT_THAT(gateway.heard(tab)[0], HasSubstr("This cell may have run"));
  EXPECT_EQ(gateway.model(session)["execution_state"], "busy");
}

TEST_F(GatewayCells, WithTheElectionOfAllEveryReplicaIsAsked) {
  TestGateway other;
  other.config.elect = true;
  other.start_with_hosts();
  const SessionId id = other.create();
  const ConnectionId client = other.connect(id, "tab");
  other.execute(client, "c1");
  EXPECT_EQ(other.who_got<Execute>().size(), 3U);
  EXPECT_EQ(other.got<Execute>(other.who_got<Execute>()[0])[0].lead, ReplicaId{});
}

TEST_F(GatewayCells, DeliveredOutputsAreAcknowledgedToTheExecutor) {
  gateway.disconnect(tab);
  tab = gateway.connect(session, "tab", "&repeats=dropped");
  gateway.execute(tab, "c1");
  const HostId host = lead("c1");
  gateway.clients[tab].reads = false;
  gateway.output(host, session, "c1", 1, "a");
  gateway.output(host, session, "c1", 2, "b");
  gateway.advance(100ms);
  EXPECT_THAT(gateway.got<OutputDelivered>(host), IsEmpty()) << "the client has not taken them";
  gateway.clients[tab].confirms = false;
  gateway.drain(tab);
  gateway.advance(300ms);
  EXPECT_THAT(gateway.got<OutputDelivered>(host), IsEmpty()) << "and has not said that they arrived";
  EXPECT_FALSE(gateway.store.contains("progress/" + session.value));
  gateway.store_works = false;
  gateway.confirm(tab);
  gateway.advance(300ms);
  EXPECT_THAT(gateway.got<OutputDelivered>(host), IsEmpty()) << "a later life would ask for them";
  gateway.store_works = true;
  gateway.flush_store();
  gateway.advance(100ms);
  ASSERT_EQ(gateway.got<OutputDelivered>(host).size(), 1U);
  EXPECT_EQ(gateway.got<OutputDelivered>(host)[0].seq, 2U);
}

TEST_F(GatewayCells, AfterARestartOfTheGatewayTheCellGoesOnWithoutGapOrRepetition) {
  gateway.execute(tab, "c1");
  gateway.execute(tab, "c2");
  const HostId host = lead("c1");
  gateway.advance(300ms);
  gateway.output(host, session, "c1", 1, "a");
  gateway.forget();
  gateway.start();
  gateway.advance(1s);
  ASSERT_EQ(lead("c1"), host);
  EXPECT_EQ(gateway.got<Execute>(host).back().outputs_seen, 1U);
  gateway.output(host, session, "c1", 2, "b");
  tab = gateway.connect(session, "tab");
  gateway.end(host, session, "c1", 2);
  EXPECT_THAT(gateway.heard(tab),
              ElementsAre("stream:b(c1)", "status:busy(c1)", "execute_reply:ok(c1)", "status:idle(c1)"));
  EXPECT_NE(lead("c2"), HostId{}) << "what waited goes on, in order";
}

TEST_F(GatewayCells, AnExecutorThatIsFoundInAReportIsAskedForWhatItRuns) {
  gateway.execute(tab, "c1");
  const HostId host = lead("c1");
  gateway.lose_host(host);
  const HostId other = lead("c1");
  gateway.start_host(host);  // another life, which finds the cell in its log
  gateway.forget();
  gateway.hosts[host].replicas[session].running = ExecutionId{"c1"};
  gateway.hosts[host].replicas[session].executor = gateway.hosts[host].replicas[session].replica;
  gateway.report(host, session);
  ASSERT_EQ(gateway.got<Execute>(host).size(), 1U) << "it tells only those who ask";
  gateway.report(host, session);
  EXPECT_EQ(gateway.got<Execute>(host).size(), 1U);
}

TEST_F(GatewayCells, ACellThatOnlyTheHostsKnowOfIsNotAbortedWithTheQueueWhenItComesAgain) {
  for (auto& [id, host] : gateway.hosts) {
    if (!host.replicas.contains(session)) continue;
    host.replicas[session].newest = {"unnoted"};  // the life before died before its note was durable
    gateway.report(id, session);
    break;
  }
  gateway.execute(tab, "c1");
  gateway.execute(tab, "unnoted");
  gateway.execute(tab, "c2");
  const HostId host = lead("c1");
  gateway.forget();
  gateway.end(host, session, "c1", 0, session::Status::kError);
  EXPECT_THAT(gateway.heard(tab), Contains("execute_reply:aborted(c2)"));
  EXPECT_THAT(gateway.heard(tab), Not(Contains("execute_reply:aborted(unnoted)")));
  EXPECT_NE(lead("unnoted"), HostId{});
}

TEST_F(GatewayCells, InASessionOfAnEarlierLifeOnlyTheLogAbortsWhatWaits) {
  gateway.start();
  gateway.advance(1s);
  tab = gateway.connect(session, "tab");
  gateway.execute(tab, "c1");
  gateway.execute(tab, "said again");  // the life before may have sent it, and made no durable note
  gateway.end(lead("c1"), session, "c1", 0, session::Status::kError);
  gateway.execute(tab, "c3");  // its client has seen the error
  EXPECT_THAT(gateway.heard(tab), Not(Contains("execute_reply:aborted(said again)")));
  const HostId host = lead("said again");
  EXPECT_TRUE(gateway.got<Execute>(host).back().aborts) << "it does not run if it has not";
  gateway.forget();
  gateway.start();  // and the next life knows that
  gateway.advance(1s);
  tab = gateway.connect(session, "tab");
  const HostId next = lead("said again");
  EXPECT_TRUE(gateway.got<Execute>(next).back().aborts);
  gateway.end(next, session, "said again", 0, session::Status::kAborted);
  EXPECT_THAT(gateway.heard(tab), Contains("execute_reply:aborted(said again)"));
  EXPECT_FALSE(gateway.got<Execute>(lead("c3")).back().aborts);
}

TEST_F(GatewayCells, AnEndThatTheClientHasNotTakenIsToldAgainByTheNextLife) {
  gateway.clients[tab].reads = false;
  gateway.execute(tab, "c1");
  const HostId host = lead("c1");
  gateway.end(host, session, "c1");
  EXPECT_EQ(cells_stored(), 1U);
  gateway.start();
  gateway.advance(1s);
  tab = gateway.connect(session, "tab");
  gateway.end(host, session, "c1");
  EXPECT_EQ(gateway.heard(tab).back(), "status:idle(c1)");
  EXPECT_EQ(cells_stored(), 0U);
}

TEST_F(GatewayCells, AnEndThatMayHaveBeenLostIsToldAgainByTheNextLife) {
  gateway.clients[tab].confirms = false;
  gateway.execute(tab, "c1");
  const HostId host = lead("c1");
  gateway.end(host, session, "c1");
  EXPECT_EQ(cells_stored(), 1U) << "it has left, and nobody knows whether it arrived";
  gateway.start();
  gateway.advance(1s);
  tab = gateway.connect(session, "tab");
  gateway.end(host, session, "c1");
  EXPECT_EQ(gateway.heard(tab).back(), "status:idle(c1)");
  EXPECT_EQ(cells_stored(), 0U);
}

TEST_F(GatewayCells, AnAbortedCellIsNotRunByTheNextLife) {
  gateway.execute(tab, "c1");
  gateway.execute(tab, "c2");
  gateway.clients[tab].reads = false;
  gateway.end(lead("c1"), session, "c1", 0, session::Status::kError);
  gateway.store.erase("cell/" + session.value + "/000000000001");
  gateway.forget();
  gateway.start();
  gateway.advance(5s);
  EXPECT_THAT(gateway.who_got<Execute>(), IsEmpty());
  tab = gateway.connect(session, "tab");
  EXPECT_THAT(gateway.heard(tab),
              ElementsAre("status:busy(c2)", "execute_reply:aborted(c2)", "status:idle(c2)"));
}

TEST_F(GatewayCells, TooManyWaitingCellsAreRefused) {
  for (int i = 0; i < 4096; ++i) {
    gateway.step(FromClient{tab, TestGateway::request("execute_request", "c" + std::to_string(i))});
  }
  gateway.execute(tab, "straw");
  EXPECT_THAT(gateway.heard(tab),
              ElementsAre("status:busy(straw)", "error:QueueFull(straw)", "execute_reply:error(straw)",
                          "status:idle(straw)", "status:busy(c0)"));
}

}  // namespace
}  // namespace banyan::node
