#include "node/gateway_reports.h"

#include <algorithm>
#include <tuple>

namespace banyan::node {

const ReplicaReport* ReplicaReports::on(const HostId& host) const {
  const ReplicaReport* const report = gateway_.report_of(host, record_.id);
  if (report == nullptr) return nullptr;
  const bool own = record_.members.contains(report->replica) || record_.committed.contains(report->replica);
  return own ? report : nullptr;
}

const ReplicaReport* ReplicaReports::newest() const {
  const ReplicaReport* newest = nullptr;
  const auto rank = [](const ReplicaReport& r) { return std::tuple(r.epoch, r.last, r.term, r.amended); };
  for (const auto& [replica, host] : record_.committed) {
    const ReplicaReport* const report = on(host);
    if (report == nullptr || !gateway_.usable(host)) continue;
    if (newest == nullptr || rank(*newest) < rank(*report)) newest = report;
  }
  return newest;
}

bool ReplicaReports::worker_ready(const HostId& host) const {
  const ReplicaReport* const report = on(host);
  return gateway_.usable(host) && report != nullptr &&
         (report->worker == WorkerState::kReady || report->worker == WorkerState::kBusy);
}

bool ReplicaReports::worker_ready() const {
  return std::ranges::any_of(record_.committed,
                             [&](const auto& member) { return worker_ready(member.second); });
}

bool ReplicaReports::shows_head(const HostId& host) const {
  const ReplicaReport* const report = on(host);
  const ReplicaReport* const known = newest();
  return report != nullptr && known != nullptr && report->worker == WorkerState::kReady &&
         report->last == known->last && report->shown == report->last;
}

bool ReplicaReports::suspended() const {
  const ReplicaReport* const known = newest();
  return known != nullptr && known->suspended;
}

bool ReplicaReports::without_workers() const {
  return std::ranges::all_of(record_.committed, [&](const auto& member) {
    const ReplicaReport* const report = on(member.second);
    return report == nullptr || report->worker == WorkerState::kNone || !gateway_.usable(member.second);
  });
}

}  // namespace banyan::node
