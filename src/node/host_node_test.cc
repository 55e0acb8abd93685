#include "node/host_node.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/session/cells.h"
#include "core/session/questions.h"
#include "node/test_hosts.h"

namespace banyan::node {
namespace {

TEST(HostNode, ACellRunsOnItsExecutorAndShowsOnEveryReplica) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  EXPECT_EQ(cluster.ended_[{"c1"}].status, session::Status::kOk);
  EXPECT_EQ(cluster.ended_[{"c1"}].outputs, 1U);
  ASSERT_EQ(cluster.outputs_.size(), 1U);
  EXPECT_EQ(cluster.outputs_[0].seq, 1U);
  EXPECT_TRUE(cluster.run_until([&] {
    for (const char* host : {"h1", "h2", "h3"}) {
      for (const auto& [id, worker] : cluster.hosts_[{host}].workers) {
        if (!worker.variables.contains("x")) return false;
      }
    }
    return true;
  }));
}

/// Whether every worker's x is the value, and empty when it has none.
bool everywhere(TestHosts& cluster, const std::string& value) {
  for (const char* host : {"h1", "h2", "h3"}) {
    for (const auto& [id, worker] : cluster.hosts_[{host}].workers) {
      const auto x = worker.variables.find("x");
      if ((x == worker.variables.end() ? "" : x->second) != value) return false;
    }
  }
  return true;
}

TEST(HostNode, AnUndoShowsTheOlderValueOnEveryReplicaAndOnANewOne) {
  TestHosts cluster;
  cluster.open();
  const auto run = [&](const std::string& cell, const std::string& code, const char* host,
                       std::uint64_t lead) {
    cluster.execute(cell, code, {lead}, {host});
    return cluster.run_until([&] { return cluster.ended(cell); });
  };
  const std::string large(100'000, 'x');
  ASSERT_TRUE(run("c1", "x=" + large, "h1", 1) && run("c2", "x=2", "h1", 1) && run("c3", "%undo=1", "h1", 1));
  ASSERT_EQ(cluster.answers_.size(), 1U);
  ASSERT_TRUE(cluster.answers_[0].has_value()) << cluster.answers_[0].error().message;
  EXPECT_TRUE(cluster.run_until([&] { return everywhere(cluster, large); }));
  cluster.kill({"h1"});
  ASSERT_TRUE(run("c4", "%redo=1", "h2", 2));
  EXPECT_TRUE(cluster.run_until(
      [&] { return cluster.hosts_[{"h3"}].workers.begin()->second.variables["x"] == "2"; }));
  ASSERT_TRUE(run("c5", "%undo=5", "h2", 2));
  EXPECT_NE(cluster.answers_.back().error().message.find("only 2 cells"), std::string::npos);
}

TEST(HostNode, AQuestionFromOutsideIsAnsweredAndAChangeWhenItIsCommitted) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=1", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  const auto ask = [&](const std::string& question) {
    const std::string id = std::to_string(cluster.session_answers_.size());
    cluster.send({"h2"}, AskSession{kSession, id, question});
    EXPECT_TRUE(cluster.run_until([&] { return cluster.session_answers_.contains(id); }));
    return cluster.session_answers_[id];
  };
  EXPECT_NE(ask(R"({"do":"log"})").content.find("\"branch\":\"main\""), std::string::npos);
  EXPECT_EQ(ask(R"({"do":"fly"})").refused, ErrorKind::kInvalid);
  EXPECT_EQ(ask(R"({"do":"tag","name":"t"})").refused, std::nullopt);
  EXPECT_EQ(ask(R"({"do":"tag","name":"t"})").refused, ErrorKind::kConflict);
  EXPECT_EQ(ask(R"({"do":"undo"})").refused, std::nullopt);
  EXPECT_TRUE(cluster.run_until([&] { return everywhere(cluster, ""); }));
}

TEST(HostNode, ACellIsCommittedByItsReportAndItsLateReplyIsToldNobody) {
  TestHosts cluster;
  cluster.reports_have_reply_ = true;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 100ms);
  EXPECT_NE(cluster.ended_[{"c1"}].reply.content.view().find("packed"), std::string::npos);
  EXPECT_EQ(cluster.ended_[{"c1"}].reply.metadata, R"({"engine":"e"})");
  ASSERT_EQ(cluster.outputs_.size(), 1U);
  EXPECT_NE(cluster.outputs_[0].message.content.view().find("hello"), std::string::npos);
}

TEST(HostNode, TheNextCellRunsElsewhereAfterTheExecutorsHostDied) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.kill({"h1"});
  cluster.execute("c2", "y=6", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }, 2s)) << "within the failover's figure";
  EXPECT_EQ(cluster.hosts_[{"h2"}].workers.begin()->second.variables["x"], "5");
}

TEST(HostNode, ACellThatFoundNoLeaderIsBidForAsSoonAsThereIsOne) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 200ms);  // h2 hears of it
  cluster.ticks_ = false;
  cluster.kill({"h1"});
  cluster.execute("c2", "y=6", {2}, {"h2"});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
}

TEST(HostNode, AHandOverIsReportedAndTheGroupIsLedByTheExecutorAtOnce) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 200ms);  // its heartbeats are answered
  cluster.ticks_ = false;
  cluster.send({"h1"}, AskSession{kSession, "over", R"({"do":"hand_over","to":2,"force":true})"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h1"}][kSession].executor == ReplicaId{2}; }));
  EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h2"}][kSession].leader == ReplicaId{2}; }));
}

/// A session that does something in the background when its cell has ended at h1.
class Working : public ::testing::Test {
 protected:
  Working() {
    cluster.work_ = {"thread T runs work"};
    cluster.open();
    cluster.execute("c1", "x=5", {1}, {"h1"});
    EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h1"}][kSession].works; }));
    cluster.work_.clear();
  }
  bool told() { return cluster.said("ended with the process in which it ran: thread T runs work"); }

  TestHosts cluster;
};

TEST_F(Working, WhatItDidIsNamedOnceAfterAFailover) {
  cluster.kill({"h1"});
  cluster.execute("c2", "y=6", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  EXPECT_TRUE(told());
  cluster.outputs_.clear();
  cluster.execute("c3", "y=7", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c3"); }));
  EXPECT_FALSE(told());
}

TEST_F(Working, NothingIsNamedWhileItsProcessLives) {
  cluster.execute("c2", "y=6", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  EXPECT_FALSE(told());
}

TEST_F(Working, ItEndsWithTheLead) {
  const auto before = cluster.hosts_[{"h1"}].workers.begin()->first;
  cluster.send({"h1"}, AskSession{kSession, "over", R"({"do":"hand_over","to":2,"force":true})"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h1"}][kSession].executor == ReplicaId{2}; }));
  EXPECT_TRUE(cluster.run_until([&] { return !cluster.hosts_[{"h1"}].workers.contains(before); }));
}

class Joining : public ::testing::TestWithParam<session::Standbys> {};

TEST_P(Joining, AReplicaStartsAWorkerAtOnceForTheStateInWhichItIsAMember) {
  TestHosts cluster;
  cluster.type_ = "numpy.ndarray";
  cluster.open({{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}}, {}, GetParam());
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 200ms);  // the members answer their leader
  cluster.ticks_ = false;
  cluster.libraries_.clear();
  const session::Members members{{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, members, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, members, 1});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].members == members; }));
  const bool hot = GetParam() == session::Standbys::kHot;
  EXPECT_EQ(cluster.hosts_[{"h4"}].workers.size(), hot ? 1U : 0U);
  EXPECT_EQ(cluster.libraries_, hot ? std::set<std::string>{"numpy"} : std::set<std::string>());
}

INSTANTIATE_TEST_SUITE_P(HostNode, Joining,
                         ::testing::Values(session::Standbys::kHot, session::Standbys::kWarm));

TEST(HostNode, ACellWhoseExecutorDiesInTheMiddleIsLostAndNotRunAgain) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_cells_ = false;  // the worker never comes to the fence
  cluster.execute("c2", "x=6", {1}, {"h1"});
  ASSERT_TRUE(
      cluster.run_until([&] { return cluster.reports_[{"h2"}][kSession].running == ExecutionId{"c2"}; }));
  cluster.kill({"h1"});
  cluster.run_cells_ = true;
  cluster.execute("c2", "x=6", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }, 5s)) << "the verdict's figure";
  EXPECT_EQ(cluster.ended_[{"c2"}].status, session::Status::kLost);
  EXPECT_EQ(cluster.starts_[{"c2"}], 0);
  cluster.execute("c3", "z=7", {3}, {"h3"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c3"); }));
  EXPECT_EQ(cluster.ended_[{"c3"}].status, session::Status::kOk);
}

TEST(HostNode, AnExecuteThatComesTwiceRunsOnceAndIsAnsweredTwice) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.ended_.clear();
  cluster.outputs_.clear();
  cluster.execute("c1", "x=5", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  EXPECT_EQ(cluster.starts_[{"c1"}], 1);
  EXPECT_EQ(cluster.outputs_.size(), 1U) << "the journal has the outputs";
}

TEST(HostNode, TheGatewaysNextLifeGetsARunningCellsOutputsFromWhereItSays) {
  for (const std::uint64_t seen : {0U, 1U}) {
    TestHosts cluster;
    cluster.cells_ask_ = true;
    cluster.open();
    cluster.execute("c1", "x=5", {1}, {"h1"});
    ASSERT_TRUE(cluster.run_until([&] { return cluster.outputs_.size() == 2; }));
    cluster.restart_gateway();
    cluster.run_until([] { return false; }, 1s);
    EXPECT_TRUE(cluster.outputs_.empty()) << "what is sent before it asks comes too early for it";
    cluster.execute("c1", "x=5", {1}, {"h1"}, seen);
    ASSERT_TRUE(cluster.run_until([&] { return cluster.outputs_.size() == 2 - seen; }));
    cluster.answer_input({"h1"});
    ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
    EXPECT_EQ(cluster.outputs_.size(), 2 - seen) << "each once";
    EXPECT_EQ(cluster.starts_[{"c1"}], 1);
  }
}

TEST(HostNode, TheCellsOfASessionHaveWhatTheRunningOneHasPutOutSoFar) {
  TestHosts cluster;
  cluster.cells_ask_ = true;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.outputs_.size() == 2; }));
  const auto cells = [&](const HostId& host) {
    const std::string id = host.value + std::to_string(cluster.session_answers_.size());
    cluster.send(host, AskSession{kSession, id, session::text_of(session::question::Cells{})});
    EXPECT_TRUE(cluster.run_until([&] { return cluster.session_answers_.contains(id); }));
    return nlohmann::json::parse(cluster.session_answers_[id].content)["cells"];
  };
  const auto running = cells({"h1"});
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running[0]["status"], "running");
  EXPECT_EQ(running[0]["execution"], "c1");
  ASSERT_EQ(running[0]["outputs"].size(), 1U);
  EXPECT_EQ(running[0]["outputs"][0]["content"]["text"], "hello");
  EXPECT_FALSE(cells({"h2"})[0].contains("outputs")) << "only the executor knows them";
  cluster.answer_input({"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  const auto ended = cells({"h2"});
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0]["status"], "ok");
  EXPECT_EQ(ended[0]["outputs"], running[0]["outputs"]) << "the messages of then, none twice";
}

TEST(HostNode, ACellThatEndsBeforeTheGatewaysNextLifeAsksIsAnsweredWhole) {
  TestHosts cluster;
  cluster.cells_ask_ = true;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.outputs_.size() == 2; }));
  cluster.restart_gateway();
  cluster.run_until([] { return false; }, 1s);
  cluster.answer_input({"h1"});
  cluster.run_until([] { return false; }, 1s);
  EXPECT_FALSE(cluster.ended("c1"));
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  EXPECT_EQ(cluster.outputs_.size(), cluster.ended_[{"c1"}].outputs);
}

TEST(HostNode, AnOpenInputRequestIsRepeatedForTheGatewaysNextLifeUntilItIsAnswered) {
  TestHosts cluster;
  cluster.cells_ask_ = true;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  const auto asks = [&] {
    return std::count_if(cluster.outputs_.begin(), cluster.outputs_.end(), [](const FromKernel& one) {
      return one.message.channel == jupyter::Channel::kStdin;
    });
  };
  ASSERT_TRUE(cluster.run_until([&] { return asks() == 1; }));
  cluster.execute("c1", "x=5", {1}, {"h1"});
  cluster.run_until([] { return false; }, 1s);
  EXPECT_EQ(asks(), 1) << "the same life of the gateway has it";
  cluster.restart_gateway();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  EXPECT_TRUE(cluster.run_until([&] { return asks() == 1; }));
  jupyter::Message reply;
  reply.channel = jupyter::Channel::kStdin;
  reply.header = R"({"msg_id":"i1","msg_type":"input_reply","session":"client"})";
  cluster.send({"h1"}, ToKernel{kSession, reply});
  cluster.run_until([] { return false; }, 1s);
  cluster.restart_gateway();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  cluster.run_until([] { return false; }, 1s);
  EXPECT_EQ(asks(), 0) << "it was answered";
}

TEST(HostNode, AReplicaMovesToAnotherHostAndItsWorkerShowsHead) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.kill({"h3"});
  const session::Members members{{{1}, {"h1"}}, {{2}, {"h2"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, members, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, members, 1});
  cluster.send({"h2"}, ChangeMembers{kSession, members, 1});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].members == members; }));
  ASSERT_TRUE(cluster.run_until([&] {
    const auto& workers = cluster.hosts_[{"h4"}].workers;
    return !workers.empty() && workers.begin()->second.variables.contains("x");
  }));
  cluster.kill({"h1"});
  cluster.execute("c2", "y=6", {4}, {"h4"});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
}

TEST(HostNode, AReplicaTellsWhereItsSessionWasFoundedInItsNextLifeToo) {
  TestHosts cluster;
  cluster.open();
  const session::Members members{{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  const Founding founding{.life = 7, .number = 3};
  const auto founded = [&] {
    const Founding& reported = cluster.reports_[{"h4"}][kSession].founding;
    return std::pair(reported.life, reported.number);
  };
  cluster.send({"h4"},
               OpenReplica{kSession, {4}, {.kernel_name = "python3"}, members, Origin::kJoining, founding});
  cluster.send({"h1"}, ChangeMembers{kSession, members, 1});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].members == members; }));
  EXPECT_EQ(founded(), std::pair(7UL, 3UL));
  const auto& host = cluster.hosts_[{"h4"}];
  const Recovered found{.replicas = {*host.replicas.find(kSession)}, .chunks = {}, .speeds = {}};
  cluster.kill({"h4"});
  cluster.reports_[{"h4"}].clear();
  cluster.start({"h4"}, found);
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}].contains(kSession); }));
  EXPECT_EQ(founded(), std::pair(7UL, 3UL));
}

TEST(HostNode, ACellThatItsWorkerEndsBeforeItsStartIsCommittedEnds) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.blank_cells_ = true;
  cluster.execute("c2", "", {1}, {"h1"});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
}

TEST(HostNode, AReplicaIsNotToldOfTheWritesOfOneThatWasClosedBefore) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.slow_disk_ = HostId{"h3"};
  for (const char* cell : {"c2", "c3", "c4"}) {
    cluster.execute(cell, "x=6", {1}, {"h1"});
    ASSERT_TRUE(cluster.run_until([&] { return cluster.ended(cell); }));
  }
  const session::Members members = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{4}, {"h3"}}};
  cluster.send({"h3"}, CloseReplica{kSession});
  cluster.send({"h3"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, members});
  cluster.run_until([] { return false; }, 10ms);
  cluster.finish_writes();
  EXPECT_TRUE(cluster.hosts_[{"h3"}].up);
}

TEST(HostNode, ANewWorkerIsToldTheInputHistorySinceTheLastRestart) {
  TestHosts cluster;
  cluster.open();
  const auto run = [&](const std::string& cell, const std::string& code) {
    cluster.execute(cell, code, {1}, {"h1"});
    ASSERT_TRUE(cluster.run_until([&] { return cluster.ended(cell); }));
  };
  run("c1", "x=5");
  run("c2", "y=6");
  cluster.lose_worker({"h1"});
  cluster.run_until([] { return false; }, 100ms);
  EXPECT_EQ(cluster.hosts_[{"h1"}].workers.begin()->second.told, (std::vector<std::string>{"x=5", "y=6"}));
  cluster.restart_kernel();
  cluster.run_until([] { return false; }, 1s);
  run("c3", "z=7");
  cluster.lose_worker({"h1"});
  cluster.run_until([] { return false; }, 100ms);
  EXPECT_EQ(cluster.hosts_[{"h1"}].workers.begin()->second.told, std::vector<std::string>{"z=7"});
}

TEST(HostNode, ARestartEmptiesEveryReplica) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.restart_kernel();
  ASSERT_TRUE(cluster.run_until([&] {
    for (const char* host : {"h1", "h2", "h3"}) {
      const auto& workers = cluster.hosts_[{host}].workers;
      if (workers.size() != 1 || !workers.begin()->second.variables.empty()) return false;
    }
    return true;
  }));
  cluster.execute("c2", "y=6", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  EXPECT_EQ(cluster.ended_[{"c2"}].status, session::Status::kOk);
}

TEST(HostNode, AWorkerMayBeginWithTheLibrariesOfItsValues) {
  TestHosts cluster;
  cluster.type_ = "numpy.ndarray";
  cluster.open();
  cluster.execute("c1", "x=1", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  EXPECT_TRUE(cluster.libraries_.empty()) << "all workers were there before it had any";
  cluster.lose_worker({"h1"});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.libraries_ == std::set<std::string>{"numpy"}; }));
}

TEST(HostNode, WhereASessionSaysWhereModulesAreItsWorkersBeginWithNone) {
  TestHosts cluster;
  cluster.type_ = "numpy.ndarray";
  cluster.open();
  cluster.execute("c1", "x=1", {1}, {"h1"});
  cluster.execute("c2", "<sys.path>=1", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  cluster.lose_worker({"h1"});
  EXPECT_TRUE(cluster.run_until([&] { return !cluster.hosts_[{"h1"}].workers.empty(); }));
  EXPECT_TRUE(cluster.libraries_.empty());
}

/// The variables of the worker on a host; none where there is none.
std::map<std::string, std::string> shown(const TestHosts& cluster, const HostId& host) {
  const auto& workers = cluster.hosts_.at(host).workers;
  if (workers.empty()) return {};
  return workers.begin()->second.variables;
}

TEST(HostNode, AStandbyLoadsMuchOnceNoMoreCommitsCome) {
  TestHosts cluster(Sizes{.much_to_load = 1});
  cluster.open();
  cluster.execute("c1", "x=1", {1}, {"h1"});
  const auto shows = [&](const std::string& value) { return shown(cluster, {"h2"})["x"] == value; };
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  EXPECT_FALSE(cluster.run_until([&] { return shows("1"); }, 4s))
      << "an empty worker lets the executor load first";
  ASSERT_TRUE(cluster.run_until([&] { return shows("1"); }, 2s));
  cluster.execute("c2", "x=2", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  EXPECT_FALSE(cluster.run_until([&] { return shows("2"); }, 800ms));
  EXPECT_TRUE(cluster.run_until([&] { return shows("2"); }, 500ms));
}

TEST(HostNode, AStandbyLoadsMuchInTheEndAlsoWhileCommitsCome) {
  TestHosts cluster(Sizes{.much_to_load = 1});
  cluster.open();
  cluster.execute("c0", "y=0", {1}, {"h1"});
  const auto shows = [&](const std::string& name) { return shown(cluster, {"h2"}).contains(name); };
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c0") && shows("y"); }));
  for (int cell = 1; cell <= 12; ++cell) {
    const std::string id = "c" + std::to_string(cell);
    cluster.execute(id, "x=" + std::to_string(cell), {1}, {"h1"});
    cluster.run_until([] { return false; }, 500ms);
    ASSERT_TRUE(cluster.ended(id));
    if (cell == 6) EXPECT_FALSE(shows("x"));
  }
  EXPECT_TRUE(shows("x")) << "after 5 s";
}

/// The standby h2 has the bytes of a large value, and has yet to load it.
class GivingStandby : public testing::Test {
 protected:
  GivingStandby() {
    cluster.open();
    cluster.execute("c1", "x=" + std::string(100'000, '7'), {1}, {"h1"});
    EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c1") && !chunks().empty(); }));
  }
  std::map<Digest, Blob>& chunks() { return cluster.hosts_[{"h2"}].chunks; }
  [[nodiscard]] bool shows() const { return shown(cluster, {"h2"}).contains("x"); }
  /// A peer asks for the bytes twice a second. Returns whether the standby has loaded them by then.
  bool asked_for(Duration time) {
    for (Duration since{}; since < time; since += 500ms) {
      cluster.send({"h2"}, ChunkWanted{kSession, chunks().begin()->first});
      cluster.run_until([] { return false; }, 500ms);
    }
    return shows();
  }

  TestHosts cluster{Sizes{.much_to_load = 1}};
};

TEST_F(GivingStandby, LoadsWhenThePeerHasHadTimeToLoad) {
  EXPECT_FALSE(asked_for(8s));
  EXPECT_FALSE(cluster.run_until([&] { return shows(); }, 4s)) << "the peer may be loading them";
  EXPECT_TRUE(cluster.run_until([&] { return shows(); }, 1s));
}

TEST_F(GivingStandby, LoadsInTheEndAlsoWhileAPeerAsks) {
  EXPECT_FALSE(asked_for(50s));
  EXPECT_TRUE(asked_for(20s));
}

TEST_F(GivingStandby, LoadsAlsoWhileAPeerAsksWhenItMayBeTheNextExecutor) {
  cluster.kill({"h1"});
  EXPECT_TRUE(asked_for(5s));
}

TEST(HostNode, AStandbysFreshWorkerLoadsAfterThoseThatAreWaitedFor) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=1", {1}, {"h1"});
  const auto shows_x = [&] { return shown(cluster, {"h2"}).contains("x"); };
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1") && shows_x(); }));
  cluster.lose_worker({"h2"});
  EXPECT_FALSE(cluster.run_until(shows_x, 800ms));
  EXPECT_TRUE(cluster.run_until(shows_x, 1s));
  cluster.lose_worker({"h2"});
  cluster.execute("c2", "y=2", {2}, {"h2"});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }, 500ms)) << "a client waits for that one";
  EXPECT_TRUE(shows_x());
}

}  // namespace
}  // namespace banyan::node
