// Which hosts the platform has: those that the gateway's configuration names, and those that registered
// themselves while the gateway ran.
#pragma once

#include <map>
#include <set>
#include <string>

#include "node/gateway_context.h"
#include "node/gateway_records.h"

namespace banyan::node {

/// Keeps the records of hosts, opens and ends the connections to them, and tells hosts where the others
/// listen and which keys they have. A host that was removed stays removed until somebody adds it again, also
/// where the configuration names it or its host agent still runs.
///
/// The name of a host belongs to the key that was proven for it first. The network refuses others; a host
/// that is removed loses its key, so that it can come back with another one.
class HostDirectory {
 public:
  /// `gateway` outlives this.
  explicit HostDirectory(GatewayContext& gateway) : gateway_(gateway) {}

  /// Begins a life: with what the configuration says, changed by what the control store says.
  void recover(std::map<HostId, HostRecord> stored);

  // What somebody who runs the platform wants. `request` is answered with 204 when the change is durable.
  /// A host that is drained or was removed takes part again. False for a host that was never one: only a host
  /// agent can say where a new host listens and which key it has, and it registers itself.
  bool add(const HostId& host, RequestId request);
  /// The replicas of a host that is there move to other hosts, and it gets no new ones. `force`: also where a
  /// session loses a variable by that.
  void drain(const HostId& host, bool force, RequestId request);
  /// Whether the host was one, and is none any more.
  [[nodiscard]] bool removed(const HostId& host) const;
  /// A host that is there is none of the platform's any more. What it holds counts as lost.
  void remove(const HostId& host, RequestId request);

  /// A peer has proven the cluster's secret and its key. When it has told where it listens, a new host
  /// registers itself by that.
  void on_introduced(const PeerIntroduced& said);
  /// A frame came from what is no host of the platform.
  void on_stranger(const HostId& peer);
  /// The host has begun another life, and does not know who its peers are.
  void tell_peers_of(const HostId& host) const;

 private:
  void take(const HostId& host, HostRecord record);
  [[nodiscard]] bool learn_key(const HostId& host, const std::string& key);
  [[nodiscard]] std::string stored(const HostId& host) const;
  void store(const HostId& host, RequestId request);
  void tell_all() const;

  GatewayContext& gateway_;
  std::map<HostId, HostRecord> records_;  ///< of all hosts, those that were removed too
  std::set<HostId> strangers_;            ///< that were logged
  std::set<HostId> impostors_;            ///< names that were used with another key, and logged
};

}  // namespace banyan::node
