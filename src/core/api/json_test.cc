#include "core/api/json.h"

#include <gmock/gmock.h>

namespace banyan::api {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Part {
  static constexpr std::string_view kName = "Part";
  std::string name;
  std::uint64_t bytes = 3;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "what it is called");
    visit("bytes", self.bytes, "");
  }
};

struct Whole {
  static constexpr std::string_view kName = "Whole";
  std::vector<Part> parts;
  std::map<std::string, double> rates;
  std::optional<bool> force;
  Nullable<std::string> host;
  json any;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("parts", self.parts, "");
    visit("rates", self.rates, "");
    visit("force", self.force, "");
    visit("host", self.host, "");
    visit("any", self.any, "");
  }
};

std::string complaint(std::string_view text) {
  const auto read = from_text<Whole>(text);
  return read ? "" : read.error().message;
}

TEST(ApiJson, GoesThereAndBack) {
  const Whole whole{.parts = {{"a", 1}, {"b", 2}},
                    .rates = {{"disk", 0.5}},
                    .force = true,
                    .host = {"h1"},
                    .any = {{"k", json::array({1, "x"})}}};
  const auto again = from_text<Whole>(to_text(whole));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(to_json(*again), to_json(whole));
  EXPECT_EQ(again->parts.at(1).name, "b");
  EXPECT_EQ(again->host.value, "h1");
}

TEST(ApiJson, LeavesOutWhatIsOptionalAndSaysNullForWhatIsNullable) {
  const json nothing = to_json(Whole{});
  EXPECT_FALSE(nothing.contains("force"));
  EXPECT_TRUE(nothing.at("host").is_null());
  EXPECT_EQ(nothing.at("parts"), json::array());
  EXPECT_EQ(nothing.at("rates"), json::object());
}

TEST(ApiJson, ReplacesBytesThatAreNoText) {
  EXPECT_THAT(to_text(std::string("a\xff")), HasSubstr("a\xef\xbf\xbd"));
}

TEST(ApiJson, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(complaint("{"), "The body is not valid JSON.");
  EXPECT_EQ(complaint("[]"), "The body must be a JSON object.");
  EXPECT_EQ(complaint(R"({"parts":{}})"), "'parts' must be a list.");
  EXPECT_EQ(complaint(R"({"parts":[{"name":"a","bytes":1},{"name":"a","bytes":-1}]})"),
            "'parts[1].bytes' must be a number from 0 on, without a fraction.");
  EXPECT_EQ(complaint(R"({"parts":[],"rates":{"disk":"fast"}})"), "'rates.disk' must be a number.");
  EXPECT_EQ(complaint(R"({"parts":[],"rates":{},"force":1})"), "'force' must be true or false.");
  EXPECT_EQ(complaint(R"({"rates":{}})"), "'parts' must be a list.") << "it is missing";
}

TEST(ApiJson, PassesOverWhatItDoesNotKnow) {
  EXPECT_EQ(complaint(R"({"parts":[],"rates":{},"host":null,"any":1,"new":7,"force":null})"), "");
}

TEST(ApiJson, LeavesWhatAnOlderAnswerDoesNotSay) {
  const auto parts = from_json<std::vector<Part>>(json::parse(R"([{"name":"a"}])"));
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(parts->at(0).bytes, 3U);
  EXPECT_FALSE(from_json<std::vector<Part>>(json::parse(R"([{"name":7}])")).has_value());
}

TEST(ApiJson, WritesAndDescribesOneOfSeveralTypes) {
  using Either = std::variant<Part, bool>;
  EXPECT_EQ(to_json(std::vector<Either>{true, Part{.name = "a"}}),
            json::parse(R"([true,{"name":"a","bytes":3}])"));
  Schemas named;
  EXPECT_EQ(Json<Either>::schema(named),
            json::parse(R"({"anyOf":[{"$ref":"#/components/schemas/Part"},{"type":"boolean"}]})"));
}

TEST(ApiJson, DescribesTheTypeOnce) {
  Schemas named;
  EXPECT_EQ(Json<std::vector<Whole>>::schema(named),
            json::parse(R"({"type":"array","items":{"$ref":"#/components/schemas/Whole"}})"));
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named.at("Part"), json::parse(R"({"type":"object","required":["name","bytes"],"properties":{
      "name":{"type":"string","description":"what it is called"},"bytes":{"type":"integer","minimum":0}}})"));
  const json& properties = named.at("Whole").at("properties");
  EXPECT_EQ(properties.at("parts").at("items"), json::parse(R"({"$ref":"#/components/schemas/Part"})"));
  EXPECT_EQ(properties.at("rates"),
            json::parse(R"({"type":"object","additionalProperties":{"type":"number"}})"));
  EXPECT_EQ(properties.at("host"), json::parse(R"({"anyOf":[{"type":"string"},{"type":"null"}]})"));
  EXPECT_EQ(properties.at("any"), json::object());
  EXPECT_THAT(named.at("Whole").at("required"), ElementsAre("parts", "rates", "host", "any"));
}

}  // namespace
}  // namespace banyan::api
