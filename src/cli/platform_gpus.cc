#include "cli/platform_gpus.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <system_error>
#include <utility>

namespace banyan::cli {

namespace fs = std::filesystem;

HostGpus shared_out(const std::vector<std::string>& files, const std::vector<HostId>& hosts) {
  HostGpus gpus;
  for (const HostId& host : hosts) gpus[host];
  for (std::size_t at = 0; at < files.size() && !hosts.empty(); ++at)
    gpus[hosts[at % hosts.size()]].push_back(files[at]);
  return gpus;
}

Result<HostGpus> fake_gpus(std::uint64_t each, const std::vector<HostId>& hosts, const fs::path& dir) {
  HostGpus gpus;
  for (const HostId& host : hosts) {
    const fs::path folder = dir / host.value / "gpus";
    std::error_code error;
    fs::remove_all(folder, error);
    fs::create_directories(folder, error);
    for (std::uint64_t number = 0; number < each; ++number) {
      const fs::path file = folder / ("nvidia" + std::to_string(number));
      if (!std::ofstream(file)) return fail(ErrorKind::kIo, "cannot write " + file.string());
      gpus[host].push_back(file);
    }
  }
  return gpus;
}

namespace {

constexpr std::uint64_t kCounts[] = {1, 2, 4, 8};

daemons::KernelSettings variant_of(const daemons::KernelSettings& plain, std::uint64_t count) {
  daemons::KernelSettings kernel = plain;
  kernel.name = "python3-gpu" + std::to_string(count);
  kernel.display_name = "Python 3, " + std::to_string(count) + (count == 1 ? " GPU" : " GPUs") + " (Banyan)";
  kernel.gpus = count;
  return kernel;
}

/// So many GPUs has each host of a majority of a session's replicas.
std::uint64_t most_of_a_majority(const HostGpus& gpus, std::uint64_t replicas) {
  std::vector<std::uint64_t> counts;
  for (const auto& [host, files] : gpus) counts.push_back(files.size());
  std::ranges::sort(counts, std::greater());
  const std::uint64_t majority = std::min<std::uint64_t>(replicas, counts.size()) / 2 + 1;
  return counts.size() < majority ? 0 : counts[majority - 1];
}

}  // namespace

void set_gpu_kernels(std::vector<daemons::KernelSettings>& kernels, const HostGpus& gpus,
                     std::uint64_t replicas) {
  const auto found = std::ranges::find(kernels, "python3", &daemons::KernelSettings::name);
  if (found == kernels.end()) return;
  std::vector<daemons::KernelSettings> variants;
  for (const std::uint64_t count : kCounts) variants.push_back(variant_of(*found, count));
  const std::uint64_t most = most_of_a_majority(gpus, replicas);
  for (daemons::KernelSettings& kernel : variants) {
    std::erase_if(kernels, [&](const daemons::KernelSettings& one) {
      return one.name == kernel.name && one.display_name == kernel.display_name && one.gpus == kernel.gpus;
    });
    const bool is_there = std::ranges::count(kernels, kernel.name, &daemons::KernelSettings::name) > 0;
    if (kernel.gpus <= most && !is_there) kernels.push_back(std::move(kernel));
  }
}

}  // namespace banyan::cli
