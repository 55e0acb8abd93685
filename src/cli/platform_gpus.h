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

/// Adds kernels for 1, 2, 4 and 8 GPUs, as variants of `python3`, as far as enough hosts for a majority of a
/// session's replicas have so many. Those that an earlier start has added and that nobody has changed are
/// made anew, or go.
void set_gpu_kernels(std::vector<daemons::KernelSettings>& kernels, const HostGpus& gpus,
                     std::uint64_t replicas);

}  // namespace banyan::cli
