#include "runtime/data_store/store_url.h"

#include <gtest/gtest.h>

namespace banyan::runtime {
namespace {

TEST(StoreUrl, HasAllParts) {
  const auto url = parse_store_url("redis://me:p%40ss@db.example:6380/3?a=1&b=x%26y");
  ASSERT_TRUE(url) << url.error().message;
  const StoreUrl expected{.scheme = "redis",
                          .user = "me",
                          .password = "p@ss",
                          .host = "db.example",
                          .port = 6380,
                          .path = "/3",
                          .query = {{"a", "1"}, {"b", "x&y"}}};
  EXPECT_EQ(*url, expected);
}

TEST(StoreUrl, NeedsOnlyAScheme) {
  EXPECT_EQ(parse_store_url("file:///var/store")->path, "/var/store");
  EXPECT_EQ(parse_store_url("file:///var/store")->host, "");
  EXPECT_EQ(parse_store_url("S3://bucket")->scheme, "s3");
  EXPECT_EQ(parse_store_url("s3://bucket")->path, "");
  EXPECT_EQ(parse_store_url("redis://:secret@host")->user, "");
  EXPECT_EQ(parse_store_url("redis://:secret@host")->password, "secret");
  EXPECT_EQ(parse_store_url("redis://host")->password, std::nullopt);
  EXPECT_EQ(parse_store_url("redis://[::1]:7000/0")->host, "::1");
  EXPECT_EQ(parse_store_url("redis://[::1]:7000/0")->port, 7000);
}

TEST(StoreUrl, KeepsAnEndpointInItsQuery) {
  const auto url = parse_store_url("s3://bucket/a/b?endpoint=http://127.0.0.1:9000&region=eu-west-1");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->path, "/a/b");
  EXPECT_EQ(url->query.at("endpoint"), "http://127.0.0.1:9000");
}

TEST(StoreUrl, SaysWhatIsWrong) {
  for (const char* text : {"", "store", "/var/store", "://x", "redis://h:port/0", "redis://h:0",
                           "redis://h:70000", "file:///a%2", "file:///a%zz", "file:///a%00", "s3://b?x=1&x=2",
                           "s3://b?=1", "redis://[::1", "redis://[::1]x", "file:///a#b"}) {
    const auto url = parse_store_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(url.error().message.find("s3://bucket/prefix"), std::string::npos);
  }
}

TEST(StoreUrl, ShowsNoPassword) {
  EXPECT_EQ(without_secrets("redis://u:secret@host:1/0"), "redis://host:1/0");
  EXPECT_EQ(without_secrets("redis://:se/cr@et@host"), "redis://host");
  EXPECT_EQ(without_secrets("file:///a"), "file:///a");
  for (const char* text : {"redis://:secret@host:port/0", "redis://:secret/@host", "redis://u:1/secret@host",
                           "redis://u:secret?x=secret@host"}) {
    const auto url = parse_store_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().message.find("secret"), std::string::npos) << url.error().message;
  }
}

TEST(StoreUrl, APlaceIsTheStoreWhoeverReadsIt) {
  EXPECT_EQ(place_of("redis://u:secret@host:1/0"), "redis://host:1/0");
  EXPECT_EQ(place_of("s3://b/x?region=eu&endpoint=http://me:secret@h:9"), "s3://b/x?endpoint=http://h:9");
  EXPECT_EQ(place_of("file:///a"), place_of("FILE:///a"));
  for (const char* here : {"file:///a", "redis://127.0.0.1:6379", "redis://localhost", "redis://[::1]:1",
                           "s3://b?endpoint=http://localhost:9000"})
    EXPECT_NE(place_of(here).find(" on "), std::string::npos) << here;
  EXPECT_EQ(place_of(""), "");
}

TEST(StoreUrl, RefusesOptionsThatDoNotExist) {
  const auto url = parse_store_url("s3://b?regoin=x");
  const auto checked = check_query(*url, {"endpoint", "region"});
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("'regoin'; it has endpoint, region"), std::string::npos);
}

}  // namespace
}  // namespace banyan::runtime
