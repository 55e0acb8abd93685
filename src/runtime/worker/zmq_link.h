// The Jupyter sockets of one worker, from the side of a client.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <zmq.hpp>

#include "core/jupyter/zmq_codec.h"

namespace banyan::runtime {

/// The `ipc://` endpoints of a worker: PREFIX-1 to PREFIX-5 (shell, iopub, stdin, control, heartbeat).
struct Endpoints {
  std::string prefix;  ///< a path; at most kIpcPrefixMax bytes

  [[nodiscard]] static int port(jupyter::Channel channel);
  [[nodiscard]] std::string path(int port) const { return prefix + "-" + std::to_string(port); }
};
inline constexpr int kHeartbeatPort = 5;
/// sockaddr_un::sun_path has 108 bytes; the suffix and the final zero take three.
inline constexpr std::size_t kIpcPrefixMax = 105;

/// DEALER sockets to shell, control and stdin and a SUB socket to iopub. Messages are signed with the
/// connection file's key. The link is ready once the worker answers and its output arrives here; the messages
/// that it took to find that out are not delivered. All calls and handlers are on the loop's thread; a
/// handler may destroy the link.
///
/// Output is never dropped: beyond a high-water mark here it waits in the worker, which has no mark.
class ZmqLink {
 public:
  struct Handlers {
    std::function<void()> ready;  ///< called once
    std::function<void(jupyter::Message)> message;
    /// The worker sent something that is no valid message (it was dropped), or too much that was sent to the
    /// worker is unread (kTooLarge).
    std::function<void(Error)> problem;
  };

  /// Connects to a worker that has bound its sockets. `loop` and `context` must outlive the link. kIo when
  /// the system has no more sockets.
  static Result<std::unique_ptr<ZmqLink>> open(boost::asio::io_context& loop, zmq::context_t& context,
                                               const Endpoints& endpoints, const std::string& key,
                                               Handlers handlers);
  ZmqLink(const ZmqLink&) = delete;
  ~ZmqLink();

  void send(const jupyter::Message& message);
  /// The worker is gone: calls `done` when nothing more of what it wrote has arrived for a moment.
  void drain(std::function<void()> done);

 private:
  class Socket;

  ZmqLink(boost::asio::io_context& loop, const std::string& key, Handlers handlers);
  void connect(zmq::context_t& context, const Endpoints& endpoints);
  void received(jupyter::Channel channel, std::vector<Blob> frames);
  void nudge();
  bool is_nudge(const jupyter::Message& message) const;
  void check_ready();
  void drain_step(int quiet_rounds, int rounds_left, std::function<void()> done);

  boost::asio::io_context& loop_;
  jupyter::Signer signer_;
  Handlers handlers_;
  std::map<jupyter::Channel, std::unique_ptr<Socket>> sockets_;
  boost::asio::steady_timer timer_;
  std::string nudge_prefix_;
  int nudges_ = 0;
  bool answered_ = false;    ///< the worker has answered on shell
  bool subscribed_ = false;  ///< something has arrived on iopub
  bool ready_ = false;
  std::uint64_t received_ = 0;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

}  // namespace banyan::runtime
