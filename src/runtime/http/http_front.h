// The gateway's front door: an HTTP/1.1 and WebSocket server on one port.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "port/drivers.h"
#include "port/front.h"
#include "runtime/http/message_socket.h"

namespace boost::asio {
class io_context;
}

namespace banyan::runtime {

/// Address, limits and time limits of the server.
struct HttpOptions {
  std::string address = "127.0.0.1";         ///< a numeric address of this machine
  std::uint16_t port = 0;                    ///< 0: the system chooses one, and port() tells which
  std::vector<std::string> allowed_origins;  ///< web pages of other hosts that may call, "*" for all
  std::size_t header_bytes_max = 64 << 10;   ///< longer headers are answered with 431
  std::size_t body_bytes_max = 16 << 20;     ///< a longer body is answered with 413
  std::size_t connections_max = 4096;        ///< further ones are closed at once
  Duration idle_timeout = 75s;               ///< between two requests of a connection
  Duration header_timeout = 15s;             ///< from the first byte of a request to its last header line
  Duration body_timeout = 120s;              ///< the limit for reading a body, and for writing an answer
  Duration reply_timeout = 120s;             ///< the limit for the node's answer; a later one becomes a 504
  SocketOptions socket;
};

/// Turns what clients do into events: HttpRequest for each complete request, ClientOpening for each
/// WebSocket, then FromClient, ClientDrained and ClientConfirmed until one ClientClosed (none after
/// reject()). A malformed request or frame is answered here and ends its connection only. Everything happens
/// on the thread that runs `io`; events may be delivered from within a call of this class. Nothing it logs
/// contains a query or a header.
class HttpFront final : public port::Front {
 public:
  using Events = std::function<void(node::GatewayEvent)>;

  /// Binds and listens. kIo names the address and why.
  static Result<std::unique_ptr<HttpFront>> listen(boost::asio::io_context& io, HttpOptions options,
                                                   Events events, port::LogSink log);
  /// Drops all connections. No event comes after that.
  ~HttpFront() override;

  [[nodiscard]] std::uint16_t port() const;

  /// Takes no more connections and closes the WebSockets with 1011, so that clients come back to the
  /// gateway's next life. No event comes after that.
  void stop();

  void reply(node::HttpReply reply) override;
  void accept(ConnectionId id) override;
  void reject(node::RejectClient rejection) override;
  void send(ConnectionId id, jupyter::Message message) override;
  void ping(node::PingClient ping) override;
  void close(node::CloseClient close) override;

 private:
  struct Impl;
  explicit HttpFront(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace banyan::runtime
