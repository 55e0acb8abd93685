// The GPUs of this machine, by the files through which processes use them.
#pragma once

#include <string>
#include <vector>

namespace banyan::runtime {

/// The device files of this machine's GPUs, in the order of their numbers; those of NVIDIA's driver
/// (/dev/nvidia0, …), as it makes one for each. `folder`: where devices are.
std::vector<std::string> gpu_files(const std::string& folder = "/dev");

}  // namespace banyan::runtime
