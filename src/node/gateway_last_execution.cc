#include "node/gateway_last_execution.h"

namespace banyan::node {

void LastExecution::on_ended(const HostId& host, CommitId commit) {
  if (commit <= commit_) return;
  commit_ = commit;
  told_by_ = host;
}

void LastExecution::reset() {
  commit_ = {};
  told_by_.reset();
}

std::optional<HostId> LastExecution::host() const {
  const ReplicaReport* const newest = reports_.newest();
  if (newest == nullptr) return std::nullopt;
  // Who told of the last end has that commit, others may not.
  if (reports_lag() && told_by_ && gateway_.usable(*told_by_) && record_.member_on(*told_by_))
    return told_by_;
  // Before the first cell, and when the executor has left, the leader is the best guess: its proposals need
  // no detour.
  bool leaves = false;
  for (const ReplicaId replica : {newest->executor, newest->leader}) {
    const auto member = record_.committed.find(replica);
    if (member == record_.committed.end()) continue;
    if (record_.member_on(member->second)) return member->second;
    leaves = true;  // the next cell would be lost with it
  }
  for (const auto& [replica, host] : record_.committed)
    if (leaves && record_.member_on(host) && gateway_.usable(host)) return host;
  return std::nullopt;
}

bool LastExecution::reports_lag() const {
  const ReplicaReport* const newest = reports_.newest();
  return newest != nullptr && newest->last < commit_;
}

}  // namespace banyan::node
