// The network, as a daemon sees it.
#pragma once

#include <string>

#include "node/protocol.h"

namespace banyan::port {

/// Carries frames to peers. It may lose, repeat and reorder frames, and never corrupts them. It neither
/// blocks nor fails: a frame for a peer that cannot be reached is dropped. Frames that arrive become
/// FrameArrived events of the owner.
class Network {
 public:
  virtual ~Network() = default;
  virtual void send(const HostId& to, node::PeerFrame frame) = 0;
  /// Frames can be sent to the peer from now on. When it had another address before, that one is given up.
  /// The peer is whoever has `key` (hex digits): others that use its name are refused, also those that were
  /// taken for it before. An empty key says nothing: the key that was said or proven before counts.
  virtual void connect(const HostId& peer, const std::string& address, const std::string& key) = 0;
  /// Frames to the peer are dropped from now on, and it is forgotten which key its name belongs to.
  virtual void disconnect(const HostId& peer) = 0;
};

}  // namespace banyan::port
