// What the gateway is told of this host.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "node/host_context.h"

namespace banyan::node {

/// Reports of the host's figures, kernels and replicas. A report that is not whole has only what is new. The
/// HostContext outlives it.
class HostReports {
 public:
  HostReports(HostContext& host, const HostConfig& config);

  void set_figures(const HostFigures& said);
  void set_kernels(std::vector<KernelReport> kernels) { figures_.kernels = std::move(kernels); }
  /// The host has no replica of the session any more.
  void on_closed(const SessionId& session);

  /// With each tick, of all replicas; `whole`: the gateway knows nothing of them.
  void send(std::vector<ReplicaReport> replicas, bool whole);
  /// At the end of a step, of those replicas that are not to wait for a tick.
  void send_soon(std::vector<ReplicaReport> replicas);

 private:
  void set_devices(std::vector<cluster::Device> devices);
  HostReport begin(std::vector<ReplicaReport> replicas, bool whole);

  HostContext& host_;
  HostReport figures_;
  std::string reported_figures_;               ///< what the gateway last heard, encoded
  std::map<SessionId, std::string> reported_;  ///< the same of replicas
  std::vector<SessionId> closed_;
};

}  // namespace banyan::node
