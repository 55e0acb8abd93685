#include "runtime/http/endpoint.h"

#include <gtest/gtest.h>

namespace banyan::runtime {
namespace {

TEST(Endpoint, ReadsAUrl) {
  EXPECT_EQ(parse_endpoint("http://127.0.0.1:8888"), (Endpoint{"127.0.0.1", 8888, "", ""}));
  EXPECT_EQ(parse_endpoint("http://hub.local/user/ann/?token=a%2Bb"),
            (Endpoint{"hub.local", 80, "/user/ann", "a+b"}));
  EXPECT_EQ(parse_endpoint("http://[::1]:9000/?x=1&token=t#frag"), (Endpoint{"::1", 9000, "", "t"}));
}

TEST(Endpoint, RefusesWhatItCannotReach) {
  for (const char* url : {"", "127.0.0.1:8888", "https://host", "http://", "http://:80", "http://host:0",
                          "http://host:70000", "http://host:8x", "http://[::1", "http://user@host",
                          "http://host?token=%4", "http://host?token=%zz"}) {
    EXPECT_FALSE(parse_endpoint(url)) << url;
  }
}

TEST(Endpoint, NamesItselfWithoutTheToken) {
  EXPECT_EQ((Endpoint{"::1", 80, "", "secret"}).authority(), "[::1]:80");
  EXPECT_EQ((Endpoint{"host", 8888, "", "secret"}).authority(), "host:8888");
}

TEST(Endpoint, EncodesForAPath) { EXPECT_EQ(percent_encode("a b/é~"), "a%20b%2F%C3%A9~"); }

}  // namespace
}  // namespace banyan::runtime
