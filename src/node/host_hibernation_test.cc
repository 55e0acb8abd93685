// A suspended session that nobody asks: on the disks, and back when somebody does.

#include <gtest/gtest.h>

#include "node/test_hosts.h"

namespace banyan::node {
namespace {

class Hibernation : public ::testing::Test {
 protected:
  Hibernation() {
    cluster.open();
    run("c1", "x=" + std::string(100'000, 'x'));
    run("c2", "%suspend=1");
    EXPECT_TRUE(cluster.run_until([this] { return everywhere(&ReplicaReport::suspended); }));
    EXPECT_EQ(frames_in(2s), Traffic::kSome) << "heartbeats";
  }

  enum class Traffic : std::uint8_t { kNone, kSome };
  /// Whether hosts say anything of the session to each other.
  Traffic frames_in(Duration span) {
    const auto before = cluster.raft_frames_;
    cluster.run_until([] { return false; }, span);
    return cluster.raft_frames_ == before ? Traffic::kNone : Traffic::kSome;
  }
  bool everywhere(bool ReplicaReport::* what) {
    return std::ranges::all_of(std::to_array({"h1", "h2", "h3"}),
                               [&](const char* host) { return cluster.reports_[{host}][kSession].*what; });
  }
  void fall_asleep() {
    cluster.run_until([] { return false; }, Timing{}.hibernate_after + 5s);
    ASSERT_EQ(frames_in(20s), Traffic::kNone);
  }
  void run(const std::string& cell, const std::string& code, ReplicaId on = {1}) {
    cluster.execute(cell, code, on, {"h" + std::to_string(on.value)});
    ASSERT_TRUE(cluster.run_until([&] { return cluster.ended(cell); })) << cell;
  }
  std::string ask(const HostId& host, const std::string& question) {
    const std::string request = "q" + std::to_string(++questions);
    cluster.send(host, AskSession{kSession, request, question});
    cluster.run_until([&] { return cluster.session_answers_.contains(request); });
    return cluster.session_answers_[request].content;
  }

  TestHosts cluster;
  int questions = 0;
};

TEST_F(Hibernation, ASuspendedSessionGoesQuietAndAnswersWhenItIsAsked) {
  fall_asleep();
  EXPECT_EQ(cluster.loads_, 0);
  EXPECT_NE(ask({"h2"}, R"({"do":"log"})"), "") << "also while the lead goes on to the executor";
  EXPECT_EQ(cluster.loads_, 3) << "the others voted";
  EXPECT_TRUE(everywhere(&ReplicaReport::suspended)) << "a question does not resume it";
  fall_asleep();
}

TEST_F(Hibernation, TheNextCellFindsItsVariables) {
  fall_asleep();
  run("c3", "y=2", {3});
  EXPECT_TRUE(cluster.run_until([this] {
    const auto& workers = cluster.hosts_[{"h3"}].workers;
    return !workers.empty() && workers.begin()->second.variables.contains("x");
  }));
  EXPECT_EQ(cluster.starts_[{"c3"}], 1);
}

TEST_F(Hibernation, ItsValuesStayOnTheDisk) {
  fall_asleep();
  cluster.run_until([] { return false; }, 200s);  // longer than chunks stay that nobody uses
  for (const char* host : {"h1", "h2", "h3"}) EXPECT_EQ(cluster.hosts_[{host}].chunks.size(), 1U) << host;
  ask({"h1"}, R"({"do":"log"})");
  cluster.run_until([] { return false; }, 100s);
  for (const char* host : {"h1", "h2", "h3"}) EXPECT_EQ(cluster.hosts_[{host}].chunks.size(), 1U) << host;
}

TEST_F(Hibernation, AMajorityIsEnoughToComeBack) {
  fall_asleep();
  cluster.kill({"h1"});
  run("c3", "y=2", {2});
  EXPECT_EQ(cluster.starts_[{"c3"}], 1);
}

TEST_F(Hibernation, WithoutAMajorityAQuestionIsRefused) {
  fall_asleep();
  cluster.kill({"h1"});
  cluster.kill({"h2"});
  EXPECT_EQ(ask({"h3"}, R"({"do":"log"})"), "");
  EXPECT_EQ(cluster.session_answers_["q1"].refused, ErrorKind::kUnavailable);
}

TEST_F(Hibernation, WhoCannotFollowKeepsTheOthersAwakeUntilItCan) {
  cluster.cut_ = {{"h3"}};
  EXPECT_EQ((cluster.run_until([] { return false; }, 60s), frames_in(2s)), Traffic::kSome);
  cluster.cut_.clear();
  fall_asleep();
}

TEST_F(Hibernation, ASessionThatIsClosedLeavesNothing) {
  fall_asleep();
  for (const char* host : {"h1", "h2", "h3"}) cluster.send({host}, CloseReplica{kSession});
  cluster.run_until([] { return false; }, 100s);
  for (const char* host : {"h1", "h2", "h3"}) {
    EXPECT_TRUE(cluster.hosts_[{host}].replicas.all().empty()) << host;
    EXPECT_TRUE(cluster.hosts_[{host}].chunks.empty()) << host;
  }
}

TEST_F(Hibernation, ARestartedHostFindsItAgain) {
  fall_asleep();
  const Recovered found{
      .replicas = {*cluster.hosts_[{"h2"}].replicas.find(kSession)}, .chunks = {}, .speeds = {}};
  cluster.kill({"h2"});
  cluster.start({"h2"}, found);
  fall_asleep();
  run("c3", "y=2", {2});
}

}  // namespace
}  // namespace banyan::node
