// The other hosts of the platform, as the gateway tells them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "node/host_events.h"

namespace banyan::node {

/// Connects a host to all others, each under its key, so that hosts check each other. Peers that only the
/// host's configuration names keep their connections.
class HostPeers {
 public:
  explicit HostPeers(HostId self) : self_(std::move(self)) {}

  /// What the gateway says replaces what it said before.
  [[nodiscard]] std::vector<HostEffect> take(PeerAddresses said) {
    std::vector<HostEffect> effects;
    said.peers.erase(self_);
    for (const auto& [peer, address] : peers_)
      if (!said.peers.contains(peer)) effects.emplace_back(DisconnectPeer{peer});
    for (const auto& [peer, address] : said.peers)
      effects.emplace_back(ConnectPeer{peer, address, std::move(said.keys[peer])});
    peers_ = std::move(said.peers);
    return effects;
  }

 private:
  HostId self_;
  std::map<HostId, std::string> peers_;
};

}  // namespace banyan::node
