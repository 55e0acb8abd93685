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
/// listen. A host that was removed stays removed until somebody adds it again, also where the configuration
/// names it or its host agent still runs.
class HostDirectory {
 public:
  /// `gateway` outlives this.
  explicit HostDirectory(GatewayContext& gateway) : gateway_(gateway) {}

  /// Begins a life: with what the configuration says, changed by what the control store says.
  void recover(std::map<HostId, HostRecord> stored);

  // What somebody who runs the platform wants. `request` is answered with 204 when the change is durable.
  /// A host that is drained or was removed takes part again. False for a host that was never one: only who
  /// has the cluster's secret may say where a new host listens, because the gateway shows the secret there.
  bool add(const HostId& host, RequestId request);
  /// The replicas of a host that is there move to other hosts, and it gets no new ones. `force`: also where a
  /// session loses a variable by that.
  void drain(const HostId& host, bool force, RequestId request);
  /// Whether the host was one, and is none any more.
  [[nodiscard]] bool removed(const HostId& host) const;
  /// A host that is there is none of the platform's any more. What it holds counts as lost.
  void remove(const HostId& host, RequestId request);

  /// A peer has shown the cluster's secret and told where it listens: a new host registers itself by that.
  void on_introduced(const HostId& peer, const std::string& address);
  /// A frame came from what is no host of the platform.
  void on_stranger(const HostId& peer);
  /// The host has begun another life, and does not know who its peers are.
  void tell_peers_of(const HostId& host) const;

 private:
  void take(const HostId& host, HostRecord record);
  void store(const HostId& host, RequestId request);
  void tell_all() const;

  GatewayContext& gateway_;
  std::map<HostId, HostRecord> records_;  ///< of all hosts, those that were removed too
  std::set<HostId> strangers_;            ///< that the log has named
};

}  // namespace banyan::node
