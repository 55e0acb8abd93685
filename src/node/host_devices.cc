#include "node/host_devices.h"

#include <algorithm>
#include <string>

namespace banyan::node {

bool HostDevices::is_free(const DeviceId& device) const {
  const auto is_this = [&](const cluster::Device& one) { return one.id == device && one.healthy; };
  return !bound_.contains(device) && std::ranges::any_of(all_, is_this);
}

Result<HostDevices::Grant> HostDevices::bind(const Wish& wish) {
  std::vector<DeviceId> free;
  std::uint64_t healthy = 0;
  for (const cluster::Device& device : all_) {
    healthy += device.healthy ? 1 : 0;
    if (is_free(device.id)) free.push_back(device.id);
  }
  const std::set<DeviceId> used = used_by(wish.worker);
  std::set<DeviceId> chosen;
  std::ranges::copy_if(used, std::inserter(chosen, chosen.end()),
                       [this](const DeviceId& device) { return is_free(device); });
  const bool keeps_process = wish.gpus == 0 || (chosen == used && wish.gpus <= used.size());
  if (!keeps_process) {
    if (free.size() < wish.gpus) {
      const bool too_few = healthy < wish.gpus;
      return fail(too_few ? ErrorKind::kNotFound : ErrorKind::kUnavailable,
                  "the cell needs " + std::to_string(wish.gpus) + " GPUs of its host, which has " +
                      std::to_string(healthy) + " that work" +
                      (too_few ? "" : ", and " + std::to_string(free.size()) + " that no other cell has"));
    }
    chosen = choose(wish, free);
  }
  for (const DeviceId& device : chosen) bound_.emplace(device, wish.session);
  return Grant{*this, std::move(chosen), !keeps_process && !used.empty()};
}

std::set<DeviceId> HostDevices::choose(const Wish& wish, const std::vector<DeviceId>& free) const {
  if (wish.preferred.size() == wish.gpus &&
      std::ranges::all_of(wish.preferred, [this](const DeviceId& device) { return is_free(device); }))
    return wish.preferred;
  const auto others_use = [&](const DeviceId& device) {
    return std::ranges::any_of(uses_, [&](const auto& item) {
      return item.second.session != wish.session && item.second.devices.contains(device);
    });
  };
  std::set<DeviceId> chosen;
  for (const bool used : {false, true})
    for (const DeviceId& device : free)
      if (chosen.size() < wish.gpus && others_use(device) == used) chosen.insert(device);
  return chosen;
}

void HostDevices::on_exited(WorkerId worker) {
  uses_.erase(worker);
  ending_.erase(worker);
}

/// A worker names the files that it has open, and a file may be of several devices (slices of a GPU): what is
/// not known by that name the host looks up itself.
void HostDevices::on_uses(WorkerId worker, const SessionId& session, std::set<DeviceId> devices) {
  std::erase_if(devices, [this](const DeviceId& device) {
    return std::ranges::none_of(all_, [&](const cluster::Device& one) { return one.id == device; });
  });
  if (devices.empty()) {
    uses_.erase(worker);
  } else {
    uses_.insert_or_assign(worker, Use{session, std::move(devices)});
  }
}

std::set<DeviceId> HostDevices::used_by(std::optional<WorkerId> worker) const {
  const auto found = worker ? uses_.find(*worker) : uses_.end();
  return found == uses_.end() ? std::set<DeviceId>() : found->second.devices;
}

bool HostDevices::is_in_the_way(WorkerId worker) const {
  const auto found = uses_.find(worker);
  if (found == uses_.end()) return false;
  return std::ranges::any_of(found->second.devices, [&](const DeviceId& device) {
    const auto bound = bound_.find(device);
    return bound != bound_.end() && bound->second != found->second.session;
  });
}

std::set<SessionId> HostDevices::in_the_way() const {
  std::set<SessionId> sessions;
  for (const auto& [worker, use] : uses_)
    if (is_in_the_way(worker)) sessions.insert(use.session);
  return sessions;
}

bool HostDevices::are_clear(const std::set<DeviceId>& devices, WorkerId of) const {
  return std::ranges::none_of(uses_, [&](const auto& item) {
    const auto is_used = [&](const DeviceId& device) { return item.second.devices.contains(device); };
    return item.first != of && std::ranges::any_of(devices, is_used);
  });
}

}  // namespace banyan::node
