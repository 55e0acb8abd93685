// Where a gateway is reached, and with what token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace banyan::runtime {

struct Endpoint {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8888;
  std::string base;   ///< path prefix without a trailing slash; empty for none
  std::string token;  ///< sent as `Authorization: token …`; empty for none

  /// host:port for messages and the Host header, IPv6 addresses in brackets; never the token.
  [[nodiscard]] std::string authority() const;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Reads `http://host[:port][/base][?token=…]`. A port that is absent is 80. kInvalid says what is wrong
/// without repeating the token.
Result<Endpoint> parse_endpoint(std::string_view url);

/// `text` with every byte outside the unreserved set of RFC 3986 as %XX: for a path segment or a query value.
std::string percent_encode(std::string_view text);

}  // namespace banyan::runtime
