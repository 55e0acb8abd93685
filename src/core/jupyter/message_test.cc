#include "core/jupyter/message.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace banyan::jupyter {
namespace {

TEST(Message, HeaderRoundTrip) {
  const Message message =
      make_message(Channel::kIopub, "status", R"({"msg_id":"p"})", R"({"execution_state":"idle"})",
                   {"kernel", "m1", {1'700'000'000'123'456}});
  const auto header = parse_header(message.header);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->msg_id, "m1");
  EXPECT_EQ(header->msg_type, "status");
  EXPECT_EQ(header->session, "kernel");
  EXPECT_NE(message.header.find("2023-11-14T22:13:20.123456Z"), std::string::npos);
}

TEST(Message, BadHeadersAreErrors) {
  for (const char* text : {"", "[]", "{", R"({"msg_id":3})", "null"})
    EXPECT_FALSE(parse_header(text).has_value()) << text;
  EXPECT_TRUE(parse_header("{}").has_value()) << "an empty parent header is common";
}

TEST(Message, ADateMayBeANumber) {
  const auto header = parse_header(R"({"msg_id":"m1","msg_type":"kernel_info_request","date":1763703291.5})");
  ASSERT_TRUE(header.has_value()) << "jupyter_server's GatewayKernelClient sends one";
  EXPECT_EQ(header->msg_id, "m1");
}

TEST(Message, DatesBeforeTheEpochKeepTheirFraction) {
  EXPECT_EQ(iso8601({-1}), "1969-12-31T23:59:59.999999Z");
}

TEST(Message, AnObjectThatNestsTooDeepIsNone) {
  EXPECT_EQ(object_of(R"({"a":[1]})").at("a").at(0), 1);
  EXPECT_TRUE(object_of("[1]").is_null());
  EXPECT_TRUE(object_of(R"({"a":NaN})").is_null()) << "it is no JSON";
  constexpr std::size_t kDeep = 1'000'000;
  EXPECT_TRUE(object_of(R"({"a":)" + std::string(kDeep, '[') + std::string(kDeep, ']') + "}").is_null());
}

TEST(Channel, NamesAreInverse) {
  for (const Channel channel : {Channel::kShell, Channel::kControl, Channel::kIopub, Channel::kStdin})
    EXPECT_EQ(channel_of(name_of(channel)).value(), channel);
  EXPECT_FALSE(channel_of("hb").has_value());
}

}  // namespace
}  // namespace banyan::jupyter
