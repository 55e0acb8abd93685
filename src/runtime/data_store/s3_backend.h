// Values as objects of an S3 bucket.
#pragma once

#include <functional>

#include "runtime/data_store/s3_http.h"

namespace banyan::runtime {

/// Keeps each key in an object, whose bytes are the value and whose metadata has the digest. Values of more
/// than one part are put as multipart uploads and got in ranges, several at a time.
class S3Backend final : public StoreBackend {
 public:
  S3Backend(S3Address address, AwsCredentials credentials, StoreOptions options);

  Result<Done> put(const std::string& key, const Blob& value, const Digest& checksum, Meter& meter) override;
  Result<Fetched> get(const std::string& key, Meter& meter) override;
  Result<port::StoredValue> head(const std::string& key) override;
  Result<Done> remove(const std::string& key) override;
  Result<std::vector<port::StoredValue>> list(const std::string& prefix) override;

 private:
  struct Upload;
  struct Beginning;

  /// Sends a request until the answer is a success or a lasting error. `doing` goes into the error's text.
  Result<S3Response> request(const S3Request& request, const std::string& doing, Meter* meter = nullptr);
  [[nodiscard]] std::uint64_t part_bytes() const { return options_.s3_part_bytes; }
  Result<Done> put_parts(const std::string& key, const Blob& value, const Digest& checksum, Meter& meter);
  Result<Done> complete(const Upload& upload);
  Result<Done> upload_parts(Upload& upload, const Blob& value, Meter& meter);
  /// Whether the object is what the upload was to make of it.
  bool is_complete(const Upload& upload);
  Result<Beginning> get_beginning(const std::string& key, Meter& meter);
  Result<Fetched> get_once(const std::string& key, Meter& meter);
  /// Calls `work` for each part, kParallel at a time; the first error ends it.
  Result<Done> for_each_part(std::uint64_t count, const std::function<Result<Done>(std::uint64_t)>& work);
  Result<Digest> checksum_in(const std::string& key, const S3Response& response) const;

  S3Address address_;
  StoreOptions options_;
  S3Http http_;
};

}  // namespace banyan::runtime
