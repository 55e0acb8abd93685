#include "core/session/questions.h"

#include <gmock/gmock.h>

namespace banyan::session {
namespace {

using ::testing::HasSubstr;

std::string complaint(std::string_view text) {
  const auto read = read_question(text);
  return read ? "" : read.error().message;
}

TEST(Questions, GoThereAndBack) {
  for (const char* text :
       {R"({"do":"log","limit":3})", R"({"do":"undo","count":2,"force":true})", R"({"do":"state"})",
        R"({"after":7,"do":"cells"})", R"({"bytes_per_s":5000000.0,"do":"export","values":"least"})",
        R"({"do":"migrate","force":false,"host":"h1"})", R"({"do":"hand_over","gpus":0,"to":4})"}) {
    const auto read = read_question(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(nlohmann::json::parse(text_of(*read)), nlohmann::json::parse(text));
  }
}

TEST(Questions, SayWhatIsWrongWithThem) {
  for (const char* text : {"", "[", "[]", "7", "{}", R"({"do":7})"})
    EXPECT_THAT(complaint(text), HasSubstr(R"({"do": "log"})")) << text;
  EXPECT_THAT(complaint(R"({"do":"fly"})"), HasSubstr("cannot 'fly'; it can log, show"));
  EXPECT_THAT(complaint(R"({"do":"fly"})"), testing::EndsWith("space, document"));
  EXPECT_EQ(complaint(R"({"do":"undo","count":0})"), "'count' must be a number, 1 or more.");
  EXPECT_EQ(complaint(R"({"do":"undo","count":"2"})"), "'count' must be a number, 1 or more.");
  EXPECT_EQ(complaint(R"({"do":"blame"})"), "'name' must be a text.");
  EXPECT_EQ(complaint(R"({"do":"show","at":{}})"), "'at' must be a text.");
  EXPECT_EQ(complaint(R"({"do":"hand_over","to":-1})"),
            "'to' must be a number from 0 on, without a fraction.");
  EXPECT_EQ(complaint(R"({"do":"undo","new":{"a":1}})"), "") << "a later version may ask for more";
}

TEST(Questions, OnlyThoseAboutTheHistoryAreReadAsSuch) {
  EXPECT_TRUE(read_history_question(R"({"do":"document"})").has_value());
  EXPECT_EQ(read_history_question(R"({"do":"undo","count":0})").error().message,
            "'count' must be a number, 1 or more.");
  for (const char* text : {R"({"do":"hand_over","to":2})", R"({"do":"suspend"})", R"({"do":"prepare"})"}) {
    ASSERT_TRUE(read_question(text).has_value());
    EXPECT_THAT(read_history_question(text).error().message, HasSubstr("; it can log, show")) << text;
  }
}

TEST(Questions, SayWhetherTheyAreForced) {
  EXPECT_TRUE(forced(question::Undo{.force = true}));
  EXPECT_FALSE(forced(question::Undo{}));
  EXPECT_FALSE(forced(question::Log{}));
}

TEST(Questions, AreDescribed) {
  api::Schemas named;
  const nlohmann::json schema = question_schema(named);
  const api::Schemas once = named;
  EXPECT_EQ(question_schema(named), schema);
  EXPECT_EQ(named, once) << "it may be asked for again";
  ASSERT_EQ(schema.at("oneOf").size(), kAboutHistory);
  EXPECT_EQ(schema.at("oneOf").front().at("$ref"), "#/components/schemas/log");
  EXPECT_EQ(schema.at("oneOf").back().at("$ref"), "#/components/schemas/document");
  ASSERT_EQ(named.size(), kDescribed);
  for (const auto& [name, described] : named) {
    EXPECT_EQ(described.at("properties").at("do").at("const"), name);
    EXPECT_THAT(described.at("required"), testing::Contains("do"));
  }
  EXPECT_TRUE(named.contains("migrate")) << "a magic asks it";
  EXPECT_FALSE(named.contains("hand_over")) << "only the gateway asks it";
  EXPECT_EQ(named.at("undo").at("properties").at("count").at("minimum"), 1);
}

}  // namespace
}  // namespace banyan::session
