// A small HTTP client for the gateway's REST interface.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "runtime/http/endpoint.h"
#include "runtime/http/origin.h"

namespace banyan::runtime {

/// A request.
struct HttpCall {
  std::string method = "GET";
  std::string target;     ///< the path and query, below the endpoint's base
  std::string body = {};  ///< JSON
  Headers headers = {};
  Duration timeout = 60s;
  std::size_t body_bytes_max = 64 << 20;
};

/// The answer to a request.
struct HttpAnswer {
  int status = 0;
  Headers headers;
  std::string body;
};

/// Makes a request on a connection of its own, with the endpoint's token. An answer with any status is a
/// success; kUnavailable when the gateway cannot be reached or breaks off.
boost::asio::awaitable<Result<HttpAnswer>> http_call(Endpoint endpoint, HttpCall call);

}  // namespace banyan::runtime
