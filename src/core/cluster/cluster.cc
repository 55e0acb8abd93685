#include "core/cluster/cluster.h"

#include <algorithm>
#include <utility>

namespace banyan::cluster {

std::string minor_version(const std::string& python) {
  const auto dot = python.find('.');
  return dot == std::string::npos ? python : python.substr(0, python.find('.', dot + 1));
}

bool Cluster::report(const HostId& host, Capacity capacity, std::vector<KernelReport> kernels, Time now) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return false;
  Host& known = found->second;
  const bool other_kernels = kernels != known.kernels;
  const bool other_devices = capacity.devices != known.capacity.devices;
  if (other_kernels || known.state == HostState::kUnheard) known.kernels_since = now;
  if (other_devices) ledger_.set_devices(host, capacity.devices);
  known.capacity = std::move(capacity);
  known.kernels = std::move(kernels);
  return other_kernels || other_devices;
}

void Cluster::set_state(const HostId& host, HostState state) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return;
  found->second.state = state;
  ledger_.set_silent(host, state == HostState::kSilent);
  if (state == HostState::kUnheard) ledger_.forget_bound(host);
}

void Cluster::set_draining(const HostId& host, bool draining, bool forced) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return;
  found->second.draining = draining;
  found->second.forced = forced;
}

void Cluster::remove(const HostId& host) {
  if (hosts_.erase(host) == 0) return;
  ledger_.set_silent(host, false);
  ledger_.set_devices(host, {});
  ledger_.forget_bound(host);
}

void Cluster::hold(const SessionId& session, SessionKind kind, std::set<HostId> hosts) {
  subscribe(session, false);
  ledger_.set_owner(session, kind.owner);
  kinds_[session] = std::move(kind);
  ledger_.hold(session, std::move(hosts));
  subscribe(session, true);
}

/// Counts what the session holds now, or does so no more.
void Cluster::subscribe(const SessionId& session, bool more) {
  const auto kind = kinds_.find(session);
  if (kind == kinds_.end() || kind->second.demand.gpus == 0) return;
  for (const HostId& host : ledger_.replicas_of(session)) {
    std::uint64_t& gpus = subscribed_[host];
    gpus = more ? gpus + kind->second.demand.gpus : gpus - kind->second.demand.gpus;
    if (gpus == 0) subscribed_.erase(host);
  }
}

std::uint64_t Cluster::subscribed_gpus(const HostId& host) const {
  const auto found = subscribed_.find(host);
  return found == subscribed_.end() ? 0 : found->second;
}

void Cluster::add_replica(const SessionId& session, const HostId& host) {
  std::set<HostId> hosts = ledger_.replicas_of(session);
  hosts.insert(host);
  subscribe(session, false);
  ledger_.hold(session, std::move(hosts));
  subscribe(session, true);
}

void Cluster::drop(const SessionId& session) {
  subscribe(session, false);
  kinds_.erase(session);
  ledger_.drop(session);
}

bool Cluster::usable(const HostId& host) const {
  const auto found = hosts_.find(host);
  return found != hosts_.end() && found->second.state == HostState::kUp;
}

bool Cluster::draining(const HostId& host) const {
  const auto found = hosts_.find(host);
  return found != hosts_.end() && found->second.draining;
}

bool Cluster::takes_replicas(const HostId& host) const { return usable(host) && !draining(host); }

std::uint64_t Cluster::gpus_of(const HostId& host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? 0 : found->second.capacity.gpus;
}

KernelReport Cluster::kernel_on(const HostId& host, const std::string& kernel) const {
  const auto known = hosts_.find(host);
  if (known == hosts_.end() || known->second.state == HostState::kUnheard)
    return {kernel, KernelState::kChecking, {}, "it has not said yet which kernels it can run"};
  const bool is_default = kernel == default_kernel_;
  const std::vector<KernelReport>& kernels = known->second.kernels;
  const auto found = std::ranges::find_if(kernels, [&](const KernelReport& one) {
    return one.name == kernel || (one.name.empty() && is_default);
  });
  if (found != kernels.end()) {
    KernelReport report = *found;
    report.name = kernel;
    if (report.state == KernelState::kChecking) report.reason = "its Python is still being tried";
    return report;
  }
  if (kernels.empty() && is_default) return {kernel, KernelState::kRuns, {}, {}};
  return {kernel, KernelState::kCannot, {}, "its configuration does not name this kernel"};
}

bool Cluster::is_trying(const HostId& host, const std::string& kernel) const {
  return kernel_on(host, kernel).state == KernelState::kChecking;
}

const SessionKind* Cluster::kind_of(const SessionId& session) const {
  const auto known = kinds_.find(session);
  return known == kinds_.end() ? nullptr : &known->second;
}

bool Cluster::is_unable(const HostId& host, const SessionId& session) const {
  const SessionKind* const kind = kind_of(session);
  return kind != nullptr && kernel_on(host, kind->kernel).state == KernelState::kCannot;
}

std::optional<std::string> Cluster::why_too_small(const HostId& host, const Demand& demand) const {
  const DeviceCounts counts = ledger_.device_counts(host);
  if (counts.idle + counts.bound >= demand.gpus) return std::nullopt;
  return "it has " + std::to_string(counts.idle + counts.bound) + " GPUs that work, and each cell needs " +
         std::to_string(demand.gpus);
}

std::optional<Time> Cluster::unable_since(const HostId& host, const std::string& kernel) const {
  if (kernel_on(host, kernel).state != KernelState::kCannot) return std::nullopt;
  return hosts_.at(host).kernels_since;
}

std::optional<std::string> Cluster::why_not_on(const HostId& host, const SessionId& session) const {
  const auto known = kinds_.find(session);
  if (known == kinds_.end()) return "its session is not known";
  const std::string& kernel = known->second.kernel;
  const KernelReport there = kernel_on(host, kernel);
  if (there.state != KernelState::kRuns) return there.reason;
  if (auto reason = why_too_small(host, known->second.demand)) return reason;
  const std::string python = minor_version(there.python);
  if (python.empty()) return std::nullopt;
  std::string others;
  for (const HostId& member : ledger_.replicas_of(session)) {
    const std::string version = minor_version(kernel_on(member, kernel).python);
    if (version == python) return std::nullopt;
    if (!version.empty()) others = version;
  }
  if (others.empty()) return std::nullopt;
  return "its Python for this kernel is " + python + ", and the session's values are of Python " + others;
}

std::string Cluster::hosts_unable(const std::string& kernel) const {
  std::map<std::string, std::string> names;  // names of hosts, by the reason that they give
  for (const auto& [host, known] : hosts_) {
    const KernelReport report = kernel_on(host, kernel);
    if (report.state != KernelState::kCannot) continue;
    std::string& same = names[report.reason];
    same += (same.empty() ? "" : ", ") + host.value;
  }
  std::string text;
  for (const auto& [reason, hosts] : names) text += " " + hosts + " cannot run it: " + reason + ".";
  return text;
}

std::optional<std::string> Cluster::no_host_runs(const std::string& kernel) const {
  const bool one_may = std::ranges::any_of(
      hosts_, [&](const auto& item) { return kernel_on(item.first, kernel).state != KernelState::kCannot; });
  if (one_may || hosts_.empty()) return std::nullopt;
  return "No host can run the kernel \"" + kernel + "\"." + hosts_unable(kernel);
}

}  // namespace banyan::cluster
