// Where a bucket is.
#pragma once

#include <string>

#include "base/result.h"
#include "runtime/data_store/options.h"
#include "runtime/data_store/sigv4.h"
#include "runtime/data_store/store_url.h"

namespace banyan::runtime {

/// A bucket, and the part of it that a store uses.
struct S3Address {
  std::string origin;  ///< "https://host[:port]", without a slash at its end
  std::string host;    ///< the Host header
  std::string base;    ///< the path before the keys: empty, or "/bucket" with path-style addressing
  std::string bucket;
  std::string prefix;  ///< all keys begin with it: empty, or with a slash at its end
  std::string region;
  std::string ca_file;  ///< the certificates to trust; empty for those of the system
};

/// The address in an `s3://bucket/prefix?endpoint=…&region=…&addressing=path|virtual`, with AWS_ENDPOINT_URL,
/// AWS_REGION, AWS_DEFAULT_REGION and AWS_CA_BUNDLE of the options. kInvalid when they make no address.
Result<S3Address> s3_address(const StoreUrl& url, const StoreOptions& options);
/// The credentials in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of the options. kDenied
/// without them.
Result<AwsCredentials> s3_credentials(const StoreOptions& options);

}  // namespace banyan::runtime
