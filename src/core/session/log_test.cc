// What the answers about the history say of commits, variables and names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/session/history.h"
#include "core/session/test_session.h"

namespace banyan::session {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

class Answers : public testing::Test {
 protected:
  json look(const json& question) {
    const auto answer = ask(session, {}, question.dump());
    EXPECT_TRUE(answer.has_value()) << question << answer.error().message;
    return answer ? json::parse(answer->content) : json();
  }
  std::string error(const json& question) {
    const auto answer = ask(session, {}, question.dump());
    return answer ? "" : answer.error().message;
  }
  /// Asks outside of a cell.
  json act(const json& question) {
    const auto answer = ask(session, {}, question.dump());
    EXPECT_TRUE(answer.has_value()) << question << answer.error().message;
    session.apply(Amend{"r", answer->actions, session.last(), session.amended()});
    return json::parse(answer->content);
  }
  std::vector<std::string> codes(const json& commits) {
    std::vector<std::string> all;
    for (const json& one : commits) all.push_back(one.value("code", "ROOT"));
    return all;
  }
  /// A request without code, which changes nothing.
  void end_without_code(const std::string& cell) {
    session.apply(Propose{.execution = {cell}, .replica = kA, .code = " \n"});
    session.apply(commit(cell, session.epoch()));
  }
  Session session = fresh();
};

TEST_F(Answers, ACommitSaysAllOfItsCell) {
  session.apply(Propose{.execution = {"c"}, .replica = kA, .code = "a = f()"});
  session.apply(Commit{
      .execution = {"c"},
      .epoch = session.epoch(),
      .status = Status::kError,
      .execution_count = 4,
      .runtime_us = 2'500'000,
      .delta = {.changed = {variable({"a", "b"}, "12"), variable({std::string(checkpoint::kShown)}, "1")},
                .footprint = {.serialised_us = {{"list", 500'000}}}}});
  const json row = look({{"do", "show"}})["commit"];
  EXPECT_EQ(row["changed"], json({"a", "b"}));
  EXPECT_EQ(row["deleted"], json::array());
  EXPECT_EQ(row["status"], "error");
  EXPECT_EQ(row["count"], 4);
  EXPECT_EQ(row["runtime_s"], 2.5);
  EXPECT_EQ(row["serialised_s"], json({{"list", 0.5}}));
  EXPECT_TRUE(row["at"].is_null()) << "nobody has said when it ended";
  EXPECT_EQ(row["parent"], "ROOT");
  EXPECT_TRUE(row["message"].is_null());
}

TEST_F(Answers, TheRootIsBeforeAllCellsAndSaysNothingElse) {
  run(session, "one", {.changed = {variable({"a"}, "1")}});
  const json root = look({{"do", "show"}, {"at", "ROOT"}})["commit"];
  EXPECT_EQ(root["id"], "ROOT");
  EXPECT_FALSE(root.contains("status"));
  EXPECT_FALSE(root.contains("parent"));
  const json diff = look({{"do", "diff"}, {"to", "ROOT"}});
  EXPECT_EQ(diff["from"], "ROOT");
  EXPECT_THAT(diff["added"], IsEmpty());
}

TEST_F(Answers, AVariableSaysWhichCommitMadeItWhileThatIsKept) {
  run(session, "one", {.changed = {variable({"a"}, "1")}});
  const json made = look({{"do", "state"}})["variables"][0]["commit"];
  EXPECT_EQ(made, look({{"do", "log"}})["commits"][0]["id"]);
  run(session, "two", {.changed = {variable({"b"}, "2")}});
  act({{"do", "gc"}, {"keep", 1}});
  EXPECT_TRUE(look({{"do", "state"}})["variables"][0]["commit"].is_null());
  const json row = look({{"do", "log"}})["commits"][0];
  EXPECT_EQ(row["changed"], json({"b"})) << "and not what an earlier commit had changed";
}

TEST_F(Answers, WhatIsShownIsNoVariable) {
  run(session, "a = 1; a",
      {.changed = {variable({"a"}, "1"), variable({std::string(checkpoint::kShown)}, "1")}});
  EXPECT_EQ(look({{"do", "state"}})["variables"].size(), 1U);
}

TEST_F(Answers, ALogIsOfAllCommitsOrOfThoseUpToOne) {
  for (int n = 1; n <= 21; ++n)
    run(session, "cell " + std::to_string(n), {.changed = {variable({"a"}, std::to_string(n))}});
  const json all = look({{"do", "log"}});
  EXPECT_EQ(all["commits"].size(), 20U);
  EXPECT_EQ(all["more"], 1);
  EXPECT_EQ(look({{"do", "log"}, {"limit", 21}})["more"], 0);
  const json some = look({{"do", "log"}, {"at", "HEAD~19"}});
  EXPECT_EQ(codes(some["commits"]), (std::vector<std::string>{"cell 2", "cell 1"}));
  EXPECT_THAT(error({{"do", "log"}, {"at", "nowhere"}}), HasSubstr("nowhere"));
}

TEST_F(Answers, RequestsWithoutCodeAreListedOnlyWhereSomethingIsAboutThem) {
  run(session, "one", {.changed = {variable({"a"}, "1")}});
  for (const char* cell : {"empty", "named", "tagged", "head"}) {
    end_without_code(cell);
    if (std::string(cell) == "named") act({{"do", "describe"}, {"message", "words"}});
    if (std::string(cell) == "tagged") act({{"do", "tag"}, {"name", "here"}});
  }
  const json commits = look({{"do", "log"}})["commits"];
  ASSERT_EQ(commits.size(), 4U) << "all but the first one of them";
  EXPECT_EQ(commits[2]["message"], "words");
  EXPECT_EQ(commits[2]["parent"], commits[3]["id"]);
  EXPECT_EQ(commits[1]["tags"], json({"here"}));
  EXPECT_EQ(commits[0]["head"], true);
}

TEST_F(Answers, ACommitThatEndsABranchIsListedAlsoWithoutCode) {
  run(session, "one", {.changed = {variable({"a"}, "1")}});
  end_without_code("empty");
  act({{"do", "branch"}, {"name", "side"}});
  act({{"do", "checkout"}, {"at", "HEAD~1"}});
  EXPECT_EQ(look({{"do", "log"}})["commits"].size(), 2U);
}

TEST_F(Answers, WhatCodeOutsideOfCellsChangedIsListedWithoutCode) {
  session.apply(Propose{.execution = {"c"}, .replica = kA, .code = ""});
  session.apply(commit("c", session.epoch(), {.changed = {variable({"a"}, "1")}}));
  session.apply(Propose{.execution = {"d"}, .replica = kA, .code = ""});
  session.apply(commit("d", session.epoch(), {.deleted = {"a"}}));
  run(session, "last");
  EXPECT_EQ(look({{"do", "log"}})["commits"].size(), 3U);
}

TEST_F(Answers, ACellThatIsTooOldIsForgottenAndARestartIsNot) {
  session = fresh({.cells = 2});
  run(session, "one", {.changed = {variable({"a"}, "1")}});
  act({{"do", "tag"}, {"name", "old"}});
  for (const char* cell : {"two", "three", "four"}) run(session, cell, {.changed = {variable({"b"}, cell)}});
  EXPECT_EQ(look({{"do", "show"}, {"at", "old"}})["commit"]["status"], "forgotten");
  session.apply(Clear{1});
  EXPECT_EQ(look({{"do", "show"}})["commit"]["status"], "restart");
  Session restarted = fresh();
  restarted.apply(Clear{1});
  EXPECT_EQ(json::parse(ask(restarted, {}, R"({"do":"show"})")->content)["commit"]["status"], "restart");
}

TEST_F(Answers, BranchesAndTagsAreMadeRenamedAndDropped) {
  run(session, "one", {.changed = {variable({"a"}, "1")}});
  run(session, "two", {.changed = {variable({"a"}, "2")}});
  const json made = act({{"do", "branch"}, {"name", "side"}, {"at", "HEAD~1"}})["branches"];
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0]["current"], true);
  EXPECT_EQ(made[1]["name"], "side");
  EXPECT_EQ(made[1]["id"], look({{"do", "show"}, {"at", "HEAD~1"}})["commit"]["id"]);
  EXPECT_EQ(act({{"do", "branch"}, {"drop", "side"}})["branches"].size(), 1U);
  EXPECT_EQ(act({{"do", "branch"}, {"rename", "first"}})["branches"][0]["name"], "first");
  EXPECT_THAT(error({{"do", "branch"}, {"name", "x"}, {"at", "nowhere"}}), HasSubstr("nowhere"));
  const json tags = act({{"do", "tag"}, {"name", "t"}, {"at", "HEAD~1"}})["tags"];
  ASSERT_EQ(tags.size(), 1U);
  EXPECT_EQ(tags[0]["name"], "t");
  EXPECT_EQ(tags[0]["id"], made[1]["id"]);
  EXPECT_THAT(error({{"do", "tag"}, {"name", "u"}, {"at", "nowhere"}}), HasSubstr("nowhere"));
  EXPECT_EQ(look({{"do", "tag"}})["tags"].size(), 1U) << "to ask makes none";
  EXPECT_EQ(act({{"do", "tag"}, {"drop", "t"}})["tags"].size(), 0U);
}

TEST_F(Answers, QuestionsAboutWhatIsNotThereAreErrors) {
  run(session, "one", {.changed = {variable({"a"}, "1")}});
  for (const char* verb : {"show", "checkout", "document"})
    EXPECT_THAT(error({{"do", verb}, {"at", "nowhere"}}), HasSubstr("nowhere")) << verb;
  EXPECT_THAT(error({{"do", "diff"}, {"to", "nowhere"}}), HasSubstr("nowhere"));
  EXPECT_THAT(error({{"do", "diff"}, {"from", "nowhere"}}), HasSubstr("nowhere"));
  EXPECT_THAT(error({{"do", "blame"}, {"name", "a"}, {"at", "nowhere"}}), HasSubstr("nowhere"));
  EXPECT_THAT(error({{"do", "describe"}, {"message", "x"}, {"at", "nowhere"}}), HasSubstr("nowhere"));
}

TEST_F(Answers, AMoveSaysWhereItBeginsAndMayStayWhereItIs) {
  run(session, "one", {.changed = {variable({"a"}, "1")}});
  run(session, "two", {.changed = {variable({"a"}, "2")}, .failed = {"g"}});
  const json undone = look({{"do", "undo"}});
  EXPECT_EQ(undone["from"], look({{"do", "show"}})["commit"]["id"]);
  EXPECT_NE(undone["head"], undone["from"]);
  const json stays = look({{"do", "checkout"}, {"at", "HEAD"}});
  EXPECT_THAT(stays["repeats"], IsEmpty());
  EXPECT_EQ(ask(session, {}, R"({"do":"checkout","at":"HEAD"})")->actions.size(), 1U);
}

TEST_F(Answers, WhoStaysAndAllowsRepeatsAllowsAllThatMakeTheValuesOnceAndInOrder) {
  run(session, "one", {.changed = {variable({"a"}, "1")}});
  run(session, "two", {.failed = {"g"}, .footprint = {.reads = {"a"}}});
  run(session, "three", {.changed = {variable({"b"}, "3"), variable({"<set>"}, "s")}});
  const json stays = look({{"do", "checkout"}, {"at", "HEAD"}, {"repeat", true}});
  EXPECT_EQ(codes(stays["repeats"]), (std::vector<std::string>{"one", "two", "three"}));
  const auto actions = ask(session, {}, R"({"do":"checkout","at":"HEAD","repeat":true})")->actions;
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(std::get<checkpoint::AllowRepeat>(actions.front()).commits,
            (std::vector<CommitId>{{1}, {2}, {3}}));
}

TEST_F(Answers, OnlyWhoAsksForRepeatsAllowsThem) {
  run(session, "one", {.failed = {"g"}});
  run(session, "two", {.deleted = {"g"}});
  EXPECT_EQ(look({{"do", "undo"}})["repeats"].size(), 1U);
  EXPECT_EQ(ask(session, {}, R"({"do":"undo"})")->actions.size(), 1U);
  EXPECT_EQ(ask(session, {}, R"({"do":"undo","repeat":true})")->actions.size(), 2U);
  run(session, "three", {.changed = {variable({"a"}, "1")}});
  EXPECT_EQ(ask(session, {}, R"({"do":"undo","repeat":true})")->actions.size(), 1U) << "none runs again";
}

TEST_F(Answers, WhatAnAuthorForbidsIsNoEffectThatAnUndoNames) {
  run(session, "one", {.changed = {variable({"a"}, "1")}});
  run(session, "two", {.footprint = {.effects = {"its author's %rerun never"}}});
  EXPECT_EQ(look({{"do", "undo"}})["commits"][0]["code"], "one");
  for (const char* cell : {"three", "four"}) run(session, cell, {.footprint = {.effects = {"wrote it"}}});
  EXPECT_THAT(error({{"do", "undo"}}), HasSubstr("the last cell changed no variable, and what else it did"));
  EXPECT_THAT(
      error({{"do", "undo"}, {"count", 2}}),
      HasSubstr("the last cells changed no variable, and what else they did cannot be undone (wrote it, "
                "wrote it); %undo 3 takes"));
  EXPECT_EQ(look({{"do", "undo"}, {"count", 3}})["commits"].size(), 3U);
}

TEST_F(Answers, OfRedosThatAreTooManyTheAnswerSaysHowManyThereAre) {
  run(session, "one", {.changed = {variable({"a"}, "1")}});
  act({{"do", "undo"}});
  EXPECT_THAT(error({{"do", "redo"}, {"count", 2}}), HasSubstr("only 1 undos can be redone"));
}

TEST_F(Answers, ACollectionFreesAChunkWithItsLastValue) {
  run(session, "one", {.changed = {large({"a"}, "large"), large({"b"}, "other")}});
  run(session, "two", {.changed = {large({"a"}, "new"), large({"c"}, "large"), variable({"b"}, "1")}});
  run(session, "three", {.changed = {variable({"a"}, "22")}});
  const json gc = look({{"do", "gc"}, {"keep", 1}});
  EXPECT_EQ(gc["forgets"].size(), 2U);
  EXPECT_EQ(gc["freed"], 5 + 3) << "c still has the bytes that a had first";
  EXPECT_EQ(gc["commits"], 1);
  act({{"do", "gc"}, {"keep", 1}});
  EXPECT_EQ(session.value_bytes(), gc["bytes"].get<std::uint64_t>());
}

TEST_F(Answers, ValuesThatWereLeftBehindTakeNoSpace) {
  run(session, "one", {.changed = {variable({"a"}, "123")}});
  const auto left = Session::restore(session.snapshot_with({}));
  ASSERT_TRUE(left);
  const auto at = [&](const char* question) { return json::parse(ask(*left, {}, question)->content); };
  EXPECT_EQ(at(R"({"do":"state"})")["variables"][0]["bytes"], 0);
  EXPECT_EQ(at(R"({"do":"space"})")["variables"][0]["bytes"], 0);
}

TEST_F(Answers, ValuesWithOtherNamesOrPartsDiffer) {
  CoVariable value = variable({"a"}, "1");
  run(session, "one", {.changed = {value, variable({"b", "c"}, "2")}});
  value.parts = {1, 0};
  run(session, "two", {.changed = {value, variable({"b"}, "2")}});
  EXPECT_EQ(look({{"do", "diff"}})["changed"].size(), 2U) << "a has another part, and b shares no objects";
  run(session, "three", {.failed = {"g"}});
  run(session, "four", {.failed = {"g"}});
  EXPECT_EQ(look({{"do", "diff"}})["changed"].size(), 1U) << "nobody can compare live objects";
}

}  // namespace
}  // namespace banyan::session
