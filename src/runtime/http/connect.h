// TCP connections. Includes Beast: for .cc files only.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include "base/result.h"
#include "base/time.h"
#include "runtime/http/endpoint.h"

namespace banyan::runtime {

/// Resolves the name and connects, with TCP_NODELAY. kUnavailable names the address.
boost::asio::awaitable<Result<boost::beast::tcp_stream>> connect_stream(const Endpoint& endpoint,
                                                                        Duration timeout);

}  // namespace banyan::runtime
