#include "runtime/data_store/s3_address.h"

#include <gtest/gtest.h>

namespace banyan::runtime {
namespace {

/// Options in which no setting counts of the machine that runs the test.
StoreOptions nothing_set() {
  StoreOptions options;
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_CA_BUNDLE",
                           "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"})
    options.settings[name] = "";
  return options;
}

Result<S3Address> address(const std::string& text, const StoreOptions& options = nothing_set()) {
  const auto url = parse_store_url(text);
  if (!url) return tl::unexpected(url.error());
  return s3_address(*url, options);
}

TEST(S3Address, OfAwsHasTheBucketInItsHost) {
  const auto at = address("s3://my-bucket/a/b/?region=eu-west-1");
  ASSERT_TRUE(at) << at.error().message;
  EXPECT_EQ(at->origin, "https://my-bucket.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(at->host, "my-bucket.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(at->base, "");
  EXPECT_EQ(at->prefix, "a/b/");
  EXPECT_EQ(at->region, "eu-west-1");
}

TEST(S3Address, OfAnotherServerHasTheBucketInItsPath) {
  const auto at = address("s3://bucket?endpoint=http://127.0.0.1:9000");
  ASSERT_TRUE(at) << at.error().message;
  EXPECT_EQ(at->origin, "http://127.0.0.1:9000");
  EXPECT_EQ(at->host, "127.0.0.1:9000");
  EXPECT_EQ(at->base, "/bucket");
  EXPECT_EQ(at->prefix, "");
  EXPECT_EQ(at->region, "us-east-1");
}

TEST(S3Address, LeavesTheSchemesOwnPortOutOfTheHost) {
  EXPECT_EQ(address("s3://bucket?endpoint=https://h.example:443/s3/")->host, "h.example");
  EXPECT_EQ(address("s3://bucket?endpoint=https://h.example:443/s3/")->base, "/s3/bucket");
  EXPECT_EQ(address("s3://bucket?endpoint=http://h.example:443")->host, "h.example:443");
  EXPECT_EQ(address("s3://bucket?endpoint=http://[::1]:9000")->host, "[::1]:9000");
}

TEST(S3Address, AddressingCanBeChosen) {
  EXPECT_EQ(address("s3://bucket?endpoint=https://h.example&addressing=virtual")->host, "bucket.h.example");
  EXPECT_EQ(address("s3://bucket?addressing=path")->base, "/bucket");
  EXPECT_EQ(address("s3://my.dotted.bucket")->host, "s3.us-east-1.amazonaws.com");
  EXPECT_FALSE(address("s3://bucket?addressing=other"));
}

TEST(S3Address, TakesSettingsWhereTheUrlIsSilent) {
  StoreOptions options = nothing_set();
  options.settings["AWS_REGION"] = "eu-north-1";
  options.settings["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9000";
  EXPECT_EQ(address("s3://bucket", options)->region, "eu-north-1");
  EXPECT_EQ(address("s3://bucket?region=us-west-2", options)->region, "us-west-2");
  EXPECT_EQ(address("s3://bucket", options)->origin, "http://127.0.0.1:9000");
}

TEST(S3Address, SaysWhatIsWrong) {
  for (const char* text :
       {"s3://", "s3:///key", "s3://Bucket", "s3://b", "s3://bucket:80", "s3://key:secret@bucket",
        "s3://bucket/../x", "s3://bucket//x", "s3://bucket?endpoint=127.0.0.1:9000",
        "s3://bucket?endpoint=ftp://h", "s3://bucket?endpoint=http://", "s3://bucket?regoin=x",
        "s3://bucket?region=a%0ab"}) {
    const auto at = address(text);
    ASSERT_FALSE(at) << text;
    EXPECT_EQ(at.error().kind, ErrorKind::kInvalid) << text;
    EXPECT_EQ(at.error().message.find("secret@"), std::string::npos);
  }
}

TEST(S3Credentials, AreNeeded) {
  StoreOptions options = nothing_set();
  EXPECT_EQ(s3_credentials(options).error().kind, ErrorKind::kDenied);
  options.settings["AWS_ACCESS_KEY_ID"] = "AKID";
  EXPECT_NE(s3_credentials(options).error().message.find("set AWS_ACCESS_KEY_ID"), std::string::npos);
  options.settings["AWS_SECRET_ACCESS_KEY"] = "secret";
  EXPECT_EQ(s3_credentials(options)->secret_access_key, "secret");
  options.settings["AWS_SESSION_TOKEN"] = "token\nx-evil: 1";
  EXPECT_FALSE(s3_credentials(options));
}

}  // namespace
}  // namespace banyan::runtime
