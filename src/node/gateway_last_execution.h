// Where a session's last cell ran.
#pragma once

#include <optional>

#include "node/gateway_reports.h"

namespace banyan::node {

/// Ends of cells overtake the hosts' reports, so that both are asked. Of cells that ended in an earlier life
/// of the gateway only the reports tell.
class LastExecution {
 public:
  /// All of these outlive this.
  LastExecution(const GatewayContext& gateway, const SessionRecord& record, const ReplicaReports& reports)
      : gateway_(gateway), record_(record), reports_(reports) {}

  /// `host` tells that a cell has ended with this commit.
  void on_ended(const HostId& host, CommitId commit);
  /// The kernel was restarted: there has been no cell.
  void reset();

  /// The host of the executor; nothing when there is none.
  [[nodiscard]] std::optional<HostId> host() const;
  /// A host has told of a commit that the newest report does not have.
  [[nodiscard]] bool reports_lag() const;
  /// The commit of the last cell that ended in this life of the gateway.
  [[nodiscard]] CommitId commit() const { return commit_; }
  /// Who told of that end.
  [[nodiscard]] const std::optional<HostId>& told_by() const { return told_by_; }

 private:
  const GatewayContext& gateway_;
  const SessionRecord& record_;
  const ReplicaReports& reports_;
  CommitId commit_;
  std::optional<HostId> told_by_;
};

}  // namespace banyan::node
