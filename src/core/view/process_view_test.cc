#include "core/view/process_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace banyan::view {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const ReplicaId kHere{1};

/// A new process of a session in which cells have run elsewhere.
class ProcessViews : public ::testing::Test {
 protected:
  /// A cell ends with these values, which have bytes.
  CommitId commit(const std::vector<std::string>& names) {
    session::Delta delta;
    for (const std::string& name : names) delta.changed.push_back(value(name));
    return end(std::move(delta));
  }
  /// A cell ends with a live object, which has no bytes and shares objects with others.
  CommitId commit_live(const std::string& name, session::Footprint footprint = {}) {
    return end({.failed = {name}, .footprint = std::move(footprint)});
  }
  /// A cell ends with a live object that shares no objects with others.
  CommitId commit_alone(const std::string& name) { return end({.failed = {name}, .alone = {name}}); }
  static session::CoVariable value(const std::string& name) {
    const std::string bytes = "value of " + name;
    return {.names = {name}, .blocks = {{digest_of(bytes), bytes.size(), Blob(bytes)}}, .parts = {1}};
  }
  CommitId end(session::Delta delta) {
    const ExecutionId cell{"c" + std::to_string(++cells_)};
    session_.apply(session::Propose{.execution = cell, .replica = kHere});
    session::Commit ending{.execution = cell, .epoch = session_.epoch()};
    ending.delta = std::move(delta);
    session_.apply(std::move(ending));
    return session_.last();
  }
  CoVariableId at_head(const std::string& name) { return session_.view().at(name); }

  Standing standing() {
    return {.session = session_,
            .refused = refused_,
            .gpus = gpus_,
            .runs_cells = runs_cells_,
            .reads = reads_,
            .reads_all = reads_all_};
  }
  ProcessView::Planned plan(const std::set<CoVariableId>& made = {}) {
    view_.leave_unread(standing());
    return view_.plan(standing(), made);
  }
  /// The cell that has to run again next; 0 when none has to.
  CommitId next() { return plan().step.value_or(planner::Step{}).cell; }
  std::set<std::string> look_again() {
    return view_.look_again(standing(), {.asked = false, .here = [](const auto&) { return false; }});
  }
  std::set<std::string> look_again_for_bytes() {
    return view_.look_again(standing(), {.asked = false, .here = [](const auto&) { return true; }});
  }
  std::set<std::string> look_again_as_asked() {
    return view_.look_again(standing(), {.asked = true, .here = [](const auto&) { return false; }});
  }
  void load() { view_.on_changed(view_.behind(session_)); }
  void ran(CommitId cell) {
    view_.on_ran(cell);
    view_.on_changed(session_.tree().change(cell));
  }
  void repeated(CommitId cell, const std::vector<std::string>& made, const std::string& error = {},
                const std::vector<std::string>& changed = {}) {
    view_.on_repeated(session_, {.commit = cell, .made = made, .changed = changed, .error = error}, refused_);
  }

  Session session_{{"s"}, {.kernel_name = "python3"}, {{kHere, {"h1"}}}};
  Refused refused_;
  ProcessView view_;
  std::uint64_t gpus_ = 1;
  bool runs_cells_ = true;
  std::set<std::string> reads_;
  bool reads_all_ = false;

 private:
  int cells_ = 0;
};

// ---- what it shows

TEST_F(ProcessViews, AnEmptyProcessLoadsWhatHeadShows) {
  commit({"a"});
  commit({"b"});
  EXPECT_FALSE(view_.is_head(session_));
  EXPECT_EQ(next(), CommitId{});
  EXPECT_EQ(view_.behind(session_).bound, session_.view());
  load();
  EXPECT_TRUE(view_.is_head(session_));
  EXPECT_EQ(view_.shown(), session_.view());
}

TEST_F(ProcessViews, OnlyWhatDiffersIsLoadedAndUnbound) {
  commit({"a", "b"});
  load();
  commit({"c"});
  end({.deleted = {"b"}});
  const Change behind = view_.behind(session_);
  EXPECT_EQ(behind.bound, (View{{"c", at_head("c")}}));
  EXPECT_THAT(behind.unbound, ElementsAre("b"));
}

TEST_F(ProcessViews, AnEmptiedProcessShowsNothingAndLacksNothing) {
  commit({"a"});
  refused_[commit_live("gen")] = "it raised";
  plan();
  load();
  view_.on_emptied();
  EXPECT_THAT(view_.shown(), IsEmpty());
  EXPECT_THAT(view_.lost(), IsEmpty());
}

// ---- what only cells bring back

TEST_F(ProcessViews, ACellRunsAgainForWhatHasNoBytes) {
  const CommitId live = commit_live("gen");
  EXPECT_EQ(next(), live);
  repeated(live, {"gen"});
  EXPECT_EQ(view_.shown(), session_.view());
  EXPECT_EQ(next(), CommitId{});
  EXPECT_TRUE(view_.is_head(session_));
  EXPECT_THAT(refused_, IsEmpty());
}

TEST_F(ProcessViews, WhatTheCellReadIsLoadedFirst) {
  commit({"a"});
  const CoVariableId read = at_head("a");
  const CommitId live = commit_live("gen", {.reads = {"a"}});
  commit({"a"});
  const auto step = plan().step;
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->cell, live);
  EXPECT_EQ(step->load, (View{{"a", read}})) << "and not what head shows";
}

TEST_F(ProcessViews, ACellThatFailsIsRefusedAndItsValueIsLost) {
  const CommitId live = commit_live("gen");
  EXPECT_EQ(next(), live);
  repeated(live, {}, "NameError");
  EXPECT_THAT(refused_, ElementsAre(Pair(live, "NameError")));
  const ProcessView::Planned planned = plan();
  EXPECT_FALSE(planned.step.has_value());
  EXPECT_THAT(planned.without, ElementsAre(Pair("gen", "NameError")));
  EXPECT_THAT(view_.lost(), ElementsAre(Pair("gen", "NameError")));
  EXPECT_THAT(view_.behind(session_).unbound, ElementsAre("gen")) << "whatever the cell left there";
  load();
  EXPECT_TRUE(view_.is_head(session_));
  EXPECT_THAT(plan().without, IsEmpty()) << "it is known";
}

TEST_F(ProcessViews, ACellNeedNotMakeTheSameOfWhatLoads) {
  const CommitId cell = end({.changed = {value("a")}, .failed = {"gen"}});
  repeated(cell, {"gen"});
  EXPECT_THAT(refused_, IsEmpty());
  EXPECT_EQ(view_.behind(session_).bound, (View{{"a", at_head("a")}}));
  view_.on_not_loaded("a", at_head("a"));
  repeated(cell, {"gen"});
  EXPECT_THAT(refused_, ElementsAre(Pair(cell, HasSubstr("did not make the same"))));
}

/// Such as when one of them ended with an error at first, and goes further now.
TEST_F(ProcessViews, CellsThatUndoEachOtherDoNotRunAgainForEver) {
  const CommitId one = commit_live("one");
  const CommitId other = commit_live("other");
  std::vector<CommitId> ran;
  for (CommitId cell = next(); cell != CommitId{} && ran.size() < 10; cell = next()) {
    ran.push_back(cell);
    if (cell == one)
      repeated(one, {"one"}, {}, {"other"});
    else
      repeated(other, {"other"}, {}, {"one"});
  }
  EXPECT_THAT(ran, ElementsAre(one, other, one, other));
  EXPECT_THAT(view_.lost(), ElementsAre(Pair("one", HasSubstr("ran again twice"))));
  load();
  EXPECT_TRUE(view_.is_head(session_)) << "but for what is named";
}

TEST_F(ProcessViews, HowOftenACellRanAgainCountsSinceSomethingNewCame) {
  const CommitId live = commit_live("gen");
  const auto repeats = [&] {
    EXPECT_EQ(next(), live);
    repeated(live, {"gen"});
    view_.on_changed({.bound = {}, .unbound = {"gen"}});
  };
  const std::vector<std::function<void()>> events{[&] { commit({"a"}); }, [&] { view_.forget_failures(); },
                                                  [&] { view_.on_emptied(); },
                                                  [&] { look_again_as_asked(); }};
  for (const auto& something_new : events) {
    repeats();
    repeats();
    EXPECT_EQ(next(), CommitId{});
    EXPECT_THAT(view_.lost(), ElementsAre(Pair("gen", HasSubstr("ran again twice"))));
    EXPECT_THAT(refused_, IsEmpty()) << "it ended as it should";
    something_new();
    view_.look_at_all_again();
  }
  EXPECT_EQ(next(), live);
}

/// What it made the second time stays.
TEST_F(ProcessViews, WhatTheSecondTimeMadeIsThere) {
  const CommitId live = commit_live("gen");
  for (int times = 0; times < 2; ++times) repeated(live, {"gen"});
  EXPECT_EQ(next(), CommitId{});
  EXPECT_THAT(view_.lost(), IsEmpty());
  EXPECT_TRUE(view_.is_head(session_));
}

TEST_F(ProcessViews, ACellThatUsedAGpuRunsAgainOnlyWhereThereIsOne) {
  const CommitId live = commit_live("gen", {.gpus = 1});
  EXPECT_EQ(next(), live);
  gpus_ = 0;
  EXPECT_THAT(plan().without, ElementsAre(Pair("gen", HasSubstr("GPU"))));
}

TEST_F(ProcessViews, ACellThatHasBegunWorkRunsAgainOnlyInItsOwnProcess) {
  const CommitId live = commit_live("gen", {.begun = {"thread w"}});
  EXPECT_THAT(plan().without, ElementsAre(Pair("gen", HasSubstr("thread w"))));
  view_.on_ran(live);
  view_.on_ran({live.value + 1});
  EXPECT_EQ(view_.since(), live) << "it is the first";
  view_.look_at_all_again();
  EXPECT_EQ(next(), live);
  view_.on_lead_gone();
  EXPECT_FALSE(view_.since().has_value());
}

TEST_F(ProcessViews, WhatIsQuickerToMakeIsMadeIfItCanBe) {
  const CommitId cell = commit({"a"});
  const std::set<CoVariableId> made{at_head("a")};
  const auto step = plan(made).step;
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->cell, cell);
  refused_[cell] = "it raised";
  const ProcessView::Planned planned = plan(made);
  EXPECT_FALSE(planned.step.has_value());
  EXPECT_THAT(planned.without, IsEmpty()) << "it can be loaded";
  EXPECT_EQ(view_.behind(session_).bound, session_.view());
}

// ---- what is made when something reads it

TEST_F(ProcessViews, WhatSharesNothingIsUnreadUntilSomethingReadsIt) {
  const CommitId live = commit_alone("gen");
  EXPECT_EQ(next(), CommitId{});
  EXPECT_EQ(view_.unread(), session_.view());
  EXPECT_THAT(view_.lost(), IsEmpty());
  EXPECT_TRUE(view_.is_head(session_));
  EXPECT_THAT(look_again(), IsEmpty());
  reads_ = {"gen"};
  EXPECT_THAT(look_again(), ElementsAre("gen"));
  EXPECT_FALSE(view_.is_head(session_));
  EXPECT_EQ(next(), live);
  EXPECT_THAT(view_.unread(), IsEmpty());
}

TEST_F(ProcessViews, NothingIsUnreadWhenAnythingMayBeRead) {
  const CommitId live = commit_alone("gen");
  reads_all_ = true;
  EXPECT_EQ(next(), live);
}

TEST_F(ProcessViews, WhatSharesObjectsIsMadeAtOnce) {
  const CommitId live = commit_live("gen");
  EXPECT_EQ(next(), live);
  EXPECT_THAT(view_.unread(), IsEmpty());
}

TEST_F(ProcessViews, NothingIsUnreadWhileItsOwnCellsWorkInTheBackground) {
  const CommitId live = commit_alone("gen");
  const CommitId working = end({.footprint = {.work = {"thread w"}}});
  EXPECT_EQ(next(), CommitId{}) << "another process does that work";
  EXPECT_EQ(view_.unread(), session_.view());
  view_.on_ran(working);
  EXPECT_THAT(look_again(), ElementsAre("gen"));
  EXPECT_EQ(next(), live);
  view_.on_lead_gone();
  EXPECT_EQ(next(), CommitId{});
  EXPECT_EQ(view_.unread(), session_.view());
}

TEST_F(ProcessViews, AStandbyDoesWithoutWhatHasNoBytesUntilItMayRunCells) {
  const CommitId live = commit_alone("gen");
  runs_cells_ = false;
  const ProcessView::Planned planned = plan();
  EXPECT_FALSE(planned.step.has_value());
  EXPECT_THAT(planned.without, ElementsAre(Pair("gen", "it cannot be copied")));
  EXPECT_TRUE(view_.lacks_as_standby());
  EXPECT_THAT(view_.unread(), IsEmpty());
  EXPECT_THAT(view_.lost(), IsEmpty());
  EXPECT_TRUE(view_.is_head(session_));
  EXPECT_THAT(look_again(), IsEmpty());
  runs_cells_ = true;
  reads_ = {"gen"};
  EXPECT_THAT(look_again(), ElementsAre("gen"));
  EXPECT_FALSE(view_.lacks_as_standby());
  EXPECT_EQ(next(), live);
}

// ---- live objects in the place of others

TEST_F(ProcessViews, ALiveObjectStaysWhereNothingBringsBackTheNewerOne) {
  ran(commit_live("gen"));
  refused_[commit_live("gen")] = "it raised";
  plan();
  EXPECT_EQ(view_.behind(session_), Change{});
}

TEST_F(ProcessViews, AnOlderValueDoesNotPassForANewerOneThatIsUnread) {
  ran(commit_alone("gen"));
  commit_alone("gen");
  plan();
  EXPECT_THAT(view_.behind(session_).unbound, ElementsAre("gen"));
}

TEST_F(ProcessViews, AnOlderValueDoesNotPassForANewerOneWhoseBytesAreMissing) {
  ran(commit_live("gen"));
  refused_[commit({"gen"})] = "it raised";
  view_.on_no_bytes(at_head("gen"));
  plan();
  EXPECT_THAT(view_.behind(session_).unbound, ElementsAre("gen"));
}

TEST_F(ProcessViews, AValueWithBytesDoesNotStayForALiveObject) {
  ran(commit({"gen"}));
  refused_[commit_live("gen")] = "it raised";
  plan();
  EXPECT_THAT(view_.behind(session_).unbound, ElementsAre("gen"));
}

TEST_F(ProcessViews, WhatItDoesWithoutIsWantedAgainWhenACellHasBoundItAnew) {
  refused_[commit_live("gen")] = "it raised";
  plan();
  commit({"gen"});
  EXPECT_EQ(view_.behind(session_).bound, session_.view());
  EXPECT_THAT(look_again(), ElementsAre("gen"));
  EXPECT_THAT(view_.lost(), IsEmpty());
}

TEST_F(ProcessViews, WhatACellMadeAlongWithAnotherValueIsNotLost) {
  refused_[commit_live("gen")] = "it raised";
  plan();
  view_.on_changed({.bound = session_.view(), .unbound = {}});
  EXPECT_THAT(look_again(), IsEmpty()) << "it is there";
  EXPECT_THAT(view_.lost(), IsEmpty());
}

// ---- bytes that do not load

TEST_F(ProcessViews, AValueThatDoesNotLoadIsMadeByItsCell) {
  const CommitId cell = commit({"a"});
  load();
  view_.on_not_loaded("a", at_head("a"));
  EXPECT_THAT(view_.shown(), IsEmpty());
  EXPECT_EQ(next(), cell);
}

TEST_F(ProcessViews, WhatDidNotLoadIsTriedAgainWhenSomebodyAsksForSomethingNew) {
  refused_[commit({"a"})] = "it raised";
  view_.on_not_loaded("a", at_head("a"));
  EXPECT_THAT(plan().without, ElementsAre(Pair("a", "it raised")));
  EXPECT_THAT(look_again_for_bytes(), IsEmpty()) << "they were there before";
  EXPECT_THAT(look_again_as_asked(), ElementsAre("a"));
  EXPECT_EQ(view_.behind(session_).bound, session_.view());
  EXPECT_THAT(plan().without, IsEmpty());
}

TEST_F(ProcessViews, WhatIsLostIsTriedAgainWhenSomebodyAsksForSomethingNew) {
  const CommitId live = commit_live("gen");
  refused_[live] = "it raised";
  plan();
  refused_.clear();
  EXPECT_THAT(look_again(), IsEmpty());
  EXPECT_THAT(look_again_as_asked(), ElementsAre("gen"));
  EXPECT_EQ(next(), live);
}

TEST_F(ProcessViews, WhatCellsReadIsTriedAgainTooWhenSomebodyAsksForSomethingNew) {
  refused_[commit({"a"})] = "it raised";
  view_.on_not_loaded("a", at_head("a"));
  const CommitId live = commit_live("gen", {.reads = {"a"}});
  commit({"a"});
  EXPECT_THAT(plan().without, ElementsAre(Pair("gen", HasSubstr("made of 'a'"))));
  EXPECT_THAT(look_again_as_asked(), ElementsAre("gen"));
  EXPECT_EQ(next(), live);
}

TEST_F(ProcessViews, LookingAtAllAgainIsNoReasonToLoadWhatDidNotLoad) {
  refused_[commit({"a"})] = "it raised";
  view_.on_not_loaded("a", at_head("a"));
  plan();
  view_.look_at_all_again();
  EXPECT_THAT(view_.lost(), IsEmpty());
  EXPECT_THAT(plan().without, ElementsAre(Pair("a", "it raised")));
  view_.look_at_all_again();
  view_.forget_failures();
  EXPECT_THAT(plan().without, IsEmpty());
}

TEST_F(ProcessViews, WhatHasNoBytesIsTriedAgainWhenTheyAreHere) {
  refused_[commit({"a"})] = "it raised";
  view_.on_no_bytes(at_head("a"));
  plan();
  EXPECT_THAT(look_again(), IsEmpty());
  EXPECT_THAT(view_.lost(), ElementsAre(Pair("a", "it raised")));
  EXPECT_THAT(look_again_for_bytes(), ElementsAre("a"));
  EXPECT_TRUE(view_.loads(session_, at_head("a")));
}

TEST_F(ProcessViews, AValueIsTriedAgainWhenTheBytesThatItsCellReadsAreHere) {
  refused_[commit({"a"})] = "it raised";
  view_.on_no_bytes(at_head("a"));
  const CommitId live = commit_live("gen", {.reads = {"a"}});
  commit({"a"});
  EXPECT_THAT(plan().without, ElementsAre(Pair("gen", HasSubstr("made of 'a'"))));
  EXPECT_THAT(look_again(), IsEmpty());
  EXPECT_THAT(look_again_for_bytes(), ElementsAre("gen"));
  EXPECT_EQ(next(), live);
}

TEST_F(ProcessViews, WhenSomeBytesCanBeHadWhatDidNotLoadIsTriedToo) {
  refused_[commit({"a", "b"})] = "it raised";
  view_.on_not_loaded("a", at_head("a"));
  view_.on_no_bytes(at_head("b"));
  plan();
  EXPECT_THAT(look_again_for_bytes(), ElementsAre("a", "b"));
  EXPECT_TRUE(view_.loads(session_, at_head("a")));
}

TEST_F(ProcessViews, AVersionThatTheSessionHasForgottenIsNotWaitedFor) {
  session_ = Session({"s"}, {.kernel_name = "python3", .keep = {.cells = 2}}, {{kHere, {"h1"}}});
  commit({"a"});
  const CoVariableId former = at_head("a");
  view_.on_no_bytes(former);
  for (int cell = 0; cell < 3; ++cell) commit({"a"});
  ASSERT_FALSE(session_.tree().holds(former));
  EXPECT_THAT(look_again(), IsEmpty());
  EXPECT_EQ(view_.behind(session_).bound, session_.view());
}

TEST_F(ProcessViews, ALiveObjectGoesWhenHeadHasDeletedItsName) {
  ran(commit_live("gen"));
  refused_[commit_live("gen")] = "it raised";
  plan();
  end({.deleted = {"gen"}});
  EXPECT_THAT(view_.behind(session_).unbound, ElementsAre("gen"));
}

TEST_F(ProcessViews, AStandbyLoadsWhatHasBytes) {
  commit({"a"});
  commit_live("gen");
  runs_cells_ = false;
  EXPECT_THAT(plan().without, ElementsAre(Pair("gen", "it cannot be copied")));
  EXPECT_THAT(view_.behind(session_).bound, ElementsAre(Pair("a", at_head("a"))));
}

TEST_F(ProcessViews, WhatAStandbyLacksIsTriedAgainAsSoonAsItMayRunCells) {
  const CommitId live = commit_live("gen");
  runs_cells_ = false;
  plan();
  runs_cells_ = true;
  EXPECT_THAT(look_again(), ElementsAre("gen")) << "also where nothing reads it";
  EXPECT_EQ(next(), live);
}

}  // namespace
}  // namespace banyan::view
