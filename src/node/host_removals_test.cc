// Moves of head that remove files and folders from the disk: the worker is asked before they are done.

#include <gtest/gtest.h>

#include "node/test_hosts.h"

namespace banyan::node {
namespace {

/// Questions about a session whose worker holds a folder.
class Removals : public testing::Test {
 protected:
  Removals() {
    cluster.open();
    cluster.execute("c1", "d=1", {1}, {"h1"});
    EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
    cluster.removals_ = {{.name = "d", .path = "/tmp/folder"}};
  }
  SessionAnswer ask(const std::string& question, const char* host = "h1") {
    const std::string id = "q" + std::to_string(++asked);
    cluster.send({host}, AskSession{kSession, id, question});
    EXPECT_TRUE(cluster.run_until([&] { return cluster.session_answers_.contains(id); }, 20s));
    return cluster.session_answers_[id];
  }
  bool holds() { return cluster.hosts_[{"h1"}].workers.begin()->second.variables.contains("d"); }

  TestHosts cluster;
  int asked = 0;
};

TEST_F(Removals, AFolderThatWouldGoFromTheDiskIsNamedAndNothingIsDone) {
  for (const char* question : {R"({"do":"undo"})", R"({"do":"checkout","at":"ROOT"})"}) {
    const SessionAnswer said = ask(question);
    EXPECT_EQ(said.refused, ErrorKind::kDenied);
    EXPECT_NE(said.reason.find("/tmp/folder"), std::string::npos) << said.reason;
  }
  EXPECT_EQ(ask(R"({"do":"log"})").refused, std::nullopt) << "that moves nothing";
  EXPECT_TRUE(holds());
}

TEST_F(Removals, WhoForcesItIsToldWhatGoes) {
  const SessionAnswer said = ask(R"({"do":"undo","force":true})");
  EXPECT_EQ(said.refused, std::nullopt) << said.reason;
  EXPECT_NE(said.content.find(R"("removes":[{"name":"d","path":"/tmp/folder"}])"), std::string::npos);
  EXPECT_TRUE(cluster.run_until([&] { return !holds(); }));
}

TEST_F(Removals, WithoutAnyTheAnswerSaysSo) {
  cluster.removals_.clear();
  EXPECT_NE(ask(R"({"do":"undo"})").content.find(R"("removes":[])"), std::string::npos);
}

TEST_F(Removals, AWorkerThatDoesNotSayIsNotTakenForOneThatHoldsNothing) {
  cluster.removals_are_said_ = false;
  EXPECT_EQ(ask(R"({"do":"undo"})").refused, ErrorKind::kUnavailable);
  EXPECT_TRUE(holds());
  EXPECT_EQ(ask(R"({"do":"undo","force":true})").refused, std::nullopt);
}

TEST_F(Removals, AWorkerThatDiesMeanwhileEndsTheQuestion) {
  cluster.removals_are_said_ = false;
  cluster.send({"h1"}, AskSession{kSession, "q", R"({"do":"undo"})"});
  cluster.run_until([] { return false; }, 300ms);
  cluster.lose_worker({"h1"});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.session_answers_.contains("q"); }, 2s));
  EXPECT_EQ(cluster.session_answers_["q"].refused, ErrorKind::kUnavailable);
}

TEST_F(Removals, ACellThatBeganMeanwhileComesFirst) {
  cluster.removals_are_said_ = false;
  cluster.send({"h1"}, AskSession{kSession, "q", R"({"do":"undo","force":true})"});
  cluster.run_until([] { return false; }, 300ms);
  cluster.execute("c2", "e=2", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  ASSERT_TRUE(cluster.run_until([&] { return cluster.session_answers_.contains("q"); }, 20s));
  EXPECT_TRUE(holds()) << "the undo is of the last cell then";
}

}  // namespace
}  // namespace banyan::node
