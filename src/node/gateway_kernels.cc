#include "node/gateway_kernels.h"

#include <algorithm>
#include <map>

namespace banyan::node {

KernelReport kernel_on(const GatewayContext& gateway, const HostId& host, const std::string& kernel) {
  const auto peer = gateway.hosts().find(host);
  if (peer == gateway.hosts().end() || !peer->second.reported)
    return {kernel, KernelState::kChecking, {}, "it has not said yet which kernels it can run"};
  const bool is_default = kernel == gateway.config().default_kernel;
  const std::vector<KernelReport>& kernels = peer->second.figures.kernels;
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

std::string minor_version(const std::string& python) {
  const auto dot = python.find('.');
  return dot == std::string::npos ? python : python.substr(0, python.find('.', dot + 1));
}

std::string hosts_unable(const GatewayContext& gateway, const std::string& kernel) {
  std::map<std::string, std::string> hosts;  // by the reason
  for (const auto& [host, peer] : gateway.hosts()) {
    const KernelReport report = kernel_on(gateway, host, kernel);
    if (report.state != KernelState::kCannot) continue;
    std::string& same = hosts[report.reason];
    same += (same.empty() ? "" : ", ") + host.value;
  }
  std::string text;
  for (const auto& [reason, names] : hosts) text += " " + names + " cannot run it: " + reason + ".";
  return text;
}

std::optional<std::string> no_host_runs(const GatewayContext& gateway, const std::string& kernel) {
  const bool one_may = std::ranges::any_of(gateway.hosts(), [&](const auto& host) {
    return kernel_on(gateway, host.first, kernel).state != KernelState::kCannot;
  });
  if (one_may || gateway.hosts().empty()) return std::nullopt;
  return "No host can run the kernel \"" + kernel + "\"." + hosts_unable(gateway, kernel);
}

}  // namespace banyan::node
