// Which hosts the platform has: those that the gateway's configuration names, and those that were added, or
// that registered themselves, while the gateway ran.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/result.h"
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
  /// The host is one of the platform's. One that is drained or was removed takes part again; then `address`
  /// may be empty. kInvalid for a bad name or address.
  Result<Done> add(const HostId& host, const std::string& address, RequestId request);
  /// The replicas of a host that is there move to other hosts, and it gets no new ones. `force`: also where a
  /// session loses a variable by that.
  void drain(const HostId& host, bool force, RequestId request);
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
