#include "node/host_devices.h"

#include <algorithm>
#include <string>

namespace banyan::node {

Result<HostDevices::Grant> HostDevices::bind(std::uint64_t gpus, const std::set<DeviceId>& preferred) {
  if (gpus == 0) return Grant{};
  std::uint64_t healthy = 0;
  std::vector<DeviceId> free;
  for (const cluster::Device& device : all_) {
    if (!device.healthy) continue;
    ++healthy;
    if (!bound_.contains(device.id)) free.push_back(device.id);
  }
  if (free.size() < gpus) {
    const bool too_few = healthy < gpus;
    return fail(too_few ? ErrorKind::kNotFound : ErrorKind::kUnavailable,
                "the cell needs " + std::to_string(gpus) + " GPUs of its host, which has " +
                    std::to_string(healthy) + " that work" +
                    (too_few ? "" : ", and " + std::to_string(free.size()) + " that no other cell has"));
  }
  const auto is_free = [&](const DeviceId& device) { return std::ranges::find(free, device) != free.end(); };
  const bool as_preferred = preferred.size() == gpus && std::ranges::all_of(preferred, is_free);
  std::set<DeviceId> chosen = preferred;
  if (!as_preferred) chosen = {free.begin(), free.begin() + static_cast<std::ptrdiff_t>(gpus)};
  bound_.insert(chosen.begin(), chosen.end());
  return Grant{*this, std::move(chosen)};
}

}  // namespace banyan::node
