// The URL that names a data store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace banyan::runtime {

/// The parts of scheme://[user[:password]@]host[:port]/path[?name=value&…] (RFC 3986), percent-decoded.
struct StoreUrl {
  std::string scheme;  ///< in lower case
  std::string user;
  std::optional<std::string> password;
  std::string host;
  std::optional<std::uint16_t> port;
  std::string path;  ///< begins with a slash, or is empty
  std::map<std::string, std::string> query;

  friend bool operator==(const StoreUrl&, const StoreUrl&) = default;
};

/// Reads a URL. kInvalid says what is wrong without showing a password.
Result<StoreUrl> parse_store_url(std::string_view text);

/// The URL without user and password: for messages.
std::string without_secrets(std::string_view url);

/// The text by which stores are told apart: the URL without what matters only to its client. A folder, and a
/// server on the loopback address, gets this machine's name with it. Empty when `url` is no URL.
std::string place_of(std::string_view url);

/// kInvalid when the query has a name that is not one of `known`.
Result<Done> check_query(const StoreUrl& url, std::initializer_list<std::string_view> known);

}  // namespace banyan::runtime
