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

TEST(HttpTarget, DecodesAnyHexDigits) {
  EXPECT_EQ(parse_target("/%30%39%61%66%4A%4a%5F%ff").path[0], "09afJJ_\xff");
  for (const char* wrong : {"/%/0", "/%:0", "/%@0", "/%G0", "/%`0", "/%g0", "/%0g", "/%0:", "/%0"})
    EXPECT_EQ(parse_target(wrong).path[0].front(), '%') << wrong;
  EXPECT_EQ(parse_target("/a%20").path[0], "a ") << "also at the end";
  EXPECT_EQ(parse_target("/%20b").path[0], " b");
  EXPECT_EQ(parse_target("/%2").path[0], "%2");
}

TEST(HttpTarget, APlusIsASpaceInAQueryOnly) {
  const HttpTarget target = parse_target("/a+b?c+d=e+f%2B");
  EXPECT_EQ(target.path[0], "a+b");
  EXPECT_EQ(target.query.at("c d"), "e f+");
}

TEST(HttpTarget, AQueryEndsAtTheFragmentAndHasNoEmptyPairs) {
  const HttpTarget target = parse_target("/a?b=1&&c=2=3#?d=4");
  EXPECT_EQ(target.query, (std::map<std::string, std::string>{{"b", "1"}, {"c", "2=3"}}));
  EXPECT_TRUE(parse_target("/a?").query.empty());
  EXPECT_TRUE(parse_target("/a").query.empty());
  EXPECT_EQ(parse_target("/a/b").path.size(), 2U);
}

TEST(HttpTarget, WordsAreInLowerCase) {
  EXPECT_EQ(parse_target("/AZaz[@").word(0), "azaz[@");
  EXPECT_EQ(parse_target("/a").word(1), "");
  EXPECT_EQ(lower("@AZ[`az{09"), "@az[`az{09");
}

/// A browser on localhost:8888 that has the cookies of "secret".
class Browser : public ::testing::Test {
 protected:
  Browser() {
    std::string shown = "other=1; ";
    for (const std::string& cookie : token_cookies(headers_, "secret", "x1"))
      shown += cookie.substr(0, cookie.find(';')) + "; ";
    headers_["cookie"] = shown;
  }
  bool shows(const char* method, const std::string& token = "secret") {
    return shows_token(method, parse_target("/api"), headers_, token);
  }

  std::map<std::string, std::string> headers_{{"host", "LocalHost:8888"}};
};

TEST_F(Browser, ShowsTheTokenByItsCookie) {
  EXPECT_TRUE(shows("GET"));
  EXPECT_TRUE(shows("HEAD"));
  EXPECT_FALSE(shows("GET", "secreT"));
  headers_.erase("cookie");
  EXPECT_FALSE(shows("GET"));
}

TEST_F(Browser, ChangesSomethingOnlyWhenItRepeatsAnotherCookie) {
  EXPECT_FALSE(shows("POST"));
  EXPECT_FALSE(shows("DELETE"));
  headers_["x-xsrftoken"] = "x2";
  EXPECT_FALSE(shows("POST"));
  headers_["x-xsrftoken"] = "x1";
  EXPECT_TRUE(shows("POST"));
  headers_["x-xsrftoken"] = "";
  headers_["cookie"] += "_xsrf=";
  EXPECT_FALSE(shows("POST"));
}

TEST_F(Browser, WithoutTheOtherCookieItChangesNothing) {
  std::string& cookies = headers_["cookie"];
  cookies = cookies.substr(0, cookies.find("_xsrf"));
  headers_["x-xsrftoken"] = "";
  EXPECT_TRUE(shows("GET"));
  EXPECT_FALSE(shows("POST"));
  cookies += "_xsrf=";
  EXPECT_FALSE(shows("POST")) << "an empty one proves nothing";
}

TEST_F(Browser, AnotherPortHasACookieOfItsOwn) {
  headers_["host"] = "localhost:8889";
  EXPECT_FALSE(shows("GET"));
}

TEST_F(Browser, ACredentialCountsBeforeTheCookie) {
  headers_["authorization"] = "token wrong";
  EXPECT_FALSE(shows("GET"));
  headers_["authorization"] = "token secret";
  headers_.erase("cookie");
  EXPECT_TRUE(shows("POST")) << "pages of other sites cannot send it";
}

TEST(HttpTarget, CookiesAreNamedByTheHostAndKeptFromScripts) {
  const auto cookies = token_cookies({{"host", "Az-09.example:80"}}, "\x01\xfe", "x1");
  ASSERT_EQ(cookies.size(), 2U);
  EXPECT_EQ(cookies[0], "banyan-az-09-example-80=01fe; HttpOnly; SameSite=Strict; Path=/");
  EXPECT_EQ(cookies[1], "_xsrf=x1; SameSite=Strict; Path=/");
  EXPECT_EQ(token_cookies({}, "", "").at(0).substr(0, 8), "banyan-=");
}

TEST(HttpTarget, CookiesMayHaveSpacesBeforeThemAndNoValue) {
  const std::map<std::string, std::string> headers{{"host", "h"}, {"cookie", "a;  banyan-h=73;b=;"}};
  EXPECT_TRUE(shows_token("GET", parse_target("/"), headers, "s"));
}

TEST(HttpTarget, AnotherSchemeOrNoCredentialIsNone) {
  EXPECT_EQ(credential(parse_target("/"), {{"authorization", "Digest h"}}), "");
  EXPECT_EQ(credential(parse_target("/"), {{"authorization", "tokenx h"}}), "");
  EXPECT_EQ(credential(parse_target("/"), {{"authorization", "token a b "}}), "a b");
  EXPECT_EQ(credential(parse_target("/?token="), {}), "");
}

TEST(HttpTarget, EachCharacterOfASecretCounts) {
  for (std::size_t i = 0; i < 6; ++i) {
    std::string wrong = "secret";
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    EXPECT_FALSE(same_secret(wrong, "secret")) << i;
    EXPECT_FALSE(same_secret("secret", wrong)) << i;
  }
  EXPECT_TRUE(same_secret("", ""));
  EXPECT_FALSE(same_secret("ab", "abab"));
  EXPECT_FALSE(same_secret(std::string_view("\0", 1), ""));
}

TEST(HttpTarget, EachCharacterOfAUuidCounts) {
  const std::string good = "01234567-89ab-4def-8123-456789abcdef";
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string wrong = good;
    wrong[i] = good[i] == '-' ? 'a' : '-';
    EXPECT_FALSE(is_uuid(wrong)) << i;
    wrong[i] = 'A';
    EXPECT_FALSE(is_uuid(wrong)) << i;
    wrong[i] = 'F';
    EXPECT_FALSE(is_uuid(wrong)) << i;
  }
  EXPECT_FALSE(is_uuid(good + "a"));
}

}  // namespace
}  // namespace banyan::node
