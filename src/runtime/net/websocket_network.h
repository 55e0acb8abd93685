// The live port::Network: one WebSocket in each direction between any two daemons.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "port/network.h"
#include "runtime/loop/loop.h"

namespace banyan::runtime {

/// Who this daemon is, where it listens, and where its peers do.
struct NetConfig {
  HostId self;
  std::string listen;                   ///< "127.0.0.1:7401"; port 0: the system chooses
  std::map<HostId, std::string> peers;  ///< where the others listen
  std::string secret;                   ///< the cluster's: a daemon without it is refused
  /// Where the others reach this daemon, which it tells each peer that it connects to. Empty: `listen`, or
  /// nothing when that means all of the machine's addresses.
  std::string advertise = {};
  std::uint64_t queue_bytes_max =
      64 << 20;  ///< the limit of a peer's queue; a frame that does not fit behind others is dropped
};

/// Keeps a connection open to every peer and comes back after breaks (50 ms to 1 s). Frames may be lost when
/// a connection breaks or a queue is full. A peer whose process ends is noticed at once, a silent network
/// within about 4 s. A frame that does not decode counts as lost.
class WebSocketNetwork final : public port::Network {
 public:
  /// Called on the loop. `up` and `down` come in turns and are about the outgoing connection to a peer.
  /// `refused` comes with a reason when the peer does not want this daemon; it is not repeated before the
  /// peer has accepted once.
  struct Handlers {
    std::function<void(HostId from, node::PeerFrame frame)> frame;
    std::function<void(HostId peer)> up;
    std::function<void(HostId peer)> down;
    std::function<void(HostId peer, std::string why)> refused = {};
    /// A peer has connected and told where it listens.
    std::function<void(HostId peer, std::string address)> introduced = {};
  };

  /// Listens and connects. kInvalid for an address that is none, kIo when it cannot be listened on. `loop`
  /// must outlive the network.
  static Result<std::unique_ptr<WebSocketNetwork>> start(Loop& loop, NetConfig config, Handlers handlers);
  ~WebSocketNetwork() override;

  void send(const HostId& to, node::PeerFrame frame) override;
  /// A peer that NetConfig names is connected at the address that it has there. An address that is none is
  /// told to Handlers::refused.
  void connect(const HostId& peer, const std::string& address) override;
  void disconnect(const HostId& peer) override;
  /// The port on which this daemon listens.
  [[nodiscard]] int port() const;
  /// How many frames were dropped because there was no connection or its queue was full.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct Impl;
  explicit WebSocketNetwork(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace banyan::runtime
