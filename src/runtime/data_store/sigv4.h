// AWS Signature Version 4: how an S3 server knows who sent a request.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace banyan::runtime {

/// The credentials of whoever signs.
struct AwsCredentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  ///< only temporary credentials have one
};

/// The parts of a request that are signed:
/// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
struct SignedRequest {
  std::string method;
  std::string path;                                        ///< percent-encoded, with its first slash
  std::vector<std::pair<std::string, std::string>> query;  ///< names and values, not encoded
  std::map<std::string, std::string> headers;  ///< names in lower case; `host` and `x-amz-date` are there
  std::string payload_sha256;                  ///< hex
};

/// Percent-encodes everything except A-Z a-z 0-9 - . _ ~ and the characters in `keep`.
std::string uri_encode(std::string_view text, std::string_view keep = "");
/// The query as it is signed and sent: encoded and sorted.
std::string canonical_query(const std::vector<std::pair<std::string, std::string>>& query);
/// The text that stands for the request in the signature (AWS' canonical request).
std::string canonical_request(const SignedRequest& request);
/// The value of the Authorization header. Its date is that of x-amz-date.
std::string authorization(const SignedRequest& request, const AwsCredentials& credentials,
                          const std::string& region, const std::string& service);

/// A time as x-amz-date writes it: "20130524T000000Z".
std::string amz_date(WallTime time);
/// SHA-256 in 64 hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace banyan::runtime
