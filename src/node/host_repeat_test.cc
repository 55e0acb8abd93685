// Values that cannot be copied: the cells that made them run again on another replica.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/codec.h"
#include "core/planner/speeds.h"
#include "core/session/questions.h"
#include "node/test_hosts.h"

namespace banyan::node {
namespace {

class Repeats : public testing::Test {
 protected:
  Repeats() { cluster.open(); }
  void run(const std::string& cell, const std::string& code, ReplicaId on = {1}) {
    cluster.execute(cell, code, on, {"h" + std::to_string(on.value)});
    ASSERT_TRUE(cluster.run_until([&] { return cluster.ended(cell); }));
    cluster.run_until([] { return false; }, 1100ms);  // a standby loads by then
  }
  std::map<std::string, std::string> shown(const std::string& host) {
    return cluster.hosts_[{host}].workers.begin()->second.variables;
  }

  TestHosts cluster;
};

TEST_F(Repeats, AStandbyDoesNotRepeatACellThatTheExecutorRan) {
  run("c1", "live=1");
  run("c2", "a=2");
  EXPECT_TRUE(cluster.repeats_.empty());
  EXPECT_FALSE(shown("h2").contains("live"));
  EXPECT_TRUE(shown("h2").contains("a"));
}

TEST_F(Repeats, WhoTakesOverRepeatsItBeforeItsFirstCell) {
  run("c1", "live=1");
  run("c2", "a=2", {2});
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
  EXPECT_EQ(shown("h2")["live"], "1");
  run("c3", "b=3", {2});
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
}

TEST_F(Repeats, AHostWithoutAGpuDoesNotRepeatACellThatUsedOne) {
  cluster.gpus_used_ = 1;
  run("c1", "live=1");
  cluster.gpus_used_ = 0;
  const session::Members more = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, more, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, more, 1});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].members == more; }));
  run("c2", "a=2", {4});
  EXPECT_TRUE(cluster.repeats_.empty());
  EXPECT_TRUE(cluster.said("its cell used a GPU, and the host has none"));
  run("c3", "b=3", {2});
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1) << "h2 has one";
}

TEST_F(Repeats, AWorkerThatIsMadeAnewRepeatsIt) {
  run("c1", "live=1");
  cluster.lose_worker({"h1"});
  cluster.run_until([] { return false; }, 1s);
  EXPECT_EQ(shown("h1")["live"], "1");
}

TEST_F(Repeats, ItLearnsApartHowLongTheCodeTakesAndSerialising) {
  cluster.serialised_us_ = {{"list", 2'000}, {"dict", 1'000'000'000}};  // the second is not true
  cluster.cell_time_ = 10ms;
  run("c1", "live=1");
  cluster.lose_worker({"h1"});
  cluster.run_until([] { return false; }, 100s);
  const auto kept = decode<planner::SpeedsRecord>(cluster.hosts_[{"h1"}].speeds);
  ASSERT_TRUE(kept);
  ASSERT_EQ(kept->run.size(), 1U);
  EXPECT_EQ(kept->run[0].units, 10'000 - 2'000);
  EXPECT_TRUE(kept->serialised.contains("list"));
  EXPECT_FALSE(kept->serialised.contains("dict")) << "longer than the cell itself";
}

TEST_F(Repeats, OfACellThatMakesSomethingElseItLearnsNothingByType) {
  cluster.serialised_us_ = {{"list", 2'000}};
  cluster.cell_time_ = 10ms;
  cluster.repeats_differ_ = true;
  run("c1", "live=1");
  cluster.lose_worker({"h1"});
  cluster.run_until([] { return false; }, 100s);
  const auto kept = decode<planner::SpeedsRecord>(cluster.hosts_[{"h1"}].speeds);
  ASSERT_TRUE(kept);
  ASSERT_EQ(kept->run.size(), 1U);
  EXPECT_EQ(kept->run[0].units, 10'000);
  EXPECT_TRUE(kept->serialised.empty());
}

TEST_F(Repeats, WhatAHostHasLearnedOfItsSpeedsOutlivesIt) {
  run("c1", "live=1");
  cluster.lose_worker({"h1"});
  cluster.run_until([] { return false; }, 100s);
  const auto& host = cluster.hosts_[{"h1"}];
  const auto samples = [&host] {
    const auto kept = decode<planner::SpeedsRecord>(host.speeds);
    return kept ? kept->run.size() : 0;
  };
  ASSERT_EQ(samples(), 1U) << "of the cell that ran again";
  const Recovered found{.replicas = {*host.replicas.find(kSession)}, .chunks = {}, .speeds = host.speeds};
  cluster.kill({"h1"});
  cluster.start({"h1"}, found);
  cluster.run_until([] { return false; }, 100s);
  EXPECT_EQ(samples(), 2U) << "it ran once more";
}

TEST_F(Repeats, ACellWithSideEffectsIsNotRepeatedAndItsValueIsNamed) {
  cluster.cells_have_effects_ = true;
  run("c1", "live=1");
  cluster.outputs_.clear();
  run("c2", "a=2", {2});
  EXPECT_TRUE(cluster.repeats_.empty());
  EXPECT_FALSE(shown("h2").contains("live"));
  ASSERT_FALSE(cluster.outputs_.empty());
  const std::string text(cluster.outputs_[0].message.content.view());
  EXPECT_NE(text.find("'live' could not be restored"), std::string::npos) << text;
  EXPECT_NE(text.find("side effects (wrote a file)"), std::string::npos) << text;
}

TEST_F(Repeats, ACellThatEndsTheProcessIsRepeatedOnce) {
  run("c1", "live=1");
  cluster.repeats_end_workers_ = true;
  run("c2", "a=2", {2});
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
  EXPECT_EQ(cluster.ended_[{"c2"}].status, session::Status::kOk);
}

TEST_F(Repeats, AValueThatDoesNotLoadIsMadeByItsCell) {
  cluster.do_not_load_ = {"a"};
  run("c1", "a=1");
  run("c2", "b=2", {2});
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
  EXPECT_EQ(shown("h2")["a"], "1");
}

TEST_F(Repeats, WhatACellReadMayNotLoadEither) {
  cluster.reads_ = {"a"};
  run("c1", "a=1");
  run("c2", "live=2");
  run("c3", "a=3");
  cluster.do_not_load_ = {"a"};
  run("c4", "b=4", {2});
  // Once more when the later a has turned out not to load: it takes the earlier one's place.
  EXPECT_EQ(cluster.repeats_,
            (std::map<CommitId, int>{{CommitId{1}, 2}, {CommitId{2}, 1}, {CommitId{3}, 1}}));
  EXPECT_EQ(shown("h2")["a"], "3");
  EXPECT_EQ(shown("h2")["live"], "2");
}

TEST_F(Repeats, OneThatComesOutDifferentlyIsMissing) {
  cluster.do_not_load_ = {"a"};
  cluster.repeats_differ_ = true;
  run("c1", "a=1");
  run("c2", "b=2", {2});
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
  EXPECT_FALSE(shown("h2").contains("a"));
}

TEST_F(Repeats, WhatAWorkerLackedIsUnboundWhenHeadHasItNoMore) {
  run("c1", "b=1");
  run("c2", "a=2");
  cluster.lacks_ = "a";
  run("c3", "a=3");
  EXPECT_EQ(shown("h2")["a"], "2");
  run("c4", "%undo=2");
  cluster.answer_late();
  cluster.run_until([] { return false; }, 1s);
  EXPECT_EQ(shown("h2"), (std::map<std::string, std::string>{{"b", "1"}}));
}

TEST_F(Repeats, AnUndoOnTheExecutorGoesBackByRepeating) {
  run("c1", "live=1");
  run("c2", "live=2");
  run("c3", "%undo=1");
  cluster.run_until([] { return false; }, 500ms);
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
  EXPECT_EQ(shown("h1")["live"], "1");
}

TEST_F(Repeats, ACellThatDoesNotEndIsGivenUp) {
  cluster.repeats_end_ = false;
  run("c1", "live=1");
  cluster.execute("c2", "a=2", {2}, {"h2"});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }, 90s));
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
}

TEST_F(Repeats, WhoWaitsForItSeesWhatForUntilTheCellBegins) {
  cluster.repeats_end_ = false;
  run("c1", "live=1");
  cluster.execute("c2", "a=2", {2}, {"h2"});
  cluster.outputs_.clear();
  cluster.run_until([] { return false; }, 5s);
  ASSERT_GT(cluster.outputs_.size(), 2U);
  const auto type_of = [](const FromKernel& output) {
    return jupyter::parse_header(output.message.header)->msg_type;
  };
  EXPECT_EQ(type_of(cluster.outputs_[0]), "display_data");
  EXPECT_EQ(type_of(cluster.outputs_[1]), "update_display_data");
  const std::string text(cluster.outputs_[0].message.content.view());
  EXPECT_NE(text.find("running cell [1] again"), std::string::npos) << text;
  cluster.outputs_.clear();
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }, 90s));
  std::erase_if(cluster.outputs_,
                [&](const auto& output) { return type_of(output) == "update_display_data"; });
  EXPECT_EQ(type_of(cluster.outputs_[0]), "clear_output");
}

TEST_F(Repeats, ACellThatOnlyWaitedHasNotRun) {
  cluster.repeats_end_ = false;
  run("c1", "live=1");
  cluster.execute("c2", "a=2", {2}, {"h2"});
  cluster.run_until([] { return false; }, 3s);
  EXPECT_TRUE(cluster.said("running cell [1] again"));
  cluster.lose_worker({"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  EXPECT_EQ(cluster.ended_[{"c2"}].status, session::Status::kOk);
}

TEST_F(Repeats, WhatAPlanNeedsMayBeForgottenMeanwhile) {
  cluster.reads_ = {"live"};
  for (int i = 1; i <= 4; ++i) run("c" + std::to_string(i), "live=" + std::to_string(i));
  cluster.repeats_end_ = false;
  cluster.execute("c5", "b=2", {2}, {"h2"});
  cluster.run_until([] { return false; }, 500ms);
  cluster.send({"h2"},
               AskSession{.session = kSession, .request = "gc", .question = R"({"do":"gc","keep":1})"});
  cluster.run_until([] { return false; }, 500ms);
  cluster.repeats_end_ = true;
  EXPECT_TRUE(cluster.run_until([&] { return cluster.ended("c5"); }, 90s));
}

TEST_F(Repeats, ACellIsNotSuspendedWithWhatItHasMadeItself) {
  run("c1", "live=1");
  run("c2", "%suspend=1");
  EXPECT_TRUE(cluster.reports_[{"h1"}][kSession].suspended) << "it is made again";
  cluster.live_beside_ = "live2";
  run("c3", "%suspend=1");
  EXPECT_TRUE(cluster.said("not suspended: it would lose 'live2'"));
  EXPECT_FALSE(cluster.reports_[{"h1"}][kSession].suspended);
}

// ---- values that are made when something reads them
// -----------------------------------------------------------------------------------------------------------

class Unread : public Repeats {
 protected:
  Unread() { cluster.alone_ = true; }
};

TEST_F(Unread, AValueIsMadeWhenACellReadsItAndNotBefore) {
  run("c1", "live=1");
  run("c2", "a=2", {2});
  EXPECT_TRUE(cluster.repeats_.empty());
  EXPECT_FALSE(shown("h2").contains("live"));
  EXPECT_FALSE(cluster.said("could not be restored"));
  ASSERT_EQ(cluster.asked_reads_.size(), 1U);
  EXPECT_EQ(cluster.asked_reads_[0], "a=2");
  cluster.cells_read_ = {"live"};
  run("c3", "b=3", {2});
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
  EXPECT_EQ(shown("h2")["live"], "1");
  run("c4", "b=4", {2});
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
  EXPECT_EQ(cluster.asked_reads_.size(), 2U) << "there is nothing left to ask for";
}

TEST_F(Unread, OnlyWhatIsReadIsMade) {
  run("c1", "live=1");
  run("c2", "live2=2");
  cluster.cells_read_ = {"live2"};
  run("c3", "b=3", {2});
  EXPECT_EQ(cluster.repeats_, (std::map<CommitId, int>{{CommitId{2}, 1}}));
}

TEST_F(Unread, WhatSharesObjectsIsMadeAtOnce) {
  cluster.alone_ = false;
  run("c1", "live=1");
  run("c2", "a=2", {2});
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
  EXPECT_TRUE(cluster.asked_reads_.empty());
}

TEST_F(Unread, AnUndoTakesTheLaterValueAway) {
  run("c1", "live=1");
  run("c2", "live=2");
  run("c3", "%undo=1");
  EXPECT_TRUE(cluster.repeats_.empty());
  EXPECT_FALSE(shown("h1").contains("live")) << "nobody may read the later one";
  cluster.cells_read_ = {"live"};
  run("c4", "b=4");
  EXPECT_EQ(cluster.repeats_, (std::map<CommitId, int>{{CommitId{1}, 1}}));
  EXPECT_EQ(shown("h1")["live"], "1");
}

TEST_F(Unread, ACellThatBindsItAnewNeedsNoOther) {
  run("c1", "live=1");
  run("c2", "live=2", {2});
  cluster.cells_read_ = {"live"};
  run("c3", "a=3", {2});
  EXPECT_TRUE(cluster.repeats_.empty());
  EXPECT_EQ(shown("h2")["live"], "2");
}

TEST_F(Unread, AWorkerThatDiesMeanwhileIsReplacedByOneThatIsAskedAgain) {
  run("c1", "live=1");
  cluster.reads_are_said_ = false;
  cluster.execute("c2", "a=2", {2}, {"h2"});
  cluster.run_until([&] { return !cluster.asked_reads_.empty(); });
  cluster.reads_are_said_ = true;
  cluster.lose_worker({"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  EXPECT_EQ(cluster.asked_reads_.size(), 2U);
}

TEST_F(Unread, WhatACellsExpressionsReadIsMadeToo) {
  run("c1", "live=1");
  cluster.execute("c2", R"(a=2","user_expressions":{"e":"live.x"},"_":")", {2}, {"h2"});
  cluster.run_until([] { return false; }, 500ms);
  EXPECT_THAT(cluster.asked_reads_, testing::ElementsAre("a=2\nlive.x"));
}

TEST_F(Unread, ACommReadsAnything) {
  run("c1", "live=1");
  run("c2", "a=2", {2});
  cluster.send({"h2"}, ToKernel{kSession, jupyter::make_message(jupyter::Channel::kShell, "comm_msg", "{}",
                                                                "{}", {"client", "m1", {}})});
  cluster.run_until([] { return false; }, 500ms);
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
}

TEST_F(Unread, WhatIsBesideTheVariablesIsMadeAtOnce) {
  cluster.live_beside_ = "<signals: SIGALRM>";
  run("c1", "b=1");
  cluster.live_beside_.clear();
  run("c2", "a=2", {2});
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
}

// ---- values that can be copied, but are quicker to make
// -----------------------------------------------------------------------------------------------------------

const std::string kLarge(20 << 20, 'x');

TEST_F(Repeats, AValueThatIsQuickerToMakeThanToLoadIsMade) {
  run("c1", "big=" + kLarge);
  run("c2", "small=2");
  cluster.lose_worker({"h1"});
  cluster.run_until([] { return false; }, 1s);
  EXPECT_EQ(cluster.repeats_, (std::map<CommitId, int>{{CommitId{1}, 1}}));
  EXPECT_EQ(shown("h1")["big"], kLarge);
  EXPECT_EQ(shown("h1")["small"], "2");
  const auto& built = cluster.reports_[{"h1"}][kSession].built;
  ASSERT_TRUE(built);
  EXPECT_EQ(built->cells, 1U);
  EXPECT_EQ(built->values, 1U) << "small, whatever the worker says of its time";
  EXPECT_EQ(built->bytes, 1U);
  EXPECT_GT(built->predicted_us, 0);
}

TEST_F(Repeats, AWorkerThatEndsTakesTheBuildOfItsViewAlong) {
  run("c1", "big=" + kLarge);
  run("c2", "small=2");
  cluster.repeats_end_ = false;
  cluster.lose_worker({"h1"});
  cluster.run_until([] { return false; }, 2s);
  ASSERT_TRUE(cluster.reports_[{"h1"}][kSession].building) << "its cell runs again, and does not end";
  cluster.workers_start_ = false;
  cluster.lose_worker({"h1"});
  cluster.run_until([] { return false; }, 2s);
  EXPECT_FALSE(cluster.reports_[{"h1"}][kSession].building) << "there is no worker";
}

TEST_F(Repeats, OneThatComesOutDifferentlyIsLoaded) {
  cluster.repeats_differ_ = true;
  run("c1", "big=" + kLarge);
  cluster.lose_worker({"h1"});
  cluster.run_until([] { return false; }, 1s);
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
  EXPECT_EQ(shown("h1")["big"], kLarge);
  run("c2", "a=2");
  EXPECT_EQ(cluster.ended_[{"c2"}].status, session::Status::kOk);
}

TEST_F(Repeats, OneWhoseCellHasSideEffectsOrThatIsAlwaysCopiedIsLoaded) {
  run("c1", "big=" + kLarge);
  cluster.cells_have_effects_ = true;
  run("c2", "other=" + kLarge);
  cluster.send({"h1"}, AskSession{.session = kSession,
                                  .request = "q",
                                  .question = R"({"do":"copy","names":"big","always":true})"});
  cluster.run_until([&] { return cluster.session_answers_.contains("q"); });
  EXPECT_FALSE(cluster.session_answers_["q"].refused) << cluster.session_answers_["q"].reason;
  cluster.lose_worker({"h1"});
  cluster.run_until([] { return false; }, 1s);
  EXPECT_TRUE(cluster.repeats_.empty());
  EXPECT_EQ(shown("h1")["big"] + shown("h1")["other"], kLarge + kLarge);
}

TEST_F(Repeats, AStandbyThatIsToTakeOverMakesItselfReady) {
  run("c1", "live=1");
  EXPECT_FALSE(shown("h2").contains("live"));
  cluster.send({"h2"}, AskSession{.session = kSession,
                                  .request = "p",
                                  .question = session::text_of(session::question::Prepare{})});
  cluster.run_until([] { return false; }, 500ms);
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1);
  EXPECT_EQ(shown("h2")["live"], "1");
  run("c2", "a=2");
  run("c3", "b=3", {2});
  EXPECT_EQ(cluster.repeats_[CommitId{1}], 1) << "it is there already";
}

// ---- warm standbys
// -----------------------------------------------------------------------------------------------------------

class Warm : public testing::Test {
 protected:
  Warm() { cluster.open({{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}}, {}, session::Standbys::kWarm); }
  void run(const std::string& cell, const std::string& code, ReplicaId on) {
    cluster.execute(cell, code, on, {"h" + std::to_string(on.value)});
    ASSERT_TRUE(cluster.run_until([&] { return cluster.ended(cell); }));
    cluster.run_until([] { return false; }, 500ms);
  }
  std::size_t workers(const std::string& host) { return cluster.hosts_[{host}].workers.size(); }

  TestHosts cluster;
};

TEST_F(Warm, OnlyTheExecutorHasAWorker) {
  run("c1", "a=1", {1});
  EXPECT_EQ(workers("h1"), 1U);
  EXPECT_EQ(workers("h2") + workers("h3"), 0U);
}

TEST_F(Warm, AStandbyMakesOneWhenItIsNeeded) {
  run("c1", "a=1", {1});
  run("c2", "b=2", {2});
  EXPECT_EQ(cluster.hosts_[{"h2"}].workers.begin()->second.variables["a"], "1");
  EXPECT_EQ(workers("h1"), 0U);
}

TEST_F(Warm, OneThatIsToTakeOverHasAWorkerForAWhile) {
  run("c1", "a=1", {1});
  cluster.send({"h2"}, AskSession{.session = kSession,
                                  .request = "p",
                                  .question = session::text_of(session::question::Prepare{})});
  cluster.run_until([] { return false; }, 500ms);
  ASSERT_EQ(workers("h2"), 1U);
  EXPECT_EQ(cluster.hosts_[{"h2"}].workers.begin()->second.variables["a"], "1");
  cluster.run_until([] { return false; }, 6s);
  EXPECT_EQ(workers("h2"), 0U);
}

TEST_F(Warm, OneTakesOverWhenTheExecutorsHostDies) {
  run("c1", "a=1", {1});
  cluster.kill({"h1"});
  cluster.run_until([] { return false; }, 4s);
  run("c2", "b=2", {3});
  EXPECT_EQ(cluster.hosts_[{"h3"}].workers.begin()->second.variables["a"], "1");
  EXPECT_EQ(workers("h2"), 0U);
}

}  // namespace
}  // namespace banyan::node
