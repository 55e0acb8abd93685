#include "core/session/cells.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace banyan::session {
namespace {

using nlohmann::json;

const ReplicaId kOnly{1};

jupyter::Message output(const std::string& id, const std::string& type, const json& content) {
  jupyter::Message message;
  message.channel = jupyter::Channel::kIopub;
  message.header = json{{"msg_id", id}, {"msg_type", type}}.dump();
  message.content = Blob(content.dump());
  return message;
}

jupyter::Message print(const std::string& id, const std::string& text) {
  return output(id, "stream", {{"name", "stdout"}, {"text", text}});
}

class CellsTest : public testing::Test {
 protected:
  void start(const std::string& cell_id) {
    execution = ExecutionId{"e" + std::to_string(++runs)};
    session.apply(Propose{.execution = execution, .replica = kOnly, .code = "print()", .cell_id = cell_id});
  }
  void end(std::vector<jupyter::Message> outputs, std::uint64_t cut = 0, const std::string& reply = "{}") {
    const std::uint64_t total = outputs.size() + cut;
    session.apply(Commit{.execution = execution,
                         .epoch = session.epoch(),
                         .reply = reply,
                         .outputs = std::move(outputs),
                         .outputs_total = total,
                         .execution_count = runs,
                         .runtime_us = 2'000'000,
                         .ended_at_us = 1'700'000'000'000'000});
  }
  json cells(CommitId after = {}, const std::optional<OutputsSoFar>& so_far = std::nullopt) {
    const json answer = api::to_json(cells_of(session, after, so_far));
    EXPECT_EQ(answer["last"], session.last().value);
    return answer["cells"];
  }
  static std::string ids(const json& outputs) {
    std::string all;
    for (const json& one : outputs)
      all += one.contains("missing") ? "(" + one["missing"].dump() + ")"
                                     : one["msg_id"].get<std::string>() + " ";
    return all;
  }

  Session session{{"s"}, {}, {{kOnly, {"h1"}}}};
  ExecutionId execution;
  std::uint64_t runs = 0;
};

TEST_F(CellsTest, ACellHasHowItEndedAndItsOutputsWithTheIdsTheyHadOnTheWire) {
  start("a");
  end({output("m0", "status", json::object()), output("m1", "execute_input", json::object()),
       print("m2", "x\n"), output("m3", "comm_msg", json::object()),
       output("m4", "clear_output", {{"wait", true}}), print("m5", "y\n")});
  const json all = cells();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["cell_id"], "a");
  EXPECT_EQ(all[0]["execution"], "e1");
  EXPECT_EQ(all[0]["status"], "ok");
  EXPECT_EQ(all[0]["execution_count"], 1);
  EXPECT_EQ(all[0]["ended_at"], "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(all[0]["started_at"], "2023-11-14T22:13:18.000000Z");
  EXPECT_EQ(ids(all[0]["outputs"]), "m2 m4 m5 ") << "what a front end shows, nothing else";
  EXPECT_EQ(all[0]["outputs"][0]["content"], json({{"name", "stdout"}, {"text", "x\n"}}));
  EXPECT_FALSE(all[0].contains("reason"));
}

TEST_F(CellsTest, OutputsThatNestTooDeepAreLeftOut) {
  start("a");
  jupyter::Message deep = output("m1", "display_data", {});
  constexpr std::size_t kDeep = 1'000'000;
  deep.content = Blob(R"({"data":)" + std::string(kDeep, '[') + std::string(kDeep, ']') + "}");
  end({deep, print("m2", "x")});
  EXPECT_EQ(ids(cells()[0]["outputs"]), "m2 ");
}

TEST_F(CellsTest, ACellThatWasLostSaysWhy) {
  start("a");
  session.apply(TakeOver{session.epoch(), "its host went silent"});
  const json all = cells();
  EXPECT_EQ(all[0]["status"], "lost");
  EXPECT_EQ(all[0]["reason"], "its host went silent");
}

TEST_F(CellsTest, ACellThatRanAgainHasItsLastOutputsAndTheUpdatesOfDisplaysThatItMadeBefore) {
  start("a");
  end({print("m1", "old"), output("m2", "update_display_data", {{"transient", {{"display_id", "d"}}}})});
  start("b");
  end({print("m3", "b")});
  start("a");
  end({print("m4", "new")});
  start("");
  end({print("m5", "a console's")});
  const json all = cells();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0]["replaced"], true);
  EXPECT_EQ(ids(all[0]["outputs"]), "m2 ");
  EXPECT_EQ(ids(all[1]["outputs"]), "m3 ");
  EXPECT_EQ(ids(all[2]["outputs"]), "m4 ");
}

TEST_F(CellsTest, OnlyCellsThatEndedSinceAreAnswered) {
  start("a");
  end({});
  const CommitId seen = session.last();
  EXPECT_TRUE(cells(seen).empty());
  start("b");
  end({});
  ASSERT_EQ(cells(seen).size(), 1U);
  EXPECT_EQ(cells(seen)[0]["cell_id"], "b");
}

TEST_F(CellsTest, WhatTheLogHasNotKeptIsCountedWhereItIsMissing) {
  start("a");
  end({print("m1", "x")}, 4);
  EXPECT_EQ(ids(cells()[0]["outputs"]), "m1 (4)");
}

TEST_F(CellsTest, TheCellThatRunsHasItsOutputsSoFarInsteadOfThoseOfItsLastRun) {
  start("a");
  end({print("m1", "before")});
  start("a");
  const jupyter::Message first = print("m2", "1");
  const jupyter::Message last = print("m9", "8");
  json all = cells({}, OutputsSoFar{execution, 9, {{1, &first}, {8, &last}}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["status"], "running");
  EXPECT_EQ(all[0]["execution_count"], 2);
  EXPECT_EQ(ids(all[0]["outputs"]), "m2 (6)m9 (1)");
  all = cells();
  EXPECT_EQ(all[0]["status"], "running");
  EXPECT_FALSE(all[0].contains("outputs")) << "unknown is not none";
  all = cells({}, OutputsSoFar{{"another"}, 1, {{1, &first}}});
  EXPECT_FALSE(all[0].contains("outputs"));
}

TEST_F(CellsTest, HelpThatComesWithTheReplyIsAnOutput) {
  start("a");
  end({}, 0,
      R"({"status":"ok","payload":[{"source":"set_next_input"},{"source":"page","data":{"text/plain":"Docstring"}}]})");
  const json all = cells();
  ASSERT_EQ(all[0]["outputs"].size(), 1U);
  EXPECT_EQ(all[0]["outputs"][0]["msg_type"], "display_data");
  EXPECT_EQ(all[0]["outputs"][0]["content"]["data"]["text/plain"], "Docstring");
}

TEST_F(CellsTest, OutputsThatAreNoJsonDoNotSpoilTheOthers) {
  jupyter::Message broken = print("m1", "x");
  broken.content = Blob("no JSON");
  start("a");
  end({broken, print("m2", "y")});
  EXPECT_EQ(ids(cells()[0]["outputs"]), "m2 ");
}

TEST_F(CellsTest, WhatIsNotKnownOfACellIsNotSaid) {
  start("a");
  session.apply(Commit{.execution = execution, .epoch = session.epoch()});
  const json all = cells();
  EXPECT_TRUE(all[0]["execution_count"].is_null());
  EXPECT_FALSE(all[0].contains("started_at"));
  EXPECT_FALSE(all[0].contains("ended_at"));
}

TEST_F(CellsTest, ACellKeepsItsOutputsWhileAnotherOneRuns) {
  start("a");
  end({print("m1", "x")});
  start("b");
  const json all = cells();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(ids(all[0]["outputs"]), "m1 ");
  EXPECT_EQ(all[1]["cell_id"], "b");
}

TEST_F(CellsTest, RepliesOfUserCodeMayBeAnything) {
  for (const char* reply : {"[]", "no JSON", "{}", R"({"payload":5})",
                            R"({"payload":{"a":{"source":"page"}}})", R"({"payload":[7]})"}) {
    start("a");
    end({}, 0, reply);
    EXPECT_TRUE(cells()[0]["outputs"].empty()) << reply;
    session = Session({"s"}, {}, {{kOnly, {"h1"}}});
  }
}

TEST_F(CellsTest, AMessageWithoutAHeaderOrWithOddMetadataSpoilsNothing) {
  jupyter::Message broken = print("m1", "x"), odd = print("m2", "y");
  broken.header = "no JSON";
  odd.metadata = "[]";
  start("a");
  end({broken, odd});
  EXPECT_EQ(ids(cells()[0]["outputs"]), "m2 ");
  EXPECT_EQ(cells()[0]["outputs"][0]["metadata"], json::object());
}

TEST(SessionCells, HaveWhatTheLogHasAndWhatTheGatewayKnows) {
  answer::SessionCells said;
  said.last = 7;
  said.waiting = {{"a", "e1"}};
  const json written = api::to_json(said);
  EXPECT_EQ(written["last"], 7);
  EXPECT_EQ(written["waiting"][0]["cell_id"], "a");
}

}  // namespace
}  // namespace banyan::session
