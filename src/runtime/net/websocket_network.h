// The live port::Network: one WebSocket in each direction between any two daemons.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "port/network.h"
#include "runtime/loop/loop.h"
#include "runtime/net/identity.h"

namespace banyan::runtime {

/// What a daemon knows from the start of the key that a name belongs to.
struct KnownKey {
  std::string key;     ///< Identity::key(); empty: whoever proves the name first has it
  std::string remedy;  ///< what a person does so that the name may belong to another key
};

/// What becomes of a peer that nobody has named.
enum class Strangers : std::uint8_t {
  kAreHeard,  ///< a name that nobody has is its owner's who proves it first, for as long as it is connected
  kWait,      ///< until somebody names them
};

/// Who this daemon is, where it listens, and where its peers do.
struct NetConfig {
  HostId self;
  Identity identity;                    ///< which proves that the name is its own
  std::string listen;                   ///< "127.0.0.1:7401"; port 0: the system chooses
  std::map<HostId, std::string> peers;  ///< where the others listen
  std::string secret;                   ///< the cluster's: a daemon that does not know it is refused
  /// Names for which the owner says more than connect() does. Where such a name has no key yet and `peers`
  /// says where it listens, its key is learned there, and not from whoever connects under it.
  std::map<HostId, KnownKey> keys = {};
  /// Whether a peer that neither this nor connect() has named is heard.
  Strangers strangers = Strangers::kAreHeard;
  /// Where the others reach this daemon, which it tells each peer that it connects to. Empty: `listen`, or
  /// nothing when that means all of the machine's addresses.
  std::string advertise = {};
  std::uint64_t queue_bytes_max =
      64 << 20;  ///< the limit of a peer's queue; a frame that does not fit behind others is dropped
};

/// Keeps a connection open to every peer and comes back after breaks (50 ms to 1 s). Frames may be lost when
/// a connection breaks or a queue is full. A peer whose process ends is noticed at once, a silent network
/// within about 4 s. A frame that does not decode counts as lost.
///
/// Both sides of a connection prove the cluster's secret and their keys before any frame counts
/// (handshake.h). A name belongs to one key: the one that NetConfig or connect() says, else the first one
/// that is proven for it, until disconnect(), or for a stranger until its last connection ends. Connections
/// under the name with another key are refused, and ended when connect() says another one.
class WebSocketNetwork final : public port::Network {
 public:
  /// Called on the loop. `up` and `down` come in turns and are about the outgoing connection to a peer.
  /// `refused` comes with a reason when there can be no connection to a peer, mostly because that does not
  /// want this daemon; it is not repeated before one has succeeded, or the reason is another one.
  struct Handlers {
    std::function<void(HostId from, node::PeerFrame frame)> frame;
    std::function<void(HostId peer)> up;
    std::function<void(HostId peer)> down;
    std::function<void(HostId peer, std::string why)> refused = {};
    /// This daemon does not want whoever uses the peer's name. It is told once for each key that the name
    /// belongs to.
    std::function<void(HostId peer, std::string why)> turned_away = {};
    /// A connection of either side is proven. `address` is where the peer says it listens; empty when this
    /// daemon has connected, when the peer does not say, and for an address that means another machine here.
    std::function<void(HostId peer, std::string address, std::string key)> introduced = {};
  };

  /// Listens and connects. kInvalid for an address that is none, kIo when it cannot be listened on. `loop`
  /// must outlive the network.
  static Result<std::unique_ptr<WebSocketNetwork>> start(Loop& loop, NetConfig config, Handlers handlers);
  ~WebSocketNetwork() override;

  void send(const HostId& to, node::PeerFrame frame) override;
  /// A peer that NetConfig names is connected at the address that it has there. An address that is none is
  /// told to Handlers::refused.
  void connect(const HostId& peer, const std::string& address, const std::string& key) override;
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
