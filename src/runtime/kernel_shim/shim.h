// One kernel of the gateway behind the sockets of a connection file.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <zmq.hpp>

#include "base/random.h"
#include "runtime/http/message_socket.h"
#include "runtime/kernel_shim/pending.h"
#include "runtime/kernel_shim/zmq_front.h"

namespace banyan::runtime {

/// Exit codes of `banyan kernel`.
enum class KernelExit : int {
  kDone = 0,        ///< shut down as asked
  kRefused = 1,     ///< the gateway would not start the kernel
  kUsage = 2,       ///< the connection file is wrong, or its ports are taken
  kNoGateway = 3,   ///< there is no gateway, or it refuses the token
  kKernelLost = 4,  ///< the gateway no longer has the kernel
};

/// What a shim needs to serve one kernel.
struct ShimOptions {
  Endpoint gateway;
  ConnectionFile connection;
  std::string kernel_name;                 ///< a kernelspec of the gateway; empty for its default
  std::map<std::string, std::string> env;  ///< given to the gateway when the kernel is created
  std::uint64_t seed = 0;                  ///< ids that the shim makes are drawn from it
  std::function<void(const std::string&)> log;
};

/// Creates a kernel at the gateway and carries its messages until it is shut down. Everything happens on one
/// thread.
class Shim {
 public:
  Shim(boost::asio::io_context& loop, ShimOptions options);
  ~Shim();

  /// Runs the loop until the kernel has ended.
  KernelExit run();

  /// Interrupts the running cell (on SIGINT).
  void interrupt();
  /// Deletes the kernel and ends run() (on SIGTERM, or when the parent has ended).
  void terminate();

 private:
  boost::asio::awaitable<void> start();
  boost::asio::awaitable<void> carry();
  boost::asio::awaitable<void> deliver(jupyter::Message message);
  boost::asio::awaitable<void> shut_down(jupyter::WireMessage request);
  boost::asio::awaitable<void> delete_kernel();
  void forward(const jupyter::Header& header, jupyter::WireMessage wire);
  jupyter::Message own_message(jupyter::Channel channel, std::string_view type, const std::string& parent,
                               std::string content);
  void end(KernelExit code);

  boost::asio::io_context& loop_;
  ShimOptions options_;
  Rng random_;
  zmq::context_t context_;
  std::unique_ptr<ZmqFront> front_;
  std::string kernel_id_;
  std::string
      client_id_;  ///< the session_id of our WebSocket, by which the gateway knows us after a reconnect
  std::string kernel_session_;  ///< the kernel's header.session, once it has sent a message
  Pending pending_;
  std::optional<MessageSocket> socket_;
  bool ending_ = false;
  std::optional<KernelExit> exit_;
};

}  // namespace banyan::runtime
