// Signed requests to an S3 server.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/data_store/backend.h"
#include "runtime/data_store/options.h"
#include "runtime/data_store/s3_address.h"
#include "runtime/data_store/sigv4.h"

namespace banyan::runtime {

/// A request; its key is below the base of the address.
struct S3Request {
  std::string method;
  std::string key = {};  ///< the key with the store's prefix; empty for the bucket itself
  std::vector<std::pair<std::string, std::string>> query = {};
  std::map<std::string, std::string> headers = {};  ///< names in lower case
  std::string_view body = {};
  std::size_t answer_bytes_max = 8 << 20;
};

/// The answer to a request.
struct S3Response {
  int status = 0;
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;

  /// The value of a header; empty when it is absent.
  [[nodiscard]] std::string header(const std::string& name) const;
};

/// What an answer without success means, and what to do. `doing` says what was asked, as in "putting 'a'".
Error s3_error(const S3Address& address, const S3Response& response, const std::string& doing);

/// Connections to one server, which stay open between requests. Calls block and may come from several threads
/// at once.
class S3Http {
 public:
  S3Http(S3Address address, AwsCredentials credentials, StoreOptions options);
  ~S3Http();

  /// Signs and sends one request. An answer with any status is a success; kUnavailable when none comes in
  /// time, kInvalid when none can come (the certificate is not trusted). `meter` is told when bytes of a
  /// value move.
  Result<S3Response> send(const S3Request& request, Meter* meter = nullptr);

 private:
  struct Exchange;
  class Handles;

  S3Address address_;
  AwsCredentials credentials_;
  StoreOptions options_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace banyan::runtime
