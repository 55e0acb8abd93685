#include "node/worker_life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace banyan::node {
namespace {

using ::testing::IsEmpty;

/// The worker of the only member of a session.
class WorkerLives : public ::testing::Test {
 protected:
  WorkerLives() {
    advance(1h);
    join();
    host_.finish();
  }

  static GroupLog log_of(HostContext& host) {
    return *GroupLog::open(host, {.session = {"s"},
                                  .replica = ReplicaId{1},
                                  .spec = {.kernel_name = "python3"},
                                  .members = {{ReplicaId{1}, {"h1"}}},
                                  .origin = Origin::kFounding});
  }
  void join() {
    while (auto batch = core_.log.take()) {
      if (batch->install) core_.session = *session::Session::restore(batch->install->data);
    }
  }
  void advance(Duration time) {
    now_.mono += time;
    host_.set_now(now_);
  }
  template <class Effect>
  std::vector<Effect> done() {
    std::vector<Effect> found;
    for (HostEffect& effect : host_.finish())
      if (auto* const one = std::get_if<Effect>(&effect)) found.push_back(std::move(*one));
    return found;
  }
  void launch_ready() {
    worker_.launch(true);
    worker_.on_ready({.worker = *worker_.id(), .pid = 7});
    host_.finish();
  }
  bool ends() { return worker_.on_exited({.worker = *worker_.id(), .reason = "ended"}); }

  Now now_{};
  HostContext host_{{.id = {"h1"}, .timing = {}, .sizes = {}}, Incarnation{1}, 1};
  HostSpeeds speeds_{host_};
  HostChunks chunks_{host_, speeds_, false};
  ReplicaCore core_{.host = host_, .session_id = {"s"}, .id = ReplicaId{1}, .log = log_of(host_)};
  ChunkSync sync_{host_, chunks_, speeds_, {"s"}};
  HistoryQuestions questions_{host_, {"s"}};
  WorkerLife worker_{{core_, chunks_, speeds_, sync_, questions_}};
};

TEST_F(WorkerLives, ThereIsOneAtATime) {
  worker_.launch(false);
  EXPECT_FALSE(worker_.exists());
  worker_.launch(true);
  worker_.launch(true);
  const auto launched = done<LaunchWorker>();
  ASSERT_EQ(launched.size(), 1U);
  EXPECT_EQ(launched[0].worker, worker_.id());
  EXPECT_FALSE(worker_.is_ready());
  worker_.on_ready({.worker = *worker_.id(), .pid = 7});
  EXPECT_TRUE(worker_.is_ready());
  EXPECT_EQ(worker_.pid(), 7U);
}

TEST_F(WorkerLives, ItBeginsWithTheLibrariesOfItsValuesUnlessTheSessionWantsNone) {
  for (const bool bare : {false, true}) {
    session::Spec spec{.kernel_name = "python3"};
    if (bare) spec.env = {{"BANYAN_IMPORT_AHEAD", "0"}};
    core_.session.emplace(SessionId{"s"}, spec, session::Members{{ReplicaId{1}, {"h1"}}});
    core_.session->apply(session::Propose{.execution = {"c"}, .replica = ReplicaId{1}});
    session::Commit commit{.execution = {"c"}, .epoch = core_.session->epoch()};
    commit.delta.changed = {
        {.names = {"a"}, .blocks = {{digest_of("a"), 1, Blob("a")}}, .parts = {1}, .type = "numpy.ndarray"}};
    core_.session->apply(std::move(commit));
    worker_.launch(true);
    const auto launched = done<LaunchWorker>();
    ASSERT_EQ(launched.size(), 1U);
    EXPECT_EQ(launched[0].libraries, bare ? std::set<std::string>() : std::set<std::string>{"numpy"});
    worker_.kill();
  }
}

TEST_F(WorkerLives, BeforeItsReplicaHasJoinedItWaits) {
  core_.session.reset();
  worker_.launch(true);
  EXPECT_FALSE(worker_.exists());
  EXPECT_TRUE(worker_.is_next_due());
}

TEST_F(WorkerLives, OneThatWasReadyIsFollowedAtOnce) {
  launch_ready();
  EXPECT_TRUE(ends());
  EXPECT_FALSE(worker_.exists());
  EXPECT_EQ(worker_.last_death(), "ended");
}

TEST_F(WorkerLives, OnesThatDoNotBecomeReadyAreFollowedAfterPausesThatGrow) {
  std::vector<Duration> pauses;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(worker_.fails_to_start(), i >= 3) << i;
    worker_.launch(true);
    EXPECT_FALSE(ends());
    EXPECT_TRUE(worker_.is_next_awaited());
    const Time since = now_.mono;
    while (!worker_.is_next_due()) advance(100ms);
    pauses.push_back(now_.mono - since);
  }
  EXPECT_EQ(pauses[0], 200ms);
  EXPECT_EQ(pauses[1], 400ms);
  EXPECT_EQ(pauses.back(), 10s) << "and not longer";
  launch_ready();
  EXPECT_FALSE(worker_.fails_to_start());
  EXPECT_TRUE(ends()) << "what failed before does not count";
}

TEST_F(WorkerLives, AfterAKillTheNextOneMayComeAtOnceButNotWhereAPauseGoesOn) {
  launch_ready();
  worker_.kill();
  const auto stopped = done<StopWorker>();
  ASSERT_EQ(stopped.size(), 1U);
  EXPECT_EQ(stopped[0].how, Stop::kKill);
  EXPECT_TRUE(worker_.is_next_due());
  worker_.kill();
  EXPECT_THAT(done<StopWorker>(), IsEmpty()) << "there is none";
  worker_.expect_none();
  EXPECT_FALSE(worker_.is_next_awaited());
}

TEST_F(WorkerLives, AnInterruptThatDoesNotEndTheCellKills) {
  launch_ready();
  worker_.interrupt(5s);
  EXPECT_EQ(done<StopWorker>().at(0).how, Stop::kInterrupt);
  advance(4s);
  worker_.interrupt(5s);
  host_.finish();
  worker_.tick();
  EXPECT_THAT(done<StopWorker>(), IsEmpty());
  advance(1s);
  worker_.tick();
  ASSERT_EQ(done<StopWorker>().size(), 1U) << "a second interrupt is no delay";
  worker_.tick();
  EXPECT_THAT(done<StopWorker>(), IsEmpty()) << "once";
}

TEST_F(WorkerLives, AnInterruptThatEndsTheCellDoesNotKill) {
  launch_ready();
  worker_.interrupt(5s);
  worker_.call_off_kill();
  host_.finish();
  advance(10s);
  worker_.tick();
  EXPECT_THAT(done<StopWorker>(), IsEmpty());
}

TEST_F(WorkerLives, AnInterruptOfAProcessThatDiedDoesNotKillTheNextOne) {
  launch_ready();
  worker_.interrupt(5s);
  EXPECT_TRUE(ends());
  launch_ready();
  advance(10s);
  worker_.tick();
  EXPECT_THAT(done<StopWorker>(), IsEmpty());
}

TEST_F(WorkerLives, WhatIsOfOneProcessEndsWithIt) {
  launch_ready();
  const std::string asked = questions_.begin_of_worker(*worker_.id());
  worker_.refuse({"c"}, false);
  EXPECT_THAT(done<AnswerFence>(), IsEmpty()) << "it does not wait";
  worker_.refuse({"d"}, true);
  EXPECT_EQ(done<AnswerFence>().at(0).execution, ExecutionId{"d"});
  worker_.diverge();
  worker_.build().begin(0);
  worker_.kill();
  EXPECT_FALSE(worker_.build().under_way());
  EXPECT_FALSE(questions_.is_of_worker(asked));
  launch_ready();
  EXPECT_FALSE(worker_.has_diverged());
  EXPECT_FALSE(worker_.refuses({"c"}));
  EXPECT_FALSE(worker_.refuses({"d"}));
}

}  // namespace
}  // namespace banyan::node
