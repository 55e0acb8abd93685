// The GPUs of this machine, by the files through which processes use them.
#pragma once

#include <string>
#include <vector>

namespace banyan::runtime {

/// The device files of this machine's GPUs, in the order of their numbers. They are those of NVIDIA's driver,
/// which makes one for each GPU (/dev/nvidia0, …). `folder` is where device files are.
std::vector<std::string> gpu_files(const std::string& folder = "/dev");

}  // namespace banyan::runtime
