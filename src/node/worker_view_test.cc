#include "node/worker_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const ReplicaId kHere{1};
const WorkerId kWorker{7};

/// A new worker of the executor, of a session in which cells have run elsewhere.
class WorkerViews : public ::testing::Test {
 protected:
  WorkerViews() { advance(1h); }

  /// A cell ends with these values, small enough to be in the log.
  CommitId commit(const std::vector<std::string>& names, const std::string& code = "code") {
    session::Delta delta;
    for (const std::string& name : names)
      delta.changed.push_back({.names = {name}, .blocks = {block("value of " + name, true)}, .parts = {1}});
    return end(std::move(delta), code);
  }
  /// A cell ends with values that have no bytes, and share objects with others.
  CommitId commit_live(const std::vector<std::string>& names, session::Footprint footprint = {}) {
    session::Delta delta;
    delta.failed = names;
    delta.footprint = std::move(footprint);
    return end(std::move(delta), "live");
  }
  CommitId commit_large(const std::string& name) {
    session::Delta delta;
    delta.changed.push_back({.names = {name}, .blocks = {block("large " + name, false)}, .parts = {1}});
    const CommitId commit = end(std::move(delta), "large");
    sync_.fetch(standing().of_chunks);
    for (const HostEffect& effect : host_.finish()) {  // an earlier life has left nothing on the disk
      const auto* const read = std::get_if<ReadChunk>(&effect);
      if (read == nullptr) continue;
      chunks_.on_read(read->digest, std::nullopt);
      if (sync_.on_read(read->digest)) sync_.on_not_found(read->digest, standing().of_chunks);
    }
    return commit;
  }
  CommitId end(session::Delta delta, const std::string& code) {
    const ExecutionId cell{"c" + std::to_string(++cells_)};
    session_.apply(session::Propose{.execution = cell, .replica = kHere, .code = code});
    session::Commit ending{.execution = cell, .epoch = session_.epoch()};
    ending.execution_count = cells_;
    ending.runtime_us = runtime_us_;
    ending.delta = std::move(delta);
    for (const session::Event& event : session_.apply(std::move(ending)))
      if (const auto* moved = std::get_if<session::ValuesMoved>(&event)) sync_.follow(*moved, session_);
    return session_.last();
  }
  static session::Chunk block(const std::string& text, bool bytes) {
    session::Chunk chunk{.digest = digest_of(text), .size = bytes ? text.size() : 100'000};
    if (bytes) chunk.bytes = Blob(text);
    return chunk;
  }

  WorkerView::Standing standing() {
    return {.session = session_,
            .runs_cells = runs_cells_,
            .executor_is_there = true,
            .gave_at = gave_at_,
            .callback_waits = callback_waits_,
            .reads = reads_,
            .of_chunks = {.session = session_,
                          .self = kHere,
                          .leader = kHere,
                          .leaders_host = {"h1"},
                          .peers = {},
                          .has_lead = true}};
  }
  WorkerView::Next go_on() { return view_.go_on(standing()); }
  bool is_head() { return view_.is_head(session_, runs_cells_); }
  /// The worker has loaded what it was to load, but for `failed`.
  void loaded(const WorkerView::Next& next, std::vector<std::string> failed = {}) {
    ASSERT_FALSE(next.effects.empty());
    const auto& apply = std::get<ApplyToWorker>(next.effects.back());
    EXPECT_TRUE(view_.is_busy());
    EXPECT_TRUE(view_.on_applied(
        {.worker = kWorker, .commit = apply.commit, .failed = std::move(failed), .lacking = {}, .took = {}},
        session_));
  }
  /// The cell that was to run again has made these names what they were, and `error` was how it ended.
  void repeated(const WorkerView::Next& next, std::vector<std::string> made, std::string error = {}) {
    ASSERT_FALSE(next.effects.empty());
    const auto& repeat = std::get<RepeatOnWorker>(next.effects.back());
    EXPECT_TRUE(view_.is_repeating());
    WorkerRepeated event{.worker = kWorker, .commit = repeat.commit, .made = std::move(made), .changed = {}};
    event.error = std::move(error);
    EXPECT_TRUE(view_.on_repeated(event, session_));
  }
  static std::vector<std::string> names_in(const WorkerView::Next& next) {
    std::vector<std::string> names;
    for (const HostEffect& effect : next.effects)
      if (const auto* const apply = std::get_if<ApplyToWorker>(&effect))
        for (const session::CoVariable& value : apply->changed)
          names.insert(names.end(), value.names.begin(), value.names.end());
    return names;
  }
  /// Does what is to be done until the worker shows head; the cells that ran again, and what was loaded.
  void build() {
    for (int turns = 0; turns < 20; ++turns) {
      const WorkerView::Next next = go_on();
      if (next.at_head) return;
      ASSERT_FALSE(next.effects.empty());
      if (std::holds_alternative<RepeatOnWorker>(next.effects.back())) {
        const CommitId cell = std::get<RepeatOnWorker>(next.effects.back()).commit;
        ran_again_.push_back(cell);
        std::vector<std::string> made;
        for (const auto& [name, version] : session_.tree().change(cell).bound) made.push_back(name);
        repeated(next, made);
      } else {
        loaded(next);
      }
    }
    FAIL() << "it does not come to an end";
  }
  void advance(Duration time) {
    now_.mono += time;
    host_.set_now(now_);
  }

  HostContext host_{{.id = {"h1"}, .timing = {}, .sizes = {}}, Incarnation{1}, 7};
  HostSpeeds speeds_{host_};
  HostChunks chunks_{host_, speeds_, false};
  ChunkSync sync_{host_, chunks_, speeds_, {"s"}};
  ViewBuild build_{host_, {"s"}};
  WorkerView::Repeats repeats_;
  session::Session session_{{"s"}, {.kernel_name = "python3"}, {{kHere, {"h1"}}}};
  WorkerView view_{{host_, chunks_, speeds_, sync_, build_, repeats_}, kWorker};
  bool runs_cells_ = true;
  bool callback_waits_ = false;
  std::optional<Time> gave_at_;
  std::set<std::string> reads_;
  std::int64_t runtime_us_ = 1000;
  std::vector<CommitId> ran_again_;

 private:
  Now now_{};
  std::uint64_t cells_ = 0;
};

TEST_F(WorkerViews, AnEmptySessionIsShownByAnEmptyWorker) {
  EXPECT_TRUE(is_head());
  EXPECT_TRUE(go_on().at_head);
}

TEST_F(WorkerViews, LoadsWhatHeadShows) {
  commit({"a"});
  commit({"b"});
  EXPECT_FALSE(is_head());
  const WorkerView::Next next = go_on();
  EXPECT_FALSE(next.at_head);
  EXPECT_THAT(names_in(next), UnorderedElementsAre("a", "b"));
  loaded(next);
  EXPECT_TRUE(is_head());
  EXPECT_TRUE(go_on().at_head);
}

TEST_F(WorkerViews, OnlyWhatChangedIsLoaded) {
  commit({"a"});
  build();
  commit({"b"});
  EXPECT_THAT(names_in(go_on()), ElementsAre("b"));
}

TEST_F(WorkerViews, WhatHeadDoesNotHaveIsUnbound) {
  commit({"a", "b"});
  build();
  session::Delta delta;
  delta.deleted = {"a"};
  end(std::move(delta), "del a");
  const WorkerView::Next next = go_on();
  EXPECT_THAT(std::get<ApplyToWorker>(next.effects.back()).deleted, ElementsAre("a"));
  loaded(next);
  EXPECT_TRUE(is_head());
}

TEST_F(WorkerViews, ItsOwnCellsMakeItAViewOfTheirCommits) {
  const CommitId cell = commit({"a"});
  view_.on_ran(cell);
  EXPECT_EQ(view_.since(), cell);
  view_.on_committed(session_.tree().change(cell), session_.execution_count());
  EXPECT_TRUE(is_head());
  view_.on_ran(commit({"b"}));
  EXPECT_EQ(view_.since(), cell) << "it is the first";
  view_.on_lead_gone();
  EXPECT_FALSE(view_.since().has_value());
}

TEST_F(WorkerViews, AFreshWorkerIsToldTheInputHistory) {
  commit({"a"}, "a = 1");
  commit({"b"}, "b = 2");
  std::vector<std::string> told;
  for (const HostEffect& effect : go_on().effects) told.push_back(std::get<ApplyToWorker>(effect).code);
  EXPECT_THAT(told, ElementsAre("a = 1", "b = 2"));
}

TEST_F(WorkerViews, BytesThatAreNotHereAreWaitedForWhileOthersLoad) {
  commit_large("big");
  commit({"a"});
  WorkerView::Next next = go_on();
  EXPECT_TRUE(next.waits_for_bytes);
  EXPECT_THAT(names_in(next), ElementsAre("a"));
  EXPECT_EQ(next.effects.size(), 1U) << "the input history comes with the rest";
  EXPECT_EQ(std::get<ApplyToWorker>(next.effects.back()).execution_count, 0U);
  loaded(next);
  EXPECT_FALSE(is_head());
  next = go_on();
  EXPECT_TRUE(next.waits_for_bytes);
  EXPECT_THAT(next.effects, IsEmpty());
  sync_.load(digest_of("large big"), Blob(std::string(100'000, 'x')));
  next = go_on();
  EXPECT_FALSE(next.waits_for_bytes);
  EXPECT_THAT(names_in(next), ElementsAre("big"));
  loaded(next);
  EXPECT_TRUE(is_head());
}

TEST_F(WorkerViews, ACellRunsAgainForWhatHasNoBytes) {
  const CommitId live = commit_live({"gen"});
  commit({"a"});
  build();
  EXPECT_THAT(ran_again_, ElementsAre(live));
  EXPECT_TRUE(is_head());
  EXPECT_THAT(view_.take_missing(), IsEmpty());
}

TEST_F(WorkerViews, WhatTheCellReadIsLoadedFirst) {
  commit({"a"});
  session::Footprint footprint;
  footprint.reads = {"a"};
  commit_live({"gen"}, footprint);
  const WorkerView::Next next = go_on();
  EXPECT_THAT(names_in(next), ElementsAre("a"));
  loaded(next);
  EXPECT_TRUE(std::holds_alternative<RepeatOnWorker>(go_on().effects.back()));
}

TEST_F(WorkerViews, WhatSharesNothingIsMadeWhenItIsRead) {
  session::Delta delta;
  delta.failed = delta.alone = {"gen"};
  const CommitId live = end(std::move(delta), "live");
  build();
  EXPECT_THAT(ran_again_, IsEmpty());
  EXPECT_THAT(view_.unread(), ElementsAre("gen"));
  EXPECT_THAT(view_.take_missing(), IsEmpty()) << "it is not lost";
  reads_ = {"gen"};
  build();
  EXPECT_THAT(ran_again_, ElementsAre(live));
  EXPECT_THAT(view_.unread(), IsEmpty());
}

TEST_F(WorkerViews, ACallbackMayReadAnything) {
  session::Delta delta;
  delta.failed = delta.alone = {"gen"};
  const CommitId live = end(std::move(delta), "live");
  callback_waits_ = true;
  build();
  EXPECT_THAT(ran_again_, ElementsAre(live));
}

TEST_F(WorkerViews, AStandbyDoesWithoutWhatHasNoBytesAndMakesItWhenItTakesOver) {
  const CommitId live = commit_live({"gen"});
  commit({"a"});
  runs_cells_ = false;
  advance(1h);  // it need not wait for the executor
  build();
  EXPECT_TRUE(is_head());
  EXPECT_THAT(ran_again_, IsEmpty());
  runs_cells_ = true;
  EXPECT_FALSE(is_head());
  build();
  EXPECT_THAT(ran_again_, ElementsAre(live));
  EXPECT_THAT(view_.take_missing(), IsEmpty());
}

TEST_F(WorkerViews, AnEmptyStandbyWaitsBeforeItLoads) {
  commit({"a"});
  runs_cells_ = false;
  WorkerView fresh({host_, chunks_, speeds_, sync_, build_, repeats_}, kWorker);
  EXPECT_THAT(fresh.go_on(standing()).effects, IsEmpty());
  advance(host_.timing().standby_after);
  EXPECT_THAT(names_in(fresh.go_on(standing())), ElementsAre("a"));
}

TEST_F(WorkerViews, AnExecutorDoesNotWaitBeforeItLoads) {
  commit({"a"});
  WorkerView fresh({host_, chunks_, speeds_, sync_, build_, repeats_}, kWorker);
  EXPECT_THAT(names_in(fresh.go_on(standing())), ElementsAre("a"));
}

TEST_F(WorkerViews, AnExecutionCountThatIsBehindIsBroughtUp) {
  end({}, "1 + 1");
  EXPECT_FALSE(is_head());
  const WorkerView::Next next = go_on();
  ASSERT_EQ(next.effects.size(), 1U);
  EXPECT_EQ(std::get<ApplyToWorker>(next.effects.back()).code, "1 + 1");
  EXPECT_EQ(std::get<ApplyToWorker>(next.effects.back()).execution_count, 1U);
  loaded(next);
  EXPECT_TRUE(is_head());
}

TEST_F(WorkerViews, AnOlderValueDoesNotPassForANewerOneThatWaits) {
  session::Delta older, newer;
  older.failed = older.alone = newer.failed = newer.alone = {"gen"};
  const CommitId first = end(std::move(older), "gen = f()");
  view_.on_ran(first);
  view_.on_committed(session_.tree().change(first), session_.execution_count());
  ASSERT_TRUE(is_head());
  end(std::move(newer), "gen = g()");
  const WorkerView::Next next = go_on();
  ASSERT_FALSE(next.effects.empty());
  EXPECT_THAT(std::get<ApplyToWorker>(next.effects.back()).deleted, ElementsAre("gen"));
}

TEST_F(WorkerViews, ALiveObjectStaysWhereNothingBringsBackTheNewerOne) {
  const CommitId first = commit_live({"gen"});
  view_.on_ran(first);
  view_.on_committed(session_.tree().change(first), session_.execution_count());
  const CommitId second = commit_live({"gen"});
  repeats_.refused[second] = "it raised";
  const WorkerView::Next next = go_on();
  ASSERT_FALSE(next.effects.empty()) << "the execution count";
  EXPECT_THAT(std::get<ApplyToWorker>(next.effects.back()).deleted, IsEmpty());
  loaded(next);
  EXPECT_TRUE(is_head());
}

TEST_F(WorkerViews, ACellThatEndsOtherwiseIsNotRunAgainAndItsValueIsMissing) {
  const CommitId live = commit_live({"gen"});
  repeated(go_on(), {}, "NameError");
  build();
  EXPECT_THAT(view_.take_missing(), ElementsAre(Pair("gen", ::testing::HasSubstr("NameError"))));
  EXPECT_THAT(view_.take_missing(), IsEmpty()) << "each once";
  EXPECT_THAT(repeats_.refused, ElementsAre(Pair(live, "NameError")));
}

TEST_F(WorkerViews, ACellThatMakesSomethingElseIsNotRunAgain) {
  commit_live({"gen"});
  repeated(go_on(), {});
  build();
  EXPECT_THAT(view_.take_missing(), ElementsAre(Pair("gen", ::testing::HasSubstr("did not make the same"))));
}

TEST_F(WorkerViews, WhatIsMissingIsTriedAgainWhenSomebodyAmendsTheSession) {
  const CommitId live = commit_live({"gen"});
  repeated(go_on(), {}, "NameError");
  build();
  session_.apply(session::Amend{
      "q", {checkpoint::Checkout{.commit = session_.last()}}, session_.last(), session_.amended()});
  const WorkerView::Next next = go_on();
  ASSERT_FALSE(next.effects.empty());
  EXPECT_EQ(std::get<RepeatOnWorker>(next.effects.back()).commit, live);
}

TEST_F(WorkerViews, AValueThatDoesNotLoadIsMadeByItsCell) {
  const CommitId cell = commit({"a"});
  const WorkerView::Next next = go_on();
  loaded(next, {"a"});
  EXPECT_FALSE(is_head());
  EXPECT_EQ(std::get<RepeatOnWorker>(go_on().effects.back()).commit, cell);
}

TEST_F(WorkerViews, WhatTheWorkerLacksIsSentWhole) {
  commit({"a"});
  const WorkerView::Next next = go_on();
  const auto& apply = std::get<ApplyToWorker>(next.effects.back());
  view_.on_applied({.worker = kWorker, .commit = apply.commit, .failed = {}, .lacking = {"a"}, .took = {}},
                   session_);
  EXPECT_FALSE(is_head());
  EXPECT_THAT(names_in(go_on()), ElementsAre("a"));
}

TEST_F(WorkerViews, ABlockThatTheWorkerHasUnderTheNameIsNotWaitedFor) {
  commit_large("big");
  sync_.load(digest_of("large big"), Blob(std::string(100'000, 'x')));
  build();
  session::Delta delta;
  delta.changed.push_back(
      {.names = {"big"}, .blocks = {block("head of big", true), block("large big", false)}, .parts = {1, 1}});
  end(std::move(delta), "big.name = 1");
  const WorkerView::Next next = go_on();
  EXPECT_FALSE(next.waits_for_bytes);
  ASSERT_THAT(names_in(next), ElementsAre("big"));
  const auto& apply = std::get<ApplyToWorker>(next.effects.back());
  EXPECT_FALSE(apply.changed[0].blocks[1].bytes.has_value()) << "the worker has it";
}

TEST_F(WorkerViews, WhatNobodySendsIsMadeByItsCell) {
  const CommitId cell = commit_large("big");
  advance(1s);
  sync_.fetch(standing().of_chunks);
  EXPECT_TRUE(go_on().waits_for_bytes);
  advance(1min);
  const WorkerView::Next next = go_on();
  EXPECT_FALSE(next.waits_for_bytes);
  ASSERT_FALSE(next.effects.empty());
  EXPECT_EQ(std::get<RepeatOnWorker>(next.effects.back()).commit, cell);
}

TEST_F(WorkerViews, ACellThatRunsAgainDoesNotReferToBytesThatAreNotHere) {
  session::Delta delta;
  delta.changed.push_back({.names = {"big"}, .blocks = {block("large big", false)}, .parts = {1}});
  delta.failed = {"gen"};
  end(std::move(delta), "big, gen = make()");
  const auto made = [this] {
    WorkerView view({host_, chunks_, speeds_, sync_, build_, repeats_}, kWorker);
    const WorkerView::Next next = view.go_on(standing());
    const auto& makes = std::get<RepeatOnWorker>(next.effects.back()).makes;
    return *std::ranges::find(makes, std::vector<std::string>{"big"}, &session::CoVariable::names);
  };
  ASSERT_TRUE(sync_.is_missing(digest_of("large big")));
  EXPECT_FALSE(made().kept);
  chunks_.put(digest_of("large big"), Blob(std::string("large big")));
  ASSERT_TRUE(chunks_.landed(digest_of("large big")));
  ASSERT_TRUE(sync_.on_durable(digest_of("large big")));
  EXPECT_TRUE(made().kept);
}

TEST_F(WorkerViews, ACellThatRunsAgainIsAskedForTheBytesThatAreNotHere) {
  session::Delta delta;
  delta.changed.push_back({.names = {"big"}, .blocks = {block("large big", false)}, .parts = {1}});
  delta.changed.push_back({.names = {"small"}, .blocks = {block("small", true)}, .parts = {1}});
  delta.failed = {"gen"};
  end(std::move(delta), "big, small, gen = make()");
  const WorkerView::Next next = go_on();
  EXPECT_EQ(std::get<RepeatOnWorker>(next.effects.back()).wanted, std::set<Digest>{digest_of("large big")});
}

TEST_F(WorkerViews, OnlyACellThatMakesAllAgainTellsHowLongSerialisingTakes) {
  runtime_us_ = 100'000;
  session::Footprint footprint;
  footprint.serialised_us = {{"frame", 50'000}};
  const CommitId live = commit_live({"gen", "other"}, footprint);
  const auto samples_of = [&](std::vector<std::string> made, std::vector<std::string> changed = {}) {
    WorkerView view({host_, chunks_, speeds_, sync_, build_, repeats_}, kWorker);
    EXPECT_FALSE(view.go_on(standing()).effects.empty());
    advance(200ms);
    const std::uint64_t before = speeds_.now().samples();
    WorkerRepeated event{
        .worker = kWorker, .commit = live, .made = std::move(made), .changed = std::move(changed)};
    event.serialised_us = {{"frame", 60'000}};
    EXPECT_TRUE(view.on_repeated(event, session_));
    repeats_.refused.clear();
    return speeds_.now().samples() - before;
  };
  EXPECT_EQ(samples_of({"gen", "other"}), 2U) << "of the cell, and of serialising";
  EXPECT_EQ(samples_of({"gen"}), 1U);
  EXPECT_EQ(samples_of({"gen", "other"}, {"z"}), 1U) << "it made more than at first";
}

TEST_F(WorkerViews, EventsOfOtherCommitsAreNotTaken) {
  commit({"a"});
  (void)go_on();
  EXPECT_FALSE(view_.on_applied(
      {.worker = kWorker, .commit = CommitId{99}, .failed = {}, .lacking = {}, .took = {}}, session_));
  EXPECT_FALSE(view_.on_repeated({.worker = kWorker, .commit = CommitId{1}}, session_));
  EXPECT_TRUE(view_.is_busy());
}

TEST_F(WorkerViews, ACellThatRunsAgainForMuchLongerThanAtFirstIsGivenUp) {
  const CommitId live = commit_live({"gen"});
  (void)go_on();
  advance(50s);
  EXPECT_FALSE(view_.give_up_long_repeat(session_));
  advance(11s);
  EXPECT_TRUE(view_.give_up_long_repeat(session_));
  EXPECT_TRUE(repeats_.refused.contains(live));
}

TEST_F(WorkerViews, ACellThatEndsTheProcessIsNotRunAgain) {
  const CommitId live = commit_live({"gen"});
  view_.on_exited("killed");
  EXPECT_THAT(repeats_.refused, IsEmpty()) << "no cell ran again";
  (void)go_on();
  view_.on_exited("killed");
  EXPECT_THAT(repeats_.refused, ElementsAre(Pair(live, ::testing::HasSubstr("killed"))));
}

TEST_F(WorkerViews, OfManyValuesThatAreAwaitedThreeAreNamed) {
  const auto said = [this] {
    (void)go_on();
    advance(1s);
    return build_.progress()->what;
  };
  for (const char* name : {"a", "b", "<hidden>", "c"}) commit_large(name);
  EXPECT_EQ(said(), "waiting for a, b, c (0 MB)");
  for (const char* name : {"d", "e"}) commit_large(name);
  EXPECT_EQ(said(), "waiting for a, b, c and 2 more (0 MB)");
}

/// A cell that runs again reads what `a` was before a later cell made it what nothing brings back.
TEST_F(WorkerViews, AValueIsMissingAlsoWhereAnOlderOneIsLoadedForACell) {
  commit({"a"});
  session::Footprint footprint;
  footprint.reads = {"a"};
  const CommitId live = commit_live({"gen"}, footprint);
  repeats_.refused[commit_live({"a"})] = "it raised";
  const WorkerView::Next next = go_on();
  EXPECT_THAT(names_in(next), ElementsAre("a"));
  loaded(next);
  build();
  EXPECT_THAT(ran_again_, ElementsAre(live));
  EXPECT_THAT(view_.take_missing(), ElementsAre(Pair("a", "it raised")));
}

TEST_F(WorkerViews, AValueIsMissingUntilANewerOneIsLoaded) {
  commit_live({"gen"});
  repeated(go_on(), {}, "NameError");
  loaded(go_on());
  commit({"gen"});
  loaded(go_on());
  EXPECT_TRUE(is_head());
  EXPECT_THAT(view_.take_missing(), IsEmpty());
}

TEST_F(WorkerViews, HowLongAValueTookIsLearnedUnlessThatIsLongerThanAllOfThem) {
  const auto learned = [this](const std::string& name, std::int64_t took_us) {
    commit({name});
    const WorkerView::Next next = go_on();
    const CommitId commit = std::get<ApplyToWorker>(next.effects.back()).commit;
    advance(10ms);
    const std::uint64_t before = speeds_.now().samples();
    EXPECT_TRUE(view_.on_applied(
        {.worker = kWorker, .commit = commit, .failed = {}, .lacking = {}, .took = {{name, took_us}}},
        session_));
    return speeds_.now().samples() - before;
  };
  EXPECT_EQ(learned("a", 10'000), 1U);
  EXPECT_EQ(learned("b", 10'001), 0U) << "user code may have it say anything";
  EXPECT_EQ(learned("c", -1), 0U);
}

}  // namespace
}  // namespace banyan::node
