// A WebSocket that carries Jupyter messages, or frames as they are: the same for both sides.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "core/jupyter/ws_protocol.h"
#include "runtime/http/endpoint.h"

namespace banyan::runtime {

/// Limits and time limits of one WebSocket.
struct SocketOptions {
  std::size_t message_bytes_max = 256 << 20;  ///< a longer incoming message closes with 1009
  std::size_t queue_bytes_max = 512 << 20;    ///< an outgoing queue that passes this closes with 1011
  Duration handshake_timeout = 30s;
  Duration silence_timeout =
      300s;                     ///< a peer that is silent for half of it is pinged, for all of it given up
  Duration close_timeout = 5s;  ///< the limit for flushing the queue and the closing handshake
  bool fragments = false;       ///< messages go in pieces of 64 KiB, so that pings pass long ones
};

/// One WebSocket, for the thread that runs its executor. Destroying it drops the connection; a close that has
/// begun goes on in the background.
class MessageSocket {
 public:
  struct Impl;
  /// For connect() below and incoming_socket() in server_socket.h, which make sockets.
  explicit MessageSocket(std::shared_ptr<Impl> impl);
  ~MessageSocket();
  MessageSocket(MessageSocket&& other) noexcept = default;
  MessageSocket& operator=(MessageSocket&& other) noexcept;

  /// Connects to `target` (a path with its query, below the endpoint's base). kDenied for 401 and 403,
  /// kNotFound for 404, otherwise kUnavailable.
  static boost::asio::awaitable<Result<MessageSocket>> connect(Endpoint endpoint, std::string target,
                                                               jupyter::SubProtocol protocol,
                                                               SocketOptions options = {});

  /// Reads the next message; one call at a time. kInvalid when it is malformed: the gateway's side then
  /// closes with 1002, 1003 or 1007, while the client's side skips it and may go on reading, because what a
  /// kernel wrote must not end the connection. After any other failure the socket is closed or closing
  /// (kTooLarge: with 1009).
  boost::asio::awaitable<Result<jupyter::Message>> read();
  /// Reads the next frame instead, whole and in one piece. Fails only when the socket is closed or closing.
  boost::asio::awaitable<Result<jupyter::Frame>> read_frame();
  /// From the next read on, incoming messages may have so many bytes: a peer that has proven who it is may
  /// send larger ones than a stranger.
  void set_message_bytes_max(std::size_t bytes);

  /// Queues a message. Without effect once the socket closes.
  void send(const jupyter::Message& message);
  /// Queues a frame as it is.
  void send_frame(jupyter::Frame frame);
  /// Sets a handler that is called, in order, when the system's socket buffer has taken a message: with its
  /// Message::size(), or the bytes of a frame.
  void on_drained(std::function<void(std::uint64_t bytes)> handler);

  /// Queues a ping. Whoever answers it has read everything that was sent before it (RFC 6455, 5.5).
  void ping(std::string_view payload);
  /// What on_control() tells of: each ping and pong that arrives, from within read(). Pings are answered in
  /// any case.
  enum class Control : std::uint8_t { kPing, kPong };
  void on_control(std::function<void(Control kind, std::string_view payload)> handler);

  /// Sends what is queued and then the close frame, and waits at most close_timeout for the peer's close
  /// frame. Reasons are cut to 123 bytes.
  void close(int code, std::string reason);

  /// Ends the connection at once, without a close frame.
  void drop();

  /// The close code that was sent first, by the peer or by us; 0 while the socket is open and after an abrupt
  /// end.
  [[nodiscard]] int close_code() const;
  [[nodiscard]] jupyter::SubProtocol protocol() const;
  /// How many bytes are queued that the system's socket buffer has not taken.
  [[nodiscard]] std::uint64_t queued() const;

  /// For server_socket.h.
  [[nodiscard]] const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace banyan::runtime
