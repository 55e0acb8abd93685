#include "port/data_store.h"

#include <gtest/gtest.h>

namespace banyan::port {
namespace {

TEST(DataStoreKey, IsAPrintablePath) {
  EXPECT_TRUE(check_key("exports/session-1.banyan"));
  EXPECT_TRUE(check_key("a"));
  EXPECT_TRUE(check_key("a+b=c&d%41?e#f/~g:h@i(1),[2];{3}"));
}

TEST(DataStoreKey, CannotLeaveTheStoreOrHide) {
  for (const char* key : {"", "/", "/a", "a/", "a//b", "..", "../a", "a/../b", "a/./b", ".hidden", "a/.b"}) {
    const auto checked = check_key(key);
    ASSERT_FALSE(checked) << key;
    EXPECT_EQ(checked.error().kind, ErrorKind::kInvalid);
  }
}

TEST(DataStoreKey, HasNothingThatAStoreOrAPersonMisreads) {
  for (const char* key : {"a b", "a\nb", "a\\b", "a*", "a\"b", "\xc3\xa4"})
    EXPECT_FALSE(check_key(key)) << key;
  EXPECT_FALSE(check_key(std::string("a\0b", 3)));
  EXPECT_FALSE(check_key(std::string(201, 'a')));
  EXPECT_TRUE(check_key(std::string(200, 'a')));
  EXPECT_FALSE(check_key(std::string(200, 'a') + "/" + std::string(200, 'b') + "/" + std::string(200, 'c')));
}

TEST(DataStoreKey, APrefixMayBeEmptyOrEndWithASlash) {
  EXPECT_TRUE(check_prefix(""));
  EXPECT_TRUE(check_prefix("exports/"));
  EXPECT_TRUE(check_prefix("exports/ses"));
  EXPECT_FALSE(check_prefix("/"));
  EXPECT_FALSE(check_prefix("../"));
  EXPECT_FALSE(check_prefix("a//"));
}

TEST(DataStoreKey, OfAChunkSaysItsDigest) {
  const Digest digest = digest_of("bytes");
  const std::string key = chunk_key(digest);
  EXPECT_TRUE(check_key(key));
  EXPECT_EQ(digest_in_key(key), digest);
  EXPECT_EQ(digest_in_key("exports/" + to_hex(digest)), std::nullopt);
  EXPECT_EQ(digest_in_key("chunks/xx/" + to_hex(digest)), std::nullopt);
}

}  // namespace
}  // namespace banyan::port
