#include <gtest/gtest.h>

#include "runtime/data_store/s3_http.h"
#include "runtime/data_store/s3_xml.h"

namespace banyan::runtime {
namespace {

using Strings = std::vector<std::string_view>;

TEST(S3Xml, FindsElementsAndTheirTexts) {
  const std::string_view xml =
      "<?xml version=\"1.0\"?><R xmlns=\"x\"><KeyCount>2</KeyCount><C><Key>a</Key></C><C "
      "x=\"1\"><Key>b&amp;&#x26;"
      "&#38;&lt;c&gt;&quot;&apos;</Key></C><C/><Empty></Empty></R>";
  EXPECT_EQ(xml_elements(xml, "C").size(), 2U);
  EXPECT_EQ(xml_elements(xml, "Key"), (Strings{"a", "b&amp;&#x26;&#38;&lt;c&gt;&quot;&apos;"}));
  EXPECT_EQ(xml_text(xml_elements(xml, "C")[1], "Key"), "b&&&<c>\"'");
  EXPECT_EQ(xml_text(xml, "Empty"), "");
  EXPECT_EQ(xml_text(xml, "None"), std::nullopt);
}

TEST(S3Xml, GetsThroughAnything) {
  for (const char* xml :
       {"", "<", "<C", "<C>", "<C></D>", "<C>&", "<C>&amp", "<C/>", "<C", "</C>", "<C></C", "<C >"}) {
    EXPECT_TRUE(xml_elements(xml, "C").empty()) << xml;
    EXPECT_EQ(xml_text(xml, "C"), std::nullopt) << xml;
  }
  EXPECT_EQ(xml_text("<C>&unknown;&#1;&</C>", "C"), "&unknown;&#1;&");
}

Error error_of(int status, const std::string& code, std::map<std::string, std::string> headers = {}) {
  const S3Address address{.origin = "https://h", .bucket = "bucket", .region = "us-east-1"};
  const std::string body =
      code.empty() ? "" : "<Error><Code>" + code + "</Code><Message>text</Message></Error>";
  return s3_error(address, {.status = status, .headers = std::move(headers), .body = body}, "getting 'a'");
}

TEST(S3Error, SaysWhatWasAskedAndWhatToDo) {
  EXPECT_EQ(
      error_of(403, "SignatureDoesNotMatch").message,
      "getting 'a' in s3://bucket at https://h failed with status 403 SignatureDoesNotMatch: text; check "
      "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  EXPECT_NE(error_of(403, "RequestTimeTooSkewed").message.find("set the clock"), std::string::npos);
  EXPECT_NE(error_of(404, "NoSuchBucket").message.find("create the bucket"), std::string::npos);
}

TEST(S3Error, TellsWhatMayPassFromWhatStays) {
  for (const int status : {429, 500, 502, 503, 504})
    EXPECT_EQ(error_of(status, "").kind, ErrorKind::kUnavailable) << status;
  EXPECT_EQ(error_of(400, "RequestTimeout").kind, ErrorKind::kUnavailable);
  EXPECT_EQ(error_of(400, "BadDigest").kind, ErrorKind::kUnavailable);
  EXPECT_EQ(error_of(501, "NotImplemented").kind, ErrorKind::kInvalid);
  EXPECT_EQ(error_of(400, "InvalidRequest").kind, ErrorKind::kInvalid);
  EXPECT_EQ(error_of(404, "NoSuchBucket").kind, ErrorKind::kInvalid);
  EXPECT_EQ(error_of(404, "NoSuchKey").kind, ErrorKind::kNotFound);
  EXPECT_EQ(error_of(404, "").kind, ErrorKind::kNotFound);
  EXPECT_EQ(error_of(403, "").kind, ErrorKind::kDenied);
  EXPECT_EQ(error_of(507, "").kind, ErrorKind::kIo);
}

TEST(S3Error, NamesTheRegionThatTheUrlShouldHave) {
  const Error error = error_of(301, "PermanentRedirect", {{"x-amz-bucket-region", "eu-west-1"}});
  EXPECT_EQ(error.kind, ErrorKind::kInvalid);
  EXPECT_NE(error.message.find("add ?region=eu-west-1"), std::string::npos);
  EXPECT_EQ(error_of(301, "").kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace banyan::runtime
