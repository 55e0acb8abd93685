#include "node/host_devices.h"

#include <algorithm>
#include <functional>
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
  std::set<DeviceId> chosen = kept_by(wish.worker);
  bool keeps_process = wish.gpus == 0 || (chosen == used && wish.gpus <= used.size());
  const auto is_awaited = [this](const DeviceId& device) { return awaited_.contains(device); };
  if (wish.gpus == 0 && std::ranges::any_of(chosen, is_awaited)) {
    for (const DeviceId& device : chosen) awaited_.erase(device);
    chosen.clear();
    keeps_process = false;
  } else if (!keeps_process) {
    if (free.size() < wish.gpus) {
      note_refused();
      const bool too_few = healthy < wish.gpus;
      return fail(too_few ? ErrorKind::kNotFound : ErrorKind::kUnavailable,
                  "the cell needs " + std::to_string(wish.gpus) + " GPUs of its host, which has " +
                      std::to_string(healthy) + " that work" +
                      (too_few ? "" : ", and " + std::to_string(free.size()) + " that no other cell has"));
    }
    chosen = choose(wish, free);
  }
  for (const DeviceId& device : chosen) {
    bound_.emplace(device, Bound{wish.session, wish.gpus > 0});
    if (wish.gpus > 0) awaited_.erase(device);
  }
  return Grant{*this, std::move(chosen), !keeps_process && !used.empty()};
}

/// A cell without a demand that comes next in such a process gets another one, and leaves them.
void HostDevices::note_refused() {
  for (const auto& [device, bound] : bound_)
    if (!bound.asked_for) awaited_.insert(device);
}

/// Not those on which another session's process would have to end, where others are free.
std::set<DeviceId> HostDevices::choose(const Wish& wish, const std::vector<DeviceId>& free) const {
  const auto others_use = [&](const DeviceId& device) {
    return std::ranges::any_of(uses_, [&](const auto& item) {
      return item.second.session != wish.session && item.second.devices.contains(device);
    });
  };
  const auto unused = static_cast<std::uint64_t>(std::ranges::count_if(free, std::not_fn(others_use)));
  const auto may_be = [&](const DeviceId& device) {
    return is_free(device) && (unused < wish.gpus || !others_use(device));
  };
  if (wish.preferred.size() == wish.gpus && std::ranges::all_of(wish.preferred, may_be))
    return wish.preferred;
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
std::set<DeviceId> HostDevices::known(const std::set<DeviceId>& devices) const {
  std::set<DeviceId> found;
  for (const cluster::Device& one : all_)
    if (devices.contains(one.id)) found.insert(one.id);
  return found;
}

void HostDevices::on_goes(WorkerId worker, const SessionId& session, const std::set<DeviceId>& devices) {
  if (devices.empty()) return;
  Use& use = uses_[worker];
  use.session = session;
  use.granted.insert(devices.begin(), devices.end());
}

/// What it does not name a process may use that it has started.
void HostDevices::on_uses(WorkerId worker, const SessionId& session, const std::set<DeviceId>& devices) {
  std::set<DeviceId> all = used_by(worker);
  all.insert(devices.begin(), devices.end());
  on_all_uses(worker, session, all);
}

void HostDevices::on_all_uses(WorkerId worker, const SessionId& session, const std::set<DeviceId>& devices) {
  if (devices.empty() && !uses_.contains(worker)) return;
  Use& use = uses_[worker];
  use.session = session;
  use.devices = known(devices);
}

std::set<DeviceId> HostDevices::kept_by(std::optional<WorkerId> worker) const {
  std::set<DeviceId> kept = used_by(worker);
  std::erase_if(kept, [&](const DeviceId& device) {
    return !is_free(device) || !uses_.at(*worker).granted.contains(device);
  });
  return kept;
}

std::set<DeviceId> HostDevices::used_by(std::optional<WorkerId> worker) const {
  const auto found = worker ? uses_.find(*worker) : uses_.end();
  return found == uses_.end() ? std::set<DeviceId>() : found->second.devices;
}

bool HostDevices::has_been_granted(WorkerId worker) const {
  const auto found = uses_.find(worker);
  return found != uses_.end() && !found->second.granted.empty();
}

bool HostDevices::is_in_the_way(WorkerId worker) const {
  const auto found = uses_.find(worker);
  if (found == uses_.end()) return false;
  return std::ranges::any_of(found->second.devices, [&](const DeviceId& device) {
    const auto bound = bound_.find(device);
    return bound != bound_.end() && bound->second.session != found->second.session;
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
