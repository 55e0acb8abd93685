#include "runtime/data_store/s3_address.h"

#include <algorithm>

#include "port/data_store.h"

namespace banyan::runtime {
namespace {

tl::unexpected<Error> refused(const std::string& why) {
  return fail(
      ErrorKind::kInvalid,
      why + "; write s3://bucket/prefix?endpoint=https://host:port&region=name, for AWS without endpoint");
}

/// Whether a name may be a bucket's: it becomes a part of host names, of paths and of XML.
bool is_bucket(const std::string& name) {
  return name.size() >= 3 && name.size() <= 63 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == std::string::npos;
}

/// Whether a text may go into a header as it is.
bool is_header_text(const std::string& text) {
  return std::ranges::all_of(text, [](char letter) { return letter > ' ' && letter < 0x7f; });
}

/// Host and port of an endpoint as the Host header has them: without the port when it is the scheme's own.
std::string host_of(const StoreUrl& endpoint) {
  const bool ipv6 = endpoint.host.find(':') != std::string::npos;
  std::string host = ipv6 ? "[" + endpoint.host + "]" : endpoint.host;
  const int own = endpoint.scheme == "https" ? 443 : 80;
  if (!endpoint.port || *endpoint.port == own) return host;
  return host + ":" + std::to_string(*endpoint.port);
}

}  // namespace

Result<S3Address> s3_address(const StoreUrl& url, const StoreOptions& options) {
  const auto choice = [&](const char* name, std::initializer_list<const char*> settings) -> std::string {
    if (const auto found = url.query.find(name); found != url.query.end()) return found->second;
    for (const char* setting : settings)
      if (auto value = options.setting(setting)) return *value;
    return "";
  };
  if (auto done = check_query(url, {"endpoint", "region", "addressing"}); !done)
    return tl::unexpected(done.error());
  if (!is_bucket(url.host) || url.port) return refused("'" + url.host + "' is no name of a bucket");
  if (url.password || !url.user.empty())
    return refused(
        "credentials of S3 belong into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, not into the URL");
  S3Address address{.bucket = url.host, .region = choice("region", {"AWS_REGION", "AWS_DEFAULT_REGION"})};
  if (address.region.empty()) address.region = "us-east-1";
  if (!is_header_text(address.region)) return refused("'" + address.region + "' is no region");
  address.ca_file = options.setting("AWS_CA_BUNDLE").value_or("");
  std::string prefix = url.path;
  while (prefix.ends_with('/')) prefix.pop_back();
  if (!prefix.empty()) {
    address.prefix = prefix.substr(1) + "/";
    if (auto done = port::check_prefix(address.prefix); !done) return tl::unexpected(done.error());
  }
  const std::string given = choice("endpoint", {"AWS_ENDPOINT_URL"});
  const auto endpoint =
      parse_store_url(given.empty() ? "https://s3." + address.region + ".amazonaws.com" : given);
  if (!endpoint || (endpoint->scheme != "http" && endpoint->scheme != "https") || endpoint->host.empty() ||
      endpoint->password || !endpoint->user.empty() || !endpoint->query.empty())
    return refused("'" + without_secrets(given) + "' is no endpoint");
  std::string path = endpoint->path;
  while (path.ends_with('/')) path.pop_back();
  std::string addressing = choice("addressing", {});
  // The host name of a bucket with a dot does not match a certificate for *.s3.amazonaws.com.
  const bool dotted = url.host.find('.') != std::string::npos;
  if (addressing.empty()) addressing = given.empty() && !dotted ? "virtual" : "path";
  if (addressing != "virtual" && addressing != "path") return refused("addressing is path or virtual");
  const bool is_virtual = addressing == "virtual";
  address.host = (is_virtual ? address.bucket + "." : "") + host_of(*endpoint);
  address.origin = endpoint->scheme + "://" + address.host;
  address.base = uri_encode(path, "/") + (is_virtual ? "" : "/" + address.bucket);
  return address;
}

Result<AwsCredentials> s3_credentials(const StoreOptions& options) {
  AwsCredentials credentials{.access_key_id = options.setting("AWS_ACCESS_KEY_ID").value_or(""),
                             .secret_access_key = options.setting("AWS_SECRET_ACCESS_KEY").value_or(""),
                             .session_token = options.setting("AWS_SESSION_TOKEN").value_or("")};
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty())
    return fail(
        ErrorKind::kDenied,
        "an S3 store needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment");
  for (const std::string* value : {&credentials.access_key_id, &credentials.session_token})
    if (!is_header_text(*value))
      return fail(ErrorKind::kDenied,
                  "a credential of the S3 store has a line break or a space in it; remove that");
  return credentials;
}

}  // namespace banyan::runtime
