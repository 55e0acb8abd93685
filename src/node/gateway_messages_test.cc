#include "node/gateway_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace banyan::node {
namespace {

using ::testing::HasSubstr;

const jupyter::Author kAuthor{"s", "id", {}};

nlohmann::json content_of(const jupyter::Message& message) {
  return nlohmann::json::parse(message.content.view());
}

TEST(GatewayMessages, ATextMemberIsFoundAndDecoded) {
  EXPECT_EQ(text_member(R"({"a":"x","b":7})", "a"), "x");
  EXPECT_EQ(text_member(R"({"a":"","b":7})", "a"), "");
  EXPECT_EQ(text_member(R"({"a":"x\ny"})", "a"), "x\ny");
  EXPECT_EQ(text_member(R"({"a":"x","b":7})", "b"), "") << "it is no text";
  EXPECT_EQ(text_member(R"({"a":77})", "a"), "");
  EXPECT_EQ(text_member(R"({"a":"x"})", "c"), "");
  EXPECT_EQ(text_member("nonsense", "a"), "");
  EXPECT_EQ(text_member("{\"a\":\"\\ud800\"}", "a"), "") << "half a character";
}

TEST(GatewayMessages, OfBrokenTextNothingGoesIntoTheLog) {
  const std::string broken = "{\"a\":\"x\",\"b\":\"\xff\"}";
  EXPECT_EQ(text_field(broken, "a"), "");
  EXPECT_EQ(text_field(R"({"a":"x"})", "a"), "x");
  EXPECT_EQ(text_field(R"({"a":7})", "a"), "");
  EXPECT_EQ(text_field(R"({"a":"x"})", "b"), "");
  EXPECT_EQ(text_field("[]", "a"), "");
}

TEST(GatewayMessages, ALiteralIsWhatStandsThere) {
  EXPECT_TRUE(is_literal(R"({"restart":true})", "restart", "true"));
  EXPECT_FALSE(is_literal(R"({"restart":false})", "restart", "true"));
  EXPECT_FALSE(is_literal(R"({"restart":"true"})", "restart", "true"));
  EXPECT_FALSE(is_literal("{}", "restart", "true"));
  EXPECT_FALSE(is_literal("nonsense", "restart", "true"));
}

TEST(GatewayMessages, TextsOfPeopleMayBeBroken) {
  EXPECT_EQ(dump({{"a", "\xff"}}), "{\"a\":\"\xEF\xBF\xBD\"}");
}

TEST(GatewayMessages, AStatusIsOneOnIopub) {
  jupyter::Message status = status_message("idle", "{}", kAuthor);
  EXPECT_TRUE(is_status(status));
  EXPECT_TRUE(is_idle(status));
  EXPECT_FALSE(is_idle(status_message("busy", "{}", kAuthor)));
  status.channel = jupyter::Channel::kShell;
  EXPECT_FALSE(is_status(status));
  EXPECT_FALSE(is_idle(status));
  jupyter::Message output = note("idle", "{}", kAuthor);
  output.content = Blob(R"({"execution_state":"idle"})");
  EXPECT_FALSE(is_status(output));
  EXPECT_FALSE(is_idle(output));
}

TEST(GatewayMessages, ANoteIsSaidOnStderr) {
  const jupyter::Message said = note("text", R"({"msg_id":"c"})", kAuthor);
  EXPECT_EQ(said.channel, jupyter::Channel::kIopub);
  EXPECT_EQ(said.parent_header, R"({"msg_id":"c"})");
  EXPECT_EQ(content_of(said), (nlohmann::json{{"name", "stderr"}, {"text", "text"}}));
}

TEST(GatewayMessages, MarksCountWhatIsMissing) {
  EXPECT_THAT(content_of(cut_mark(1, 7, "{}", kAuthor))["text"].get<std::string>(),
              HasSubstr(" 1 message (7 bytes)"));
  EXPECT_THAT(content_of(cut_mark(2, 7, "{}", kAuthor))["text"].get<std::string>(),
              HasSubstr(" 2 messages (7 bytes)"));
  EXPECT_THAT(content_of(doubt_mark(1, 7, "{}", kAuthor))["text"].get<std::string>(),
              HasSubstr(" 1 message (7 bytes)"));
  EXPECT_THAT(content_of(doubt_mark(2, 7, "{}", kAuthor))["text"].get<std::string>(),
              HasSubstr(" 2 messages (7 bytes)"));
}

TEST(GatewayMessages, AnErrorSaysItsNameAndItsText) {
  const auto output = content_of(error_output("Name", "text", "{}", kAuthor));
  EXPECT_EQ(output["ename"], "Name");
  EXPECT_EQ(output["evalue"], "text");
  EXPECT_EQ(output["traceback"], nlohmann::json::array({"Name: text"}));
  const auto reply = nlohmann::json::parse(error_content("Name", "text", 4));
  EXPECT_EQ(reply["status"], "error");
  EXPECT_EQ(reply["traceback"], nlohmann::json::array({"Name: text"}));
  EXPECT_EQ(reply["execution_count"], 4);
  EXPECT_EQ(nlohmann::json::parse(error_content("Name", "text"))["execution_count"], 0);
}

TEST(GatewayMessages, AReplyHasTheTypeOfItsRequest) {
  EXPECT_EQ(reply_type("complete_request"), "complete_reply");
  EXPECT_EQ(reply_type("_request"), "_reply");
  EXPECT_EQ(reply_type("comm_open"), "");
  EXPECT_EQ(reply_type(""), "");
}

}  // namespace
}  // namespace banyan::node
