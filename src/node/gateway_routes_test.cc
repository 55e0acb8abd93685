#include "node/gateway_routes.h"

#include <gmock/gmock.h>

#include "core/api/operator.h"

namespace banyan::node {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class RoutesTest : public ::testing::Test {
 protected:
  RoutesTest() {
    routes.add({.method = "GET", .path = "/api/things/{host}/{file}", .id = "thing", .summary = "One thing."},
               [](const Call& call) {
                 return Answer{200, call.word("host") + " " + call.parts.at("file") + " " + call.query("a")};
               });
    routes.add<api::NewHost>(
        {.method = "POST",
         .path = "/api/things",
         .id = "newThing",
         .summary = "A new one.",
         .replies = {{204, "Done."}}},
        [](const Call&, const api::NewHost& wanted) { return Answer{200, "new " + wanted.host}; });
    routes.add(
        {.method = "DELETE", .path = "/api/things", .id = "noThings", .summary = "None.", .open = true},
        [](const Call&) { return AnswerNow(); });
  }
  AnswerNow ask(const std::string& method, const std::string& target, const std::string& body = {}) {
    const HttpRequest request{{1}, method, target, {}, body};
    return routes.answer(request, parse_target(target));
  }

  Routes routes;
};

TEST_F(RoutesTest, HandTheRequestToWhomItIsFor) {
  EXPECT_EQ(ask("GET", "/API/Things/H1/A%20b?a=c")->body, "h1 A b c");
  EXPECT_EQ(ask("POST", "/api/things", R"({"host":"h2"})")->body, "new h2");
  EXPECT_FALSE(ask("DELETE", "/api/things").has_value()) << "it is answered later";
}

TEST_F(RoutesTest, SayWhatCanBeDone) {
  EXPECT_EQ(ask("GET", "/api/things")->status, 405);
  EXPECT_THAT(ask("GET", "/api/things")->body, HasSubstr("Use POST or DELETE."));
  EXPECT_EQ(ask("GET", "/api/things/h1")->status, 404);
  EXPECT_EQ(ask("GET", "/api/things/h1/a/b")->status, 404);
  EXPECT_EQ(ask("GET", "/")->status, 404);
}

TEST_F(RoutesTest, SayWhatIsWrongWithABody) {
  EXPECT_EQ(ask("POST", "/api/things")->status, 400);
  EXPECT_THAT(ask("POST", "/api/things", R"({"host":[]})")->body, HasSubstr("'host' must be a text."));
}

TEST_F(RoutesTest, AreDescribed) {
  const json document = json::parse(routes.description());
  const json& paths = document.at("paths");
  EXPECT_EQ(paths.at("/api/things/{host}/{file}").at("get").at("operationId"), "thing");
  EXPECT_EQ(paths.at("/api/things/{host}/{file}").at("get").at("parameters").size(), 2U);
  const json& made = paths.at("/api/things").at("post");
  EXPECT_EQ(made.at("requestBody").at("content").at("application/json").at("schema").at("$ref"),
            "#/components/schemas/NewHost");
  EXPECT_EQ(made.at("responses").at("204").at("description"), "Done.");
  EXPECT_EQ(made.at("responses").at("default").at("content").at("application/json").at("schema").at("$ref"),
            "#/components/schemas/Error");
  EXPECT_FALSE(made.contains("security")) << "it needs the token, as all do";
  EXPECT_EQ(paths.at("/api/things").at("delete").at("security"), json::array());
  EXPECT_TRUE(document.at("components").at("schemas").contains("NewHost"));
}

}  // namespace
}  // namespace banyan::node
