#include <string_view>

#include "runtime/data_store/s3_http.h"
#include "runtime/data_store/s3_xml.h"

namespace banyan::runtime {
namespace {

struct Meaning {
  std::string_view code;
  ErrorKind kind;
  std::string_view advice;
};

constexpr std::string_view kCheckKeys = "; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
constexpr std::string_view kToken = "; the session token has ended: get new credentials";

/// What S3's error codes mean: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
constexpr Meaning kMeanings[] = {
    {"SignatureDoesNotMatch", ErrorKind::kDenied, kCheckKeys},
    {"InvalidAccessKeyId", ErrorKind::kDenied, kCheckKeys},
    {"AuthFailure", ErrorKind::kDenied, kCheckKeys},
    {"XAdminUserNotFound", ErrorKind::kDenied, kCheckKeys},
    {"ExpiredToken", ErrorKind::kDenied, kToken},
    {"InvalidToken", ErrorKind::kDenied, kToken},
    {"RequestTimeTooSkewed", ErrorKind::kDenied, "; set the clock of this machine"},
    {"AccessDenied", ErrorKind::kDenied,
     "; give these credentials the right to get, put, delete and list there"},
    {"NoSuchBucket", ErrorKind::kInvalid, "; create the bucket or correct the URL"},
    {"InvalidBucketName", ErrorKind::kInvalid, "; correct the bucket in the URL"},
    {"EntityTooLarge", ErrorKind::kTooLarge, ""},
    {"PreconditionFailed", ErrorKind::kConflict, ""},
    {"QuotaExceeded", ErrorKind::kIo, "; make room in the bucket"},
    {"XMinioStorageFull", ErrorKind::kIo, "; the server's disk is full: make room there"},
    // The bytes were damaged on their way: the next attempt may do better.
    {"BadDigest", ErrorKind::kUnavailable, ""},
    {"XAmzContentSHA256Mismatch", ErrorKind::kUnavailable, ""},
    {"RequestTimeout", ErrorKind::kUnavailable, ""},
    {"SlowDown", ErrorKind::kUnavailable, ""},
};

ErrorKind kind_of(int status) {
  if (status == 429 || (status >= 500 && status != 501 && status != 507)) return ErrorKind::kUnavailable;
  switch (status) {
    case 401:
    case 403:
      return ErrorKind::kDenied;
    case 404:
      return ErrorKind::kNotFound;
    case 412:
      return ErrorKind::kConflict;
    case 413:
      return ErrorKind::kTooLarge;
    case 507:
      return ErrorKind::kIo;
    default:
      return ErrorKind::kInvalid;
  }
}

}  // namespace

Error s3_error(const S3Address& address, const S3Response& response, const std::string& doing) {
  const std::string code = xml_text(response.body, "Code").value_or("");
  std::string what = doing + " in s3://" + address.bucket + " at " + address.origin + " failed with status " +
                     std::to_string(response.status);
  if (!code.empty()) what += " " + code;
  if (const auto message = xml_text(response.body, "Message")) what += ": " + message->substr(0, 300);
  const std::string region =
      xml_text(response.body, "Region").value_or(response.header("x-amz-bucket-region"));
  const bool redirected = response.status == 301 || response.status == 307;
  if (!region.empty() && region != address.region)
    return {ErrorKind::kInvalid,
            what + "; the bucket is in the region " + region + ": add ?region=" + region + " to the URL"};
  if (redirected)
    return {ErrorKind::kInvalid,
            what + "; the bucket is somewhere else: give its region and endpoint in the URL"};
  for (const Meaning& meaning : kMeanings)
    if (code == meaning.code) return {meaning.kind, what + std::string(meaning.advice)};
  const ErrorKind kind = kind_of(response.status);
  // The answer to HEAD has no body that would say which kind of denial it is.
  if (kind == ErrorKind::kDenied && code.empty())
    what += "; check the credentials, their rights, and the clock of this machine";
  return {kind, what};
}

}  // namespace banyan::runtime
