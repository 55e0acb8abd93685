// The URL that names a data store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace banyan::runtime {

/// scheme://[user[:password]@]host[:port]/path[?name=value&…] (RFC 3986), percent-decoded.
struct StoreUrl {
  std::string scheme;  ///< lower case
  std::string user;
  std::optional<std::string> password;
  std::string host;
  std::optional<std::uint16_t> port;
  std::string path;  ///< with the slash that it begins with, or empty
  std::map<std::string, std::string> query;

  friend bool operator==(const StoreUrl&, const StoreUrl&) = default;
};

/// kInvalid says what is wrong, and shows no password.
Result<StoreUrl> parse_store_url(std::string_view text);

/// The URL without user and password: for messages.
std::string without_secrets(std::string_view url);

/// What tells stores apart: the URL without what only matters to its client. A folder, and what listens on
/// the loopback address, is one of this machine. Empty for what is no URL.
std::string place_of(std::string_view url);

/// kInvalid when the query has a name that is not one of `known`.
Result<Done> check_query(const StoreUrl& url, std::initializer_list<std::string_view> known);

}  // namespace banyan::runtime
