// The five sockets of a Jupyter kernel.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <zmq.hpp>

#include "core/jupyter/zmq_codec.h"
#include "runtime/kernel_shim/connection_file.h"
#include "runtime/kernel_shim/zmq_socket.h"

namespace banyan::runtime {

/// Binds shell, control and stdin (ROUTER), iopub (PUB) and the heartbeat, which it answers itself. Messages
/// that are not signed with the connection file's key, or are no Jupyter messages, are logged and dropped.
class ZmqFront {
 public:
  /// Takes a message of a client that was checked: its header is readable and its parts are JSON objects.
  using Requests = std::function<void(const jupyter::Header&, jupyter::WireMessage)>;
  using LogLine = std::function<void(const std::string&)>;

  /// Binds all sockets. kIo names the address that cannot be bound.
  static Result<std::unique_ptr<ZmqFront>> bind(boost::asio::io_context& loop, zmq::context_t& context,
                                                const ConnectionFile& file, Requests requests, LogLine log);
  ZmqFront(const ZmqFront&) = delete;

  /// Sends a message on its channel (shell, control or stdin) to the client with these identities.
  void reply(std::span<const std::string> identities, const jupyter::Message& message);

  /// Publishes on iopub. Waits while a subscriber is behind. A subscriber that stays behind for ten seconds
  /// loses messages from then on, until it has caught up.
  boost::asio::awaitable<void> publish(jupyter::Message message);

 private:
  ZmqFront(boost::asio::io_context& loop, const ConnectionFile& file, Requests requests, LogLine log);
  boost::asio::awaitable<void> serve(jupyter::Channel channel);
  boost::asio::awaitable<void> echo();
  void take(jupyter::Channel channel, const std::vector<Blob>& frames);

  boost::asio::io_context& loop_;
  jupyter::Signer signer_;
  Requests requests_;
  LogLine log_;
  std::map<jupyter::Channel, std::unique_ptr<ZmqSocket>> sockets_;
  std::unique_ptr<ZmqSocket> heartbeat_;
  bool losing_ = false;  ///< a subscriber has been behind for too long
};

}  // namespace banyan::runtime
