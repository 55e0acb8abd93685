// What the hosts say of one session's replicas, taken together.
#pragma once

#include <optional>

#include "node/gateway_context.h"
#include "node/gateway_records.h"

namespace banyan::node {

/// Answers from the hosts' last reports; it keeps nothing itself.
class ReplicaReports {
 public:
  /// Both outlive this.
  ReplicaReports(const GatewayContext& gateway, const SessionRecord& record)
      : gateway_(gateway), record_(record) {}

  /// The last report of the replica on that host, also of a host that is silent; null when there is none.
  /// What the host says of a replica that is not the session's does not count: an earlier session had the
  /// same id.
  [[nodiscard]] const ReplicaReport* on(const HostId& host) const;
  /// The report that knows most, of the highest epoch and commit, among those of hosts that can be counted on
  /// and whose replicas the session's log names. Null when there is none.
  [[nodiscard]] const ReplicaReport* newest() const;
  /// The host can be counted on, and its worker answers, at the latest when its cell has ended.
  [[nodiscard]] bool worker_ready(const HostId& host) const;
  /// One of the replicas has such a worker.
  [[nodiscard]] bool worker_ready() const;
  /// The variables of the worker on that host are those of head, of the newest commit.
  [[nodiscard]] bool shows_head(const HostId& host) const;
  /// The session has no workers until somebody needs them.
  [[nodiscard]] bool suspended() const;
  /// None of the replicas has a worker, as far as the hosts that answer say.
  [[nodiscard]] bool without_workers() const;

 private:
  const GatewayContext& gateway_;
  const SessionRecord& record_;
};

}  // namespace banyan::node
