#include "core/cluster/ledger.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace banyan::cluster {

void Ledger::hold(const SessionId& session, std::set<HostId> hosts) {
  for (const HostId& host : hosts) ++hosts_[host].replicas;
  release_replicas(std::exchange(sessions_[session].replicas, std::move(hosts)));
}

void Ledger::run(const SessionId& session, std::optional<Binding> binding) {
  if (!binding && !sessions_.contains(session)) return;
  if (binding) {
    ++hosts_[binding->host].cells;
    take(binding->host, session, binding->devices);
  }
  release_cell(session, std::exchange(sessions_[session].cell, std::move(binding)));
}

void Ledger::reserve(const SessionId& session, std::optional<Binding> binding) {
  if (!binding && !sessions_.contains(session)) return;
  CHECK(!binding || !binding->devices.empty(), "what is reserved is something");
  if (binding) take(binding->host, session, binding->devices);
  release_reserved(session, std::exchange(sessions_[session].reserved, std::move(binding)));
}

void Ledger::drop(const SessionId& session) {
  const auto found = sessions_.extract(session);
  if (found.empty()) return;
  release_replicas(found.mapped().replicas);
  release_cell(session, found.mapped().cell);
  release_reserved(session, found.mapped().reserved);
  holdings_.forget(session);
}

void Ledger::report_bound(const HostId& host, const SessionId& session, std::set<DeviceId> devices) {
  take(host, session, devices);
  auto& reported = hosts_[host].reported;
  if (const auto before = reported.extract(session)) release(host, session, before.mapped());
  if (!devices.empty()) reported.emplace(session, std::move(devices));
  forget_if_idle(host);
}

void Ledger::forget_bound(const HostId& host) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return;
  for (const auto& [session, devices] : std::exchange(found->second.reported, {}))
    release(host, session, devices);
  forget_if_idle(host);
}

void Ledger::set_devices(const HostId& host, std::vector<Device> devices) {
  Sum& sum = hosts_[host];
  sum.devices = std::move(devices);
  std::erase_if(sum.last, [&](const auto& item) {
    return !sum.bound.contains(item.first) &&
           std::ranges::find(sum.devices, item.first, &Device::id) == sum.devices.end();
  });
  count(host);
  forget_if_idle(host);
}

const std::set<HostId>& Ledger::replicas_of(const SessionId& session) const {
  static const std::set<HostId> none;
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? none : found->second.replicas;
}

std::uint64_t Ledger::replicas_on(const HostId& host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? 0 : found->second.replicas;
}

std::vector<SessionId> Ledger::sessions_on(const HostId& host) const {
  std::vector<SessionId> found;
  for (const auto& [session, entry] : sessions_)
    if (entry.replicas.contains(host)) found.push_back(session);
  return found;
}

std::optional<Binding> Ledger::binding_of(const SessionId& session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? std::nullopt : found->second.cell;
}

bool Ledger::works(const HostId& host, const DeviceId& device) const {
  const auto found = hosts_.find(host);
  return found != hosts_.end() && std::ranges::any_of(found->second.devices, [&](const Device& one) {
           return one.id == device && one.healthy;
         });
}

std::optional<Binding> Ledger::reserved_by(const SessionId& session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? std::nullopt : found->second.reserved;
}

std::uint64_t Ledger::cells_on(const HostId& host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? 0 : found->second.cells;
}

DeviceCounts Ledger::device_counts(const HostId& host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? DeviceCounts{} : found->second.counts;
}

void Ledger::count(const HostId& host) {
  Sum& sum = hosts_.at(host);
  sum.counts = {};
  for (const Device& device : sum.devices)
    ++(sum.bound.contains(device.id) ? sum.counts.bound
       : device.healthy              ? sum.counts.idle
                                     : sum.counts.faulty);
  changed_.insert(host);
}

std::vector<DeviceId> Ledger::idle_devices(const HostId& host) const {
  std::vector<DeviceId> idle;
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return idle;
  for (const Device& device : found->second.devices)
    if (device.healthy && !found->second.bound.contains(device.id)) idle.push_back(device.id);
  return idle;
}

std::optional<SessionId> Ledger::holder_of(const HostId& host, const DeviceId& device) const {
  const auto found = hosts_.find(host);
  if (found == hosts_.end() || !found->second.bound.contains(device)) return std::nullopt;
  return found->second.last.at(device);
}

std::set<DeviceId> Ledger::some_idle(const HostId& host, const SessionId& session,
                                     std::uint64_t count) const {
  const std::vector<DeviceId> idle = idle_devices(host);
  if (count == 0 || idle.size() < count) return {};
  enum Had : std::uint8_t { kItself, kNobody, kAnother };
  const std::map<DeviceId, SessionId>& last = hosts_.at(host).last;
  const auto who_had = [&](const DeviceId& device) {
    const auto found = last.find(device);
    if (found == last.end() || !sessions_.contains(found->second)) return kNobody;
    return found->second == session ? kItself : kAnother;
  };
  std::set<DeviceId> chosen;
  for (const Had wanted : {kItself, kNobody, kAnother})
    for (const DeviceId& device : idle)
      if (chosen.size() < count && who_had(device) == wanted) chosen.insert(device);
  return chosen;
}

void Ledger::release_replicas(const std::set<HostId>& hosts) {
  for (const HostId& host : hosts) {
    Sum& sum = hosts_.at(host);
    CHECK(sum.replicas > 0, "what is released was held");
    --sum.replicas;
    forget_if_idle(host);
  }
}

void Ledger::release_cell(const SessionId& session, const std::optional<Binding>& binding) {
  if (!binding) return;
  Sum& sum = hosts_.at(binding->host);
  CHECK(sum.cells > 0, "what is released was held");
  --sum.cells;
  release(binding->host, session, binding->devices);
  forget_if_idle(binding->host);
}

void Ledger::release_reserved(const SessionId& session, const std::optional<Binding>& binding) {
  if (!binding) return;
  release(binding->host, session, binding->devices);
  forget_if_idle(binding->host);
}

void Ledger::take(const HostId& host, const SessionId& session, const std::set<DeviceId>& devices) {
  if (devices.empty()) return;
  Sum& sum = hosts_[host];
  for (const DeviceId& device : devices) {
    ++sum.bound[device];
    sum.last[device] = session;
  }
  if (!sum.silent) hold_devices(host, session, devices, true);
  count(host);
}

void Ledger::release(const HostId& host, const SessionId& session, const std::set<DeviceId>& devices) {
  if (devices.empty()) return;
  Sum& sum = hosts_.at(host);
  for (const DeviceId& device : devices) {
    const auto bound = sum.bound.find(device);
    CHECK(bound != sum.bound.end(), "what is released was bound");
    if (--bound->second == 0) sum.bound.erase(bound);
  }
  if (!sum.silent) hold_devices(host, session, devices, false);
  count(host);
}

void Ledger::hold_devices(const HostId& host, const SessionId& session, const std::set<DeviceId>& devices,
                          bool held) {
  for (const DeviceId& device : devices)
    held ? holdings_.take(session, host, device) : holdings_.release(session, host, device);
}

void Ledger::set_silent(const HostId& host, bool silent) {
  Sum& sum = hosts_[host];
  if (std::exchange(sum.silent, silent) != silent) {
    for (const auto& [session, devices] : sum.reported) hold_devices(host, session, devices, !silent);
    for (const auto& [session, entry] : sessions_)
      for (const auto* const binding : {&entry.cell, &entry.reserved})
        if (*binding && (*binding)->host == host) hold_devices(host, session, (*binding)->devices, !silent);
  }
  forget_if_idle(host);
}

void Ledger::forget_if_idle(const HostId& host) {
  const auto found = hosts_.find(host);
  const Sum& sum = found->second;
  if (sum.silent) return;
  if (sum.replicas == 0 && sum.cells == 0 && sum.devices.empty() && sum.bound.empty()) hosts_.erase(found);
}

}  // namespace banyan::cluster
