#include "core/session/history.h"
#include "core/session/whole.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace banyan::session {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const ReplicaId kOnly{1};

CoVariable variable(std::vector<std::string> names, const std::string& bytes) {
  return {std::move(names), {{digest_of(bytes), bytes.size(), Blob(bytes)}}, {1}};
}

class HistoryTest : public testing::Test {
 protected:
  void run(const std::string& code, Delta delta = {}, std::vector<checkpoint::Action> actions = {}) {
    const ExecutionId cell{"c" + std::to_string(++cells)};
    session.apply(Propose{.execution = cell, .replica = kOnly, .code = code});
    session.apply(Commit{.execution = cell,
                         .epoch = session.epoch(),
                         .execution_count = cells,
                         .delta = std::move(delta),
                         .actions = std::move(actions),
                         .ended_at_us = 1'700'000'000'000'000});
  }
  json look(const json& question) {
    auto answer = ask(session, pending, question.dump());
    EXPECT_TRUE(answer.has_value()) << answer.error().message;
    return answer ? json::parse(answer->content) : json();
  }
  /// Asks as a cell does: the answer's actions ride in the commit.
  json act(const json& question) {
    auto answer = ask(session, {}, question.dump());
    EXPECT_TRUE(answer.has_value()) << answer.error().message;
    if (!answer) return {};
    run("%", {}, answer->actions);
    return json::parse(answer->content);
  }
  std::string error(const json& question) { return ask(session, pending, question.dump()).error().message; }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& [name, version] : session.view()) all.push_back(name);
    return all;
  }

  Session session{{"s"}, {}, {{kOnly, {"h1"}}}};
  std::vector<checkpoint::Action> pending;
  std::uint64_t cells = 0;
};

TEST_F(HistoryTest, LogListsEveryCommitNewestFirst) {
  run("a = 1", {.changed = {variable({"a"}, "1")}});
  run("print(a)");
  run("del a; g = open(…)", {.changed = {}, .deleted = {"a"}, .failed = {"g"}});
  const json log = look({{"do", "log"}, {"limit", 2}});
  EXPECT_EQ(log["more"], 1);
  EXPECT_EQ(log["branch"], "main");
  ASSERT_EQ(log["commits"].size(), 2U);
  const json& newest = log["commits"][0];
  EXPECT_EQ(newest["id"], log["head"]);
  EXPECT_EQ(newest["code"], "del a; g = open(…)");
  EXPECT_EQ(newest["deleted"], json({"a"}));
  EXPECT_EQ(newest["failed"], json({"g"}));
  EXPECT_EQ(newest["branches"], json({"main"}));
  EXPECT_THAT(newest["at"].get<std::string>(), HasSubstr("2023-11-14"));
  EXPECT_EQ(newest["parent"], log["commits"][1]["id"]);
  EXPECT_EQ(log["commits"][1]["branches"], json::array());
  EXPECT_EQ(log["commits"][1]["head"], false);
}

TEST_F(HistoryTest, UndoSkipsCellsThatChangedNothingAndRedoComesBack) {
  run("a = 1", {.changed = {variable({"a"}, "1")}});
  run("b = 2", {.changed = {variable({"b"}, "22")}});
  run("print(a)");
  const json undone = act({{"do", "undo"}});
  EXPECT_EQ(undone["commits"][0]["code"], "b = 2");
  EXPECT_EQ(undone["deletes"], json({"b"}));
  EXPECT_EQ(names(), (std::vector<std::string>{"a"}));
  act({{"do", "undo"}});
  EXPECT_TRUE(names().empty());
  EXPECT_THAT(error({{"do", "undo"}}), HasSubstr("nothing to undo"));
  const json redone = act({{"do", "redo"}, {"count", 2}});
  EXPECT_EQ(redone["restores"], json({"a", "b"}));
  EXPECT_EQ(redone["bytes"], 3);
  EXPECT_EQ(redone["branch"], "main");
  EXPECT_THAT(error({{"do", "redo"}}), HasSubstr("nothing to redo"));
  EXPECT_THAT(error({{"do", "undo"}, {"count", 3}}), HasSubstr("only 2"));
}

TEST_F(HistoryTest, WhatACellHasShownFollowsAnUndoAndIsNoStepOfItsOwn) {
  const auto shown = [](const std::string& bytes) { return variable({"<Out>"}, bytes); };
  run("a = 1", {.changed = {variable({"a"}, "1")}});
  run("a", {.changed = {shown("1")}});
  run("a = 2; a", {.changed = {variable({"a"}, "2"), shown("12")}});
  run("a", {.changed = {shown("123")}});
  const auto at_last = session.view().at("<Out>");
  const json undone = act({{"do", "undo"}});
  EXPECT_EQ(undone["commits"][0]["code"], "a = 2; a");
  EXPECT_EQ(undone["restores"], json({"a"}));
  EXPECT_EQ(session.view().at("<Out>").commit, CommitId{2});
  run("a", {.changed = {shown("again")}});  // it would begin a branch, and end the redo
  EXPECT_EQ(session.view().at("<Out>").commit, CommitId{2});
  act({{"do", "redo"}});
  EXPECT_EQ(session.view().at("<Out>"), at_last);
  EXPECT_EQ(act({{"do", "undo"}, {"count", 2}})["deletes"], json({"a"}));
  EXPECT_TRUE(names().empty());
  EXPECT_THAT(look({{"do", "state"}})["variables"], testing::IsEmpty());
}

TEST_F(HistoryTest, OneRedoTakesAWholeUndoBack) {
  for (const char* name : {"a", "b", "c"}) run(name, {.changed = {variable({name}, "1")}});
  const json undone = act({{"do", "undo"}, {"count", 2}});
  ASSERT_EQ(undone["commits"].size(), 2U);
  EXPECT_EQ(undone["commits"][0]["code"], "c");
  EXPECT_EQ(names(), (std::vector<std::string>{"a"}));
  const json redone = act({{"do", "redo"}});
  ASSERT_EQ(redone["commits"].size(), 2U);
  EXPECT_EQ(redone["commits"][0]["code"], "b") << "in the order in which they ran";
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_THAT(error({{"do", "redo"}}), HasSubstr("nothing to redo"));
}

TEST_F(HistoryTest, UndoTakesBackWhatTheLastCellDidOrSaysThatItCannot) {
  run("a = 1", {.changed = {variable({"a"}, "1")}});
  run("np.set_printoptions(precision=3)", {.changed = {variable({"<numpy.printoptions>"}, "3")}});
  run("print(a)");
  EXPECT_EQ(act({{"do", "undo"}})["commits"][0]["code"], "np.set_printoptions(precision=3)");
  EXPECT_EQ(names(), (std::vector<std::string>{"a"})) << "a cell that changed a setting is one to undo";
  act({{"do", "redo"}});
  run("write()", {.changed = {}, .footprint = {.effects = {"wrote log"}}});
  run("print(a)");
  const std::string said = error({{"do", "undo"}});
  EXPECT_THAT(said, HasSubstr("wrote log"));
  EXPECT_THAT(said, HasSubstr("%undo 2"));
  EXPECT_THAT(said, HasSubstr("the last cell changed no variable, and what else it did"));
  const json undone = act({{"do", "undo"}, {"count", 2}});
  ASSERT_EQ(undone["commits"].size(), 2U);
  EXPECT_EQ(undone["commits"][0]["code"], "write()");
  EXPECT_EQ(names(), (std::vector<std::string>{"a"}));
  run("%rerun never", {.changed = {}, .footprint = {.effects = {"its author's %rerun never"}}});
  EXPECT_EQ(look({{"do", "undo"}})["commits"][0]["code"], "a = 1") << "that one did nothing";
}

TEST_F(HistoryTest, RequestsWithoutCodeAreNoCellsToLookAt) {
  run("a = 1", {.changed = {variable({"a"}, "1")}});
  run("");
  run(" \n");
  run("a = 2", {.changed = {variable({"a"}, "22")}});
  const json log = look({{"do", "log"}});
  ASSERT_EQ(log["commits"].size(), 2U);
  EXPECT_EQ(log["commits"][0]["code"], "a = 2");
  EXPECT_EQ(log["commits"][0]["parent"], log["commits"][1]["id"]);
  EXPECT_EQ(log["more"], 0);
  run("");
  EXPECT_EQ(look({{"do", "log"}})["commits"].size(), 3U) << "head is listed, whatever it is";
  act({{"do", "undo"}});
  const json redone = act({{"do", "redo"}});
  ASSERT_EQ(redone["commits"].size(), 1U);
  EXPECT_EQ(redone["commits"][0]["code"], "a = 2");
}

TEST_F(HistoryTest, UndoStopsAtWhatIsNotKept) {
  session = Session({"s"}, {.keep = {.cells = 2}}, {{kOnly, {"h1"}}});
  for (const char* value : {"1", "2", "3", "4"})
    run(value, {.changed = {variable({"a"}, value), variable({value}, value)}, .deleted = {}, .failed = {}});
  EXPECT_THAT(error({{"do", "undo"}, {"count", 2}}), HasSubstr("1 cells can be undone"));
  act({{"do", "undo"}});
  EXPECT_EQ(names(), (std::vector<std::string>{"1", "2", "3", "a"}));
  EXPECT_THAT(error({{"do", "undo"}}), HasSubstr("not kept any more"));
  EXPECT_EQ(look({{"do", "blame"}, {"name", "a"}})["commits"].size(), 1U);
  EXPECT_THAT(error({{"do", "blame"}, {"name", "1"}}), HasSubstr("no cell"));
}

TEST_F(HistoryTest, BranchesTagsAndMessages) {
  run("a = 1", {.changed = {variable({"a"}, "1")}});
  act({{"do", "tag"}, {"name", "good"}});
  act({{"do", "describe"}, {"message", "a \"quoted\" text"}});
  run("a = 2", {.changed = {variable({"a"}, "2")}});
  act({{"do", "checkout"}, {"at", "good"}});
  run("a = 3", {.changed = {variable({"a"}, "3")}});
  const json branches = look({{"do", "branch"}})["branches"];
  ASSERT_EQ(branches.size(), 2U);
  EXPECT_EQ(branches[0]["name"], "branch-2");
  EXPECT_TRUE(branches[0]["current"].get<bool>());
  EXPECT_EQ(look({{"do", "show"}, {"at", "good"}})["commit"]["message"], "a \"quoted\" text");
  act({{"do", "branch"}, {"rename", "try"}});
  EXPECT_EQ(look({{"do", "log"}})["branch"], "try");
  EXPECT_THAT(error({{"do", "branch"}, {"drop", "try"}}), HasSubstr("current branch"));
  EXPECT_THAT(error({{"do", "checkout"}, {"at", "nowhere"}}), HasSubstr("names no commit"));
  EXPECT_THAT(error({{"do", "tag"}, {"name", "good"}}), HasSubstr("already"));
}

TEST_F(HistoryTest, WhatWasChangedBackIsNoDifference) {
  run("a, b = 1, 1", {.changed = {variable({"a"}, "1"), variable({"b"}, "1")}});
  run("a, b = 2, 2", {.changed = {variable({"a"}, "2"), variable({"b"}, "2")}});
  run("a = 1", {.changed = {variable({"a"}, "1")}});
  const json diff = look({{"do", "diff"}, {"from", "HEAD~2"}});
  ASSERT_EQ(diff["changed"].size(), 1U);
  EXPECT_EQ(diff["changed"][0]["name"], "b");
  EXPECT_EQ(look({{"do", "diff"}})["changed"].size(), 1U) << "from 2 to 1";
}

TEST_F(HistoryTest, DiffShowAndBlame) {
  run("a = b = []", {.changed = {variable({"a", "b"}, "list")}});
  run("c = 1", {.changed = {variable({"c"}, "1")}});
  run("a = 2; del c",
      {.changed = {variable({"a"}, "2"), variable({"b"}, "list")}, .deleted = {"c"}, .failed = {}});
  const json diff = look({{"do", "diff"}, {"from", "HEAD~2"}});
  EXPECT_EQ(diff["changed"].size(), 2U);
  EXPECT_EQ(diff["changed"][0], (json{{"name", "a"}, {"bytes", 1}, {"bytes_before", 4}}));
  EXPECT_TRUE(diff["deleted"].empty());
  EXPECT_EQ(look({{"do", "diff"}})["deleted"][0]["name"], "c");
  EXPECT_EQ(look({{"do", "diff"}, {"from", "ROOT"}, {"to", "HEAD~2"}})["added"].size(), 2U);
  const json shown = look({{"do", "show"}, {"at", "HEAD~2"}})["variables"];
  EXPECT_EQ(shown[0]["shares_with"], json({"b"}));
  EXPECT_EQ(look({{"do", "blame"}, {"name", "c"}})["commits"].size(), 2U);
  EXPECT_THAT(error({{"do", "blame"}, {"name", "z"}}), HasSubstr("no cell"));
  EXPECT_EQ(look({{"do", "state"}})["variables"].size(), 2U);
}

TEST_F(HistoryTest, SeveralActionsOfOneCellSeeEachOther) {
  run("a = 1", {.changed = {variable({"a"}, "1")}});
  pending = {checkpoint::MakeTag{"t", {1}}, checkpoint::Checkout{{0}}};
  EXPECT_THAT(error({{"do", "tag"}, {"name", "t"}}), HasSubstr("already"));
  EXPECT_THAT(error({{"do", "undo"}}), HasSubstr("nothing to undo"));
  EXPECT_EQ(look({{"do", "log"}})["head"], "ROOT");
}

TEST_F(HistoryTest, ARestartIsACommitAndBadQuestionsSayWhatWouldDo) {
  run("a = 1", {.changed = {variable({"a"}, "1")}});
  session.apply(Clear{1});
  EXPECT_EQ(look({{"do", "log"}})["commits"][0]["status"], "restart");
  EXPECT_THAT(error({{"do", "fly"}}), HasSubstr("it can log, show"));
  EXPECT_THAT(error({{"no", 1}}), HasSubstr("\"do\""));
  EXPECT_THAT(error({{"do", "log"}, {"limit", -1}}), HasSubstr("a number"));
  EXPECT_THAT(error({{"do", json::array()}}), HasSubstr("\"do\""));
  EXPECT_THAT(error({{"do", "describe"}, {"message", std::string(5000, 'x')}}), HasSubstr("4096 bytes"));
  EXPECT_THAT(error({{"do", "checkout"}}), HasSubstr("say what"));
  EXPECT_EQ(ask(session, {}, "[").error().kind, ErrorKind::kInvalid);
}

TEST_F(HistoryTest, GcForgetsWhatNothingLeadsTo) {
  const std::string large(100'000, 'x');
  CoVariable shared{{"a"}, {{digest_of(large), large.size(), {}}}, {1}};
  run("a = large", {.changed = {shared}});
  run("b = 2", {.changed = {variable({"b"}, "22")}});
  act({{"do", "undo"}});
  EXPECT_EQ(look({{"do", "gc"}})["forgets"].size(), 0U) << "it can be redone";
  run("c = 3", {.changed = {variable({"c"}, "333"), shared}});
  const json nothing = look({{"do", "gc"}});
  EXPECT_EQ(nothing["forgets"].size(), 0U) << "main leads to it";
  session.apply(session::Amend{.request = "r1",
                               .actions = {checkpoint::RenameBranch{"side"}, checkpoint::DropBranch{"main"}},
                               .seen = session.last(),
                               .amended = session.amended()});
  const auto gc = ask(session, {}, R"({"do":"gc"})");
  ASSERT_TRUE(gc);
  const json answer = json::parse(gc->content);
  ASSERT_EQ(answer["forgets"].size(), 1U);
  EXPECT_EQ(answer["forgets"][0]["code"], "b = 2");
  EXPECT_EQ(answer["freed"], 2);
  session.apply(session::Amend{
      .request = "r2", .actions = gc->actions, .seen = session.last(), .amended = session.amended()});
  EXPECT_EQ(session.value_bytes(), answer["bytes"].get<std::uint64_t>());
  EXPECT_EQ(look({{"do", "log"}})["commits"].size(), answer["commits"].get<std::size_t>());
}

TEST_F(HistoryTest, SaysWhichCellsRunAgainAndWhatIsLost) {
  run("a = [1]", {.changed = {variable({"a"}, "1")}});
  run("g = (x for x in a)",
      {.changed = {}, .deleted = {}, .failed = {"g"}, .footprint = {.reads = {"a"}, .effects = {}}});
  run("f = open('log', 'w')",
      {.changed = {}, .deleted = {}, .failed = {"f"}, .footprint = {.reads = {}, .effects = {"wrote log"}}});
  run("del a, f, g", {.changed = {}, .deleted = {"a", "f", "g"}, .failed = {}});
  const json undone = look({{"do", "undo"}});
  EXPECT_EQ(undone["restores"], json({"a"}));
  EXPECT_EQ(undone["recomputes"], json({"g"}));
  ASSERT_EQ(undone["repeats"].size(), 1U);
  EXPECT_EQ(undone["repeats"][0]["code"], "g = (x for x in a)");
  ASSERT_EQ(undone["lost"].size(), 1U);
  EXPECT_EQ(undone["lost"][0]["name"], "f");
  EXPECT_THAT(undone["lost"][0]["reason"].get<std::string>(), HasSubstr("side effects (wrote log)"));
  const json allowed = act({{"do", "undo"}, {"repeat", true}});
  EXPECT_TRUE(allowed["lost"].empty());
  EXPECT_EQ(allowed["repeats"][1]["effects"], json({"wrote log"}));
  EXPECT_TRUE(session.history().at(CommitId{3}).may_repeat);
  EXPECT_FALSE(look({{"do", "state"}})["variables"][1]["saved"].get<bool>());
}

TEST_F(HistoryTest, SaysWhichOfTheseWaitUntilSomethingReadsThem) {
  run("g = (x for x in a); h = lock(a); settings", {.failed = {"<set>", "g", "h"}, .alone = {"<set>", "g"}});
  run("del g, h", {.deleted = {"<set>", "g", "h"}});
  const json undone = look({{"do", "undo"}});
  EXPECT_EQ(undone["recomputes"], json({"<set>", "g", "h"}));
  EXPECT_EQ(undone["unread"], json({"g"}));
  run("Thread(target=work).start()", {.footprint = {.work = {"thread T runs work"}}});
  EXPECT_EQ(look({{"do", "undo"}, {"count", 1}})["unread"], json::array()) << "nobody knows what it reads";
}

TEST_F(HistoryTest, WhatLosesItsValueIsSaid) {
  run("a = 1; b = 1; c = 1", {.changed = {variable({"a"}, "1"), variable({"b"}, "1"), variable({"c"}, "1")}});
  run("a = 2; del b; d = 2", {.changed = {variable({"a"}, "2"), variable({"d"}, "2")}, .deleted = {"b"}});
  EXPECT_THAT(ask(session, {}, R"({"do":"undo"})")->leaves, testing::UnorderedElementsAre("a", "b", "d"));
  EXPECT_TRUE(ask(session, {}, R"({"do":"log"})")->leaves.empty());
}

TEST_F(HistoryTest, ACellThatUsedAGpuRunsAgainOnlyOnAHostWithOne) {
  run("g = on_gpu()",
      {.changed = {}, .deleted = {}, .failed = {"g"}, .footprint = {.reads = {}, .effects = {}, .gpus = 2}});
  EXPECT_EQ(look({{"do", "log"}})["commits"][0]["gpus"], 2);
  EXPECT_EQ(look({{"do", "leave"}, {"gpus", 2}})["lost"], json::array());
  EXPECT_EQ(look({{"do", "leave"}})["lost"], json::array()) << "nobody knows the host";
  const auto why = [&](int gpus) {
    const json lost = look({{"do", "leave"}, {"gpus", gpus}, {"force", true}})["lost"];
    return lost.empty() ? "" : lost[0]["reason"].get<std::string>();
  };
  EXPECT_EQ(why(0), "its cell used a GPU, and the host has none");
  EXPECT_EQ(why(1), "") << "that both were open says little";
  const question::Migrate said{.host = "h2", .without_gpu = "what the cell says"};
  EXPECT_THAT(may_leave(session, said)->without_gpu, testing::Optional(HasSubstr("and the host has none")));
  EXPECT_EQ(
      may_leave(session, {.host = "h2", .force = true, .without_gpu = "what the cell says"})->without_gpu,
      std::nullopt);
}

TEST_F(HistoryTest, WorkInTheBackgroundIsLostElsewhereAsLongAsItGoesOn) {
  const std::vector<std::string> work = {"thread T runs work"};
  run("begin()",
      {.changed = {}, .deleted = {}, .failed = {}, .footprint = {.reads = {}, .effects = {}, .work = work}});
  EXPECT_THAT(error({{"do", "suspend"}}), HasSubstr("would lose 'thread T runs work' (it goes on"));
  EXPECT_THAT(error({{"do", "leave"}}), HasSubstr("thread T"));
  EXPECT_EQ(look({{"do", "suspend"}, {"force", true}})["lost"][0]["name"], "thread T runs work");
  EXPECT_TRUE(Session::restore(session.snapshot())->work() == work)
      << "so do a host and a host that restarts";
  run(std::string(kLook));
  EXPECT_EQ(look({{"do", "leave"}})["lost"], json::array());
}

TEST_F(HistoryTest, ACellThatBeganWorkRunsAgainInItsOwnProcessOnly) {
  run("begin(); g = …", {.changed = {},
                         .deleted = {},
                         .failed = {"g"},
                         .footprint = {.reads = {}, .effects = {}, .begun = {"thread T"}}});
  run("next(g)",
      {.changed = {}, .deleted = {}, .failed = {"g"}, .footprint = {.reads = {"g"}, .effects = {}}});
  EXPECT_EQ(look({{"do", "log"}})["commits"][1]["begun"], json({"thread T"}));
  EXPECT_THAT(error({{"do", "leave"}}), HasSubstr("do twice what it has begun (thread T)"));
  EXPECT_EQ(look({{"do", "undo"}})["lost"], json::array()) << "which ends the work that is there";
  run("begin()", {.changed = {},
                  .deleted = {},
                  .failed = {},
                  .footprint = {.reads = {}, .effects = {}, .begun = {"thread U"}}});
  EXPECT_THAT(error({{"do", "undo"}}), HasSubstr("what else it did cannot be undone (began thread U)"));
}

TEST_F(HistoryTest, WhatChangedBetweenCellsIsARowAndALookThatFoundNothingIsNone) {
  run("a = 1", {.changed = {variable({"a"}, "1")}});
  run(std::string(kLook));
  run("b = 1", {.changed = {variable({"b"}, "1")}});
  EXPECT_EQ(look({{"do", "log"}})["commits"].size(), 2U);
  run(std::string(kLook), {.changed = {variable({"a"}, "22")}});
  EXPECT_EQ(look({{"do", "log"}})["commits"][0]["code"], kLook);
  EXPECT_EQ(look({{"do", "document"}})["notebook"]["cells"].size(), 2U);
}

TEST_F(HistoryTest, SpaceCountsABlockOnceForEachVariable) {
  run("a, b = …", {.changed = {variable({"a", "b"}, "12345"), variable({"c"}, "1")}});
  run("a", {.changed = {variable({"a"}, "123"), variable({"b"}, "12345")}});
  run("del c", {.changed = {}, .deleted = {"c"}});
  const json space = look({{"do", "space"}});
  const auto row = [&](std::size_t at) {
    const json& one = space["variables"][at];
    return std::tuple(one["name"].get<std::string>(), one["versions"].get<int>(), one["bytes"].get<int>(),
                      one["bytes_at_head"].get<int>());
  };
  EXPECT_EQ(row(0), std::tuple("a", 2, 8, 3));
  EXPECT_EQ(row(1), std::tuple("b", 2, 5, 5));
  EXPECT_EQ(row(2), std::tuple("c", 1, 1, 0));
  EXPECT_EQ(space["bytes"], session.value_bytes());
}

TEST_F(HistoryTest, SpaceListsTheLargestFirstAndEqualOnesByName) {
  run("…", {.changed = {variable({"b"}, "12"), variable({"a"}, "34"), variable({"d"}, "5"),
                        variable({"c"}, "678")}});
  std::string order;
  const json space = look({{"do", "space"}});
  for (const json& one : space["variables"]) order += one["name"].get<std::string>();
  EXPECT_EQ(order, "cabd");
}

TEST_F(HistoryTest, WhatWasInterruptedDoesNotRunAgain) {
  session.apply(Propose{.execution = {"c"}, .replica = kOnly, .code = "g = gen(); sleep()"});
  session.apply(Commit{.execution = {"c"},
                       .epoch = session.epoch(),
                       .status = Status::kError,
                       .reply = R"({"status":"error","ename":"KeyboardInterrupt"})",
                       .delta = {.changed = {}, .deleted = {}, .failed = {"g"}}});
  run("del g", {.changed = {}, .deleted = {"g"}});
  EXPECT_THAT(look({{"do", "undo"}})["lost"][0]["reason"].get<std::string>(), HasSubstr("interrupted"));
}

TEST_F(HistoryTest, WhoStaysCanAllowCellsToRunAgain) {
  run("f = open('log', 'w')",
      {.changed = {}, .deleted = {}, .failed = {"f"}, .footprint = {.reads = {}, .effects = {"wrote log"}}});
  act({{"do", "checkout"}, {"at", "HEAD"}, {"repeat", true}});
  EXPECT_TRUE(session.history().at(CommitId{1}).may_repeat);
}

TEST_F(HistoryTest, OutputsOfUserCodeMayBeAnything) {
  const auto odd = jupyter::make_message(jupyter::Channel::kIopub, "stream", "{}", R"({"name":1,"text":5})",
                                         {"s", "m", {}});
  session.apply(Propose{.execution = {"c"}, .replica = kOnly, .code = "odd"});
  session.apply(Commit{.execution = {"c"}, .epoch = session.epoch(), .outputs = {odd, odd}});
  EXPECT_EQ(look({{"do", "document"}})["notebook"]["cells"][0]["outputs"][0]["text"], "");
}

TEST_F(HistoryTest, ADocumentHasEachCellAsItRanLast) {
  const auto say = [](const char* type, const json& content) {
    return jupyter::make_message(jupyter::Channel::kIopub, type, "{}", content.dump(), {"s", "m", {}});
  };
  const auto cell = [&](const std::string& code, const std::string& id,
                        std::vector<jupyter::Message> outputs) {
    const ExecutionId execution{"c" + std::to_string(++cells)};
    session.apply(Propose{.execution = execution, .replica = kOnly, .code = code, .cell_id = id});
    session.apply(Commit{.execution = execution,
                         .epoch = session.epoch(),
                         .outputs = std::move(outputs),
                         .execution_count = cells,
                         .delta = {.changed = {variable({"a"}, code)}}});
  };
  cell("a = 1", "one",
       {say("stream", {{"name", "stdout"}, {"text", "x"}}), say("status", json::object()),
        say("stream", {{"name", "stdout"}, {"text", "y"}}),
        say("stream", {{"name", "stderr"}, {"text", "z"}})});
  cell("a = 2", "two", {say("execute_result", {{"data", {{"text/plain", "2"}}}, {"execution_count", 2}})});
  cell("a = 3", "one", {say("error", {{"ename", "E"}, {"evalue", "v"}, {"traceback", {"t"}}})});
  const json early = look({{"do", "document"}, {"at", "HEAD~2"}})["notebook"];
  ASSERT_EQ(early["cells"].size(), 1U);
  EXPECT_EQ(early["cells"][0]["outputs"],
            json::parse(R"([{"output_type":"stream","name":"stdout","text":"xy"},
                            {"output_type":"stream","name":"stderr","text":"z"}])"));
  const json now = look({{"do", "document"}})["notebook"];
  ASSERT_EQ(now["cells"].size(), 2U);
  EXPECT_EQ(now["cells"][0]["source"], "a = 3");
  EXPECT_EQ(now["cells"][0]["outputs"][0]["ename"], "E");
  EXPECT_EQ(now["cells"][1]["id"], "two");
  EXPECT_EQ(now["cells"][1]["outputs"][0],
            json::parse(R"({"output_type":"execute_result","data":{"text/plain":"2"},"metadata":{},
                            "execution_count":2})"));
  EXPECT_EQ(now["nbformat"], 4);
  EXPECT_EQ(now["nbformat_minor"], 5);
  EXPECT_THAT(error({{"do", "document"}, {"at", "nowhere"}}), HasSubstr("nowhere"));
}

TEST_F(HistoryTest, GcKeepsTheNewestAndWhatHasAName) {
  for (int i = 0; i < 6; ++i)
    run("a", {.changed = {variable({"a"}, std::string(10, static_cast<char>('0' + i)))}});
  const auto log = look({{"do", "log"}})["commits"];
  pending = {};
  session.apply(session::Amend{.request = "r",
                               .actions = {checkpoint::MakeTag{"first", CommitId{1}}, checkpoint::Prune{2}},
                               .seen = session.last(),
                               .amended = session.amended()});
  const auto left = look({{"do", "log"}})["commits"];
  ASSERT_EQ(left.size(), 3U);
  EXPECT_EQ(left[0]["id"], log[0]["id"]);
  EXPECT_EQ(left[1]["id"], log[1]["id"]);
  EXPECT_EQ(left[2]["tags"], json({"first"}));
  EXPECT_EQ(session.value_bytes(), 30U);
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace banyan::session
