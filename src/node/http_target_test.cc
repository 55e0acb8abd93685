#include "node/http_target.h"

#include <gtest/gtest.h>

namespace banyan::node {
namespace {

TEST(HttpTarget, TakesPathAndQueryApartAndDecodesThem) {
  const HttpTarget target = parse_target("/api/Kernels//a%2Fb/?session_id=x%20y&flag&plus=a+b#part");
  ASSERT_EQ(target.path.size(), 3U);
  EXPECT_EQ(target.word(1), "kernels");
  EXPECT_EQ(target.path[2], "a/b") << "an escaped slash is no separator";
  EXPECT_EQ(target.word(9), "");
  EXPECT_EQ(target.query.at("session_id"), "x y");
  EXPECT_EQ(target.query.at("plus"), "a b");
  EXPECT_TRUE(target.query.contains("flag"));
}

TEST(HttpTarget, TakesAnyText) {
  EXPECT_EQ(parse_target("/%").path[0], "%");
  EXPECT_EQ(parse_target("/%4").path[0], "%4");
  EXPECT_EQ(parse_target("/%zz").path[0], "%zz");
  EXPECT_TRUE(parse_target("").path.empty());
  EXPECT_TRUE(parse_target("?&=&").path.empty());
}

TEST(HttpTarget, FindsTheCredential) {
  const HttpTarget with = parse_target("/?token=q");
  EXPECT_EQ(credential(with, {{"authorization", "token  h "}}), "h");
  EXPECT_EQ(credential(with, {{"authorization", "BEARER h"}}), "h");
  EXPECT_EQ(credential(with, {{"authorization", "Basic h"}}), "q");
  EXPECT_EQ(credential(with, {}), "q");
  EXPECT_EQ(credential(parse_target("/"), {{"authorization", "token"}}), "");
  EXPECT_EQ(credential(parse_target("/"), {{"authorization", "token  "}}), "");
}

TEST(HttpTarget, ComparesSecrets) {
  EXPECT_TRUE(same_secret("secret", "secret"));
  for (const char* wrong : {"", "s", "secreT", "secretsecret", "secre"}) {
    EXPECT_FALSE(same_secret(wrong, "secret")) << wrong;
    EXPECT_FALSE(same_secret("secret", wrong)) << wrong;
  }
}

TEST(HttpTarget, KnowsUuids) {
  EXPECT_TRUE(is_uuid("01234567-89ab-4def-8123-456789abcdef"));
  for (const char* wrong :
       {"", "01234567-89ab-4def-8123-456789abcde", "01234567-89AB-4def-8123-456789abcdef",
        "0123456789ab-4def-8123-456789abcdef--", "../..................................."})
    EXPECT_FALSE(is_uuid(wrong)) << wrong;
}

}  // namespace
}  // namespace banyan::node
