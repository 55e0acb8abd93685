#include "runtime/data_store/sigv4.h"

#include <gtest/gtest.h>

namespace banyan::runtime {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;
using Headers = std::map<std::string, std::string>;

const std::string kNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string signature(const std::string& header) { return header.substr(header.find("Signature=") + 10); }

/// Signs a request of AWS' test suite for signature version 4.
std::string suite(const std::string& method, const std::string& path, const Query& query = {},
                  Headers headers = {}) {
  headers["host"] = "example.amazonaws.com";
  headers["x-amz-date"] = "20150830T123600Z";
  const AwsCredentials credentials{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
  return signature(
      authorization({method, path, query, headers, kNothing}, credentials, "us-east-1", "service"));
}

TEST(SigV4, SignsTheRequestsOfAwsTestSuite) {
  EXPECT_EQ(suite("GET", "/"), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(suite("POST", "/"), "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  EXPECT_EQ(suite("GET", "/", {{"Param2", "value2"}, {"Param1", "value1"}}),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  EXPECT_EQ(suite("GET", "/", {{"Param1", "value2"}, {"Param1", "value1"}}),
            "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694");
  EXPECT_EQ(suite("GET", "/", {{"\xe1\x88\xb4", "bar"}}),
            "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04");
  EXPECT_EQ(suite("GET", uri_encode("/\xe1\x88\xb4", "/")),
            "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
  EXPECT_EQ(suite("GET", "/", {}, {{"my-header1", " value1"}, {"my-header2", " \"a   b   c\""}}),
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
}

TEST(SigV4, SignsASessionToken) {
  const std::string token =
      "AQoDYXdzEPT//////////"
      "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflf"
      "KD8YUuwthAx7mSEI/qkPpKPi/"
      "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd"
      "8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
      "scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3i"
      "SIlTJabIQwj2ICCR/oLxBA==";
  EXPECT_EQ(suite("POST", "/", {}, {{"x-amz-security-token", token}}),
            "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead");
}

/// Signs a request of the S3 guide, "Examples: signature calculations", with the Authorization header.
std::string guide(const std::string& method, const std::string& path, const Query& query, Headers headers,
                  const std::string& payload) {
  headers["host"] = "examplebucket.s3.amazonaws.com";
  headers["x-amz-date"] = "20130524T000000Z";
  headers["x-amz-content-sha256"] = sha256_hex(payload);
  const AwsCredentials credentials{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
  return authorization({method, path, query, headers, sha256_hex(payload)}, credentials, "us-east-1", "s3");
}

TEST(SigV4, SignsTheExamplesOfTheS3Guide) {
  EXPECT_EQ(guide("GET", "/test.txt", {}, {{"range", "bytes=0-9"}}, ""),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(signature(guide(
                "PUT", uri_encode("/test$file.text", "/"), {},
                {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                "Welcome to Amazon S3.")),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  EXPECT_EQ(signature(guide("GET", "/", {{"lifecycle", ""}}, {}, "")),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(signature(guide("GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {}, "")),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4, EncodesAsS3Does) {
  EXPECT_EQ(uri_encode("a/b c~d-e_f.g+&=", "/"), "a/b%20c~d-e_f.g%2B%26%3D");
  EXPECT_EQ(uri_encode("/"), "%2F");
  EXPECT_EQ(canonical_query({{"b", "2"}, {"a b", "&"}}), "a%20b=%26&b=2");
}

TEST(SigV4, WritesTimesInUtc) {
  EXPECT_EQ(amz_date({1'369'353'600'000'000}), "20130524T000000Z");
  EXPECT_EQ(sha256_hex(""), kNothing);
}

}  // namespace
}  // namespace banyan::runtime
