// The network, as a daemon sees it.
#pragma once

#include "node/protocol.h"

namespace banyan::port {

/// Carries frames to peers. It may lose, repeat and reorder frames, and never corrupts them. It neither
/// blocks nor fails: a frame for a peer that cannot be reached is dropped. Frames that arrive become
/// FrameArrived events of the owner.
class Network {
 public:
  virtual ~Network() = default;
  virtual void send(const HostId& to, node::PeerFrame frame) = 0;
};

}  // namespace banyan::port
