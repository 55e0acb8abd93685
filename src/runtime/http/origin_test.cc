#include "runtime/http/origin.h"

#include <gtest/gtest.h>

namespace banyan::runtime {
namespace {

const Headers kNoBrowser = {{"host", "127.0.0.1:8888"}};

Headers from(const std::string& origin) { return {{"host", "127.0.0.1:8888"}, {"origin", origin}}; }

TEST(Origin, PassesProgramsAndTheGatewaysOwnPages) {
  EXPECT_TRUE(origin_passes(kNoBrowser, {}));
  EXPECT_TRUE(origin_passes(from("http://127.0.0.1:8888"), {}));
  EXPECT_TRUE(origin_passes({{"host", "Lab.Example"}, {"origin", "https://lab.example"}}, {}));
}

TEST(Origin, RefusesOtherPages) {
  for (const char* origin : {"http://evil.example", "http://127.0.0.1:8889", "http://127.0.0.1", "null", "",
                             "http://evil.example/127.0.0.1:8888"}) {
    EXPECT_FALSE(origin_passes(from(origin), {})) << origin;
  }
  EXPECT_FALSE(origin_passes({{"origin", "http://evil.example"}}, {})) << "no Host to compare with";
}

TEST(Origin, PassesPagesTheOperatorListed) {
  const std::vector<std::string> allowed = {"https://Lab.example"};
  EXPECT_TRUE(origin_passes(from("https://lab.example"), allowed));
  EXPECT_FALSE(origin_passes(from("http://lab.example"), allowed)) << "another scheme is another origin";
  EXPECT_TRUE(origin_passes(from("null"), {"*"}));
  EXPECT_TRUE(origin_is_listed(from("https://lab.example"), allowed));
  EXPECT_FALSE(origin_is_listed(from("http://127.0.0.1:8888"), allowed));
  EXPECT_FALSE(origin_is_listed(kNoBrowser, {"*"}));
}

}  // namespace
}  // namespace banyan::runtime
