#include "node/host_reports.h"

#include <utility>

#include "base/codec.h"

namespace banyan::node {

HostReports::HostReports(HostContext& host, const HostConfig& config) : host_(host) {
  figures_.store = config.store;
  set_devices(config.devices);
  figures_.takes_addresses = true;
}

void HostReports::set_figures(const HostFigures& said) {
  figures_.cpus = said.cpus;
  figures_.memory_bytes = said.memory_bytes;
  figures_.resident_bytes = said.resident_bytes;
  set_devices(said.devices);
}

void HostReports::set_devices(std::vector<cluster::Device> devices) {
  figures_.gpus = devices.size();
  figures_.devices = std::move(devices);
}

void HostReports::on_closed(const SessionId& session) {
  reported_.erase(session);
  closed_.push_back(session);
}

void HostReports::send(std::vector<ReplicaReport> replicas, bool whole) {
  HostReport report = begin(std::move(replicas), whole);
  std::string figures = encode(figures_);
  if (!whole && report.replicas.empty() && report.closed.empty() && figures == reported_figures_) return;
  reported_figures_ = std::move(figures);
  host_.send(kGateway, std::move(report));
}

void HostReports::send_soon(std::vector<ReplicaReport> replicas) {
  HostReport report = begin(std::move(replicas), false);
  if (!report.replicas.empty() || !report.closed.empty()) host_.send(kGateway, std::move(report));
}

/// Replicas that have gone are in the next report, whichever that is: said later, it would be taken for the
/// end of a replica that was opened since.
HostReport HostReports::begin(std::vector<ReplicaReport> replicas, bool whole) {
  HostReport report = figures_;
  report.whole = whole;
  report.closed = std::exchange(closed_, {});
  for (ReplicaReport& one : replicas) {
    std::string encoded = encode(one);
    std::string& before = reported_[one.session];
    if (!whole && before == encoded) continue;
    before = std::move(encoded);
    report.replicas.push_back(std::move(one));
  }
  return report;
}

}  // namespace banyan::node
