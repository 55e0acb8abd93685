// The GPUs of the hosts of `banyan up`, and the kernels whose cells need some.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "daemons/config.h"

namespace banyan::cli {

/// The device files of each host's GPUs.
using HostGpus = std::map<HostId, std::vector<std::string>>;

/// The hosts share one machine, so each of its GPUs belongs to one of them. `files`: those of the machine.
HostGpus shared_out(const std::vector<std::string>& files, const std::vector<HostId>& hosts);

/// So many files for each host in its folder below `dir`, which stand for GPUs where there are none. One that
/// is removed is a faulty GPU. kIo names what cannot be written.
Result<HostGpus> fake_gpus(std::uint64_t each, const std::vector<HostId>& hosts,
                           const std::filesystem::path& dir);

/// Adds a kernel for 1, 2, 4 and 8 GPUs as far as a host has so many. Kernels that are there stay as they
/// are. `python3` names the kernel that they are variants of.
void add_gpu_kernels(std::vector<daemons::KernelSettings>& kernels, const HostGpus& gpus);

}  // namespace banyan::cli
