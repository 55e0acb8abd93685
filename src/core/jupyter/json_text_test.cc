#include "core/jupyter/json_text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace banyan::jupyter {
namespace {

bool is_object(const std::string& text) { return check_object(text).has_value(); }
// Whether `text` is accepted as a value.
bool is_value(const std::string& text) { return is_object("{\"v\":" + text + "}"); }

TEST(JsonText, CutsAnObjectIntoItsMembersByteForByte) {
  const auto members = members_of(R"( { "a" : [1, {"b":2}] , "c":"x\"}" ,"a":null } )");
  ASSERT_TRUE(members) << members.error().message;
  EXPECT_EQ(*members, (std::vector<JsonMember>{{"a", R"([1, {"b":2}])"}, {"c", R"("x\"}")"}, {"a", "null"}}));
  EXPECT_EQ(find_member(*members, "a"), "null") << "the last of two wins, as in Python and JavaScript";
  EXPECT_EQ(find_member(*members, "z"), "");
}

TEST(JsonText, AcceptsEveryKindOfValue) {
  for (const char* text : {"0", "-0", "10.25", "1e9", "1E-9", "-2.5e+3", "true", "false", "null", "{}", "[]",
                           "[ ]", "\"\"", R"("\u00e9\n\/")", "\"é€😀\"", "NaN", "Infinity", "-Infinity"}) {
    EXPECT_TRUE(is_value(text)) << text;
  }
}

TEST(JsonText, RefusesWhatIsNotJson) {
  for (const char* text : {"",        "01",          "1.",     ".5",  "+1",       "1e",       "-",     "tru",
                           "nul",     "[1,]",        "[1 2]",  "{,}", "{\"a\"}",  "{\"a\":}", "{a:1}", "'x'",
                           "\"\\x\"", "\"\\u12g4\"", "\"open", "]",   "\"a\nb\"", "1,2:"}) {
    EXPECT_FALSE(is_value(text)) << text;
  }
  for (const char* text : {"", " ", "[]", "1", "{} {}", "{", "}", "{}x"})
    EXPECT_FALSE(is_object(text)) << text;
  EXPECT_FALSE(is_object(std::string("{\0}", 3)));
}

TEST(JsonText, RefusesTextThatIsNotUtf8) {
  for (const char* bytes : {"\x80", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                            "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xFF"}) {
    EXPECT_FALSE(is_value("\"" + std::string(bytes) + "\""));
  }
}

TEST(JsonText, RepairsWhatIsNotUtf8) {
  const std::string fine = "plain ASCII of some length, é, €, 😀 and more";
  EXPECT_TRUE(is_utf8(fine));
  EXPECT_EQ(repair_utf8(fine), fine);
  for (std::size_t at = 0; at < 12; ++at) {
    std::string broken = "twelve bytes";
    broken[at] = '\x80';
    EXPECT_FALSE(is_utf8(broken)) << at;
    EXPECT_TRUE(is_utf8(repair_utf8(broken))) << at;
  }
  EXPECT_EQ(repair_utf8("a\xED\xA0\x80z"), "a\uFFFD\uFFFD\uFFFDz") << "a surrogate";
  EXPECT_EQ(repair_utf8("cut \xE2\x82"), "cut \uFFFD\uFFFD");
}

TEST(JsonText, BoundsTheDepth) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(is_value(nested(500)));
  EXPECT_FALSE(is_value(nested(600)));
  EXPECT_FALSE(is_object(std::string(1 << 20, '{')));
}

TEST(JsonText, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(check_object("{\"a\":1 \"b\":2}").error().message,
            "not valid JSON: a comma or the end of an object is expected at byte 7");
}

TEST(JsonText, NeverReadsBeyondATextThatWasCutAnywhere) {
  const std::string text = R"({"a":[1,-2.5e3,"é\u0041"],"b":{"c":[true,null]}})";
  ASSERT_TRUE(is_object(text));
  for (std::size_t length = 0; length < text.size(); ++length) {
    const std::string cut(text.data(), length);
    EXPECT_FALSE(is_object(cut)) << cut;
  }
  Rng random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = text;
    damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    const auto members = members_of(damaged);
    if (!members) continue;
    for (const JsonMember& member : *members) {
      ASSERT_TRUE(is_value(std::string(member.value))) << "a member of an accepted object is a value";
    }
  }
}

}  // namespace
}  // namespace banyan::jupyter
