// The GPUs of this machine, by the files through which processes use them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "port/devices.h"

namespace banyan::runtime {

/// The device files of this machine's GPUs, in the order of their numbers. They are those of NVIDIA's driver,
/// which makes one for each GPU (/dev/nvidia0, …). `folder` is where device files are.
std::vector<std::string> gpu_files(const std::string& folder = "/dev");

/// The number in the name of a GPU's device file, by which the driver knows it (the file's minor number): 3
/// for
/// "/dev/nvidia3", nothing for "/dev/nvidiactl".
std::optional<std::uint32_t> gpu_number(const std::string& file);
/// The id of the GPU with this device file: "nvidia3" for "/dev/nvidia3".
DeviceId gpu_id(const std::string& file);

/// One device for each of these files, named as the file is ("nvidia0"). A device whose file is gone counts
/// as faulty. Model and memory are not known. A process uses a device while it has the file open.
class DeviceFiles final : public port::Devices {
 public:
  explicit DeviceFiles(std::vector<std::string> files) : files_(std::move(files)) {}
  std::vector<cluster::Device> list() override;
  std::vector<port::DeviceUse> uses(const std::set<int>& processes) override;

 private:
  std::vector<std::string> files_;
};

}  // namespace banyan::runtime
