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
  Duration silence_timeout = 300s;  ///< a peer silent for half of it is pinged, for all of it given up
  Duration close_timeout = 5s;      ///< for flushing the queue and the closing handshake
  bool fragments = false;           ///< sends in pieces of 64 KiB: pings pass long messages
};

/// One WebSocket. Used on one thread, the one that runs its executor. Destroying it drops the connection,
/// unless it is closing: then that goes on in the background.
class MessageSocket {
 public:
  struct Impl;
  /// For the factories: connect() here, incoming_socket() in server_socket.h.
  explicit MessageSocket(std::shared_ptr<Impl> impl);
  ~MessageSocket();
  MessageSocket(MessageSocket&& other) noexcept = default;
  MessageSocket& operator=(MessageSocket&& other) noexcept;

  /// Connects to `target` (a path with its query, below the endpoint's base). kDenied for 401 and 403,
  /// kNotFound for 404, otherwise kUnavailable.
  static boost::asio::awaitable<Result<MessageSocket>> connect(Endpoint endpoint, std::string target,
                                                               jupyter::SubProtocol protocol,
                                                               SocketOptions options = {});

  /// The next message; one call at a time. kInvalid: it was malformed. The gateway's side then closes with
  /// 1002, 1003 or 1007; the client's side skips it and may go on reading, for what a kernel wrote must not
  /// end the connection. After any other failure the socket is closed, or closing (1009: too large,
  /// kTooLarge).
  boost::asio::awaitable<Result<jupyter::Message>> read();
  /// The next frame, whole and in one piece, instead. It fails only when the socket is closed, or closing.
  boost::asio::awaitable<Result<jupyter::Frame>> read_frame();

  /// Queues a message. Ignored once the socket closes.
  void send(const jupyter::Message& message);
  /// Queues a frame as it is.
  void send_frame(jupyter::Frame frame);
  /// Called with Message::size() (of a frame: its bytes) each time one has been taken by the kernel's socket
  /// buffer, in order.
  void on_drained(std::function<void(std::uint64_t bytes)> handler);

  /// Queues a ping. Whatever answers it has read all that was sent before (RFC 6455, 5.5).
  void ping(std::string_view payload);
  /// Called for each ping and pong that arrives, within read(); a ping is answered without it.
  enum class Control : std::uint8_t { kPing, kPong };
  void on_control(std::function<void(Control kind, std::string_view payload)> handler);

  /// Sends what is queued, then the close frame, and waits close_timeout at most for the peer's. Reasons are
  /// cut to 123 bytes.
  void close(int code, std::string reason);

  /// Ends the connection at once, without a close frame.
  void drop();

  /// The close code the peer sent, or the one it was sent first; 0 while open and after an abrupt end.
  [[nodiscard]] int close_code() const;
  [[nodiscard]] jupyter::SubProtocol protocol() const;
  /// Bytes queued and not yet taken by the kernel's socket buffer.
  [[nodiscard]] std::uint64_t queued() const;

  /// For the server's side, in server_socket.h.
  [[nodiscard]] const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace banyan::runtime
