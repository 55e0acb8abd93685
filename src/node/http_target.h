// Request targets and credentials of HTTP requests. Source: RFC 3986, RFC 6750; Jupyter's "token" scheme.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace banyan::node {

/// A request target, taken apart and percent-decoded.
struct HttpTarget {
  std::vector<std::string> path;  ///< segments, without empty ones
  std::map<std::string, std::string> query;

  /// The segment in lower case, empty beyond the end. Clients may change the case of a path: compare words
  /// and ids with this.
  [[nodiscard]] std::string word(std::size_t index) const;
};

/// Never fails: what is no valid escape stays as it is.
HttpTarget parse_target(std::string_view target);

/// The credential in an `Authorization: token X` or `Bearer X` header (names in lower case), else in
/// `?token=`; empty when there is none.
std::string credential(const HttpTarget& target, const std::map<std::string, std::string>& headers);

/// Whether the request shows the token: as a credential, or in the cookie of an earlier answer. By cookie,
/// what is no GET or HEAD must repeat the `_xsrf` cookie in X-XSRFToken: pages of other sites cannot read it
/// (Tornado's rule, and jupyter_server's). `headers` have their names in lower case.
bool shows_token(std::string_view method, const HttpTarget& target,
                 const std::map<std::string, std::string>& headers, std::string_view token);

/// The Set-Cookie values that let a browser on this Host show the token from now on.
std::vector<std::string> token_cookies(const std::map<std::string, std::string>& headers,
                                       std::string_view token, std::string_view xsrf);

/// Compares in a time that depends on the lengths only.
bool same_secret(std::string_view a, std::string_view b);

/// `text` in lower case (ASCII).
std::string lower(std::string_view text);
/// True for the text of a UUID, in lower case.
bool is_uuid(std::string_view text);

}  // namespace banyan::node
