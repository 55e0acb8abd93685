#include "cli/platform_gpus.h"

#include <algorithm>
#include <fstream>
#include <system_error>

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

void add_gpu_kernels(std::vector<daemons::KernelSettings>& kernels, const HostGpus& gpus) {
  std::uint64_t most = 0;
  for (const auto& [host, files] : gpus) most = std::max<std::uint64_t>(most, files.size());
  for (const std::uint64_t count : {1, 2, 4, 8}) {
    const std::string name = "python3-gpu" + std::to_string(count);
    if (count > most || std::ranges::count(kernels, name, &daemons::KernelSettings::name) > 0) continue;
    const auto plain = std::ranges::find(kernels, "python3", &daemons::KernelSettings::name);
    daemons::KernelSettings kernel = plain == kernels.end() ? daemons::KernelSettings{} : *plain;
    kernel.name = name;
    kernel.display_name =
        "Python 3, " + std::to_string(count) + (count == 1 ? " GPU" : " GPUs") + " (Banyan)";
    kernel.gpus = count;
    kernels.push_back(std::move(kernel));
  }
}

}  // namespace banyan::cli
