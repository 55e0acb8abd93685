// The server's side of a WebSocket, from the upgrade request to the open socket. Includes Beast: for .cc
// files only.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "runtime/http/message_socket.h"

namespace banyan::runtime {

using UpgradeRequest = boost::beast::http::request<boost::beast::http::string_body>;

/// A socket whose client still waits for the answer to its upgrade request. Messages are queued until
/// accept_upgrade().
MessageSocket incoming_socket(boost::beast::tcp_stream stream, jupyter::SubProtocol protocol,
                              SocketOptions options);

/// The connection of a socket that was not accepted: for the answer that refuses the upgrade.
boost::beast::tcp_stream& stream_of(MessageSocket& socket);

/// Completes the handshake, with the sub-protocol of the socket.
boost::asio::awaitable<Result<Done>> accept_upgrade(MessageSocket& socket, const UpgradeRequest& request);

}  // namespace banyan::runtime
