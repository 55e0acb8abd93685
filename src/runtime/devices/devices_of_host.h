// Who tells of the GPUs of this host: NVIDIA's management library where there is one, else their device
// files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "port/devices.h"
#include "port/drivers.h"
#include "runtime/devices/nvml_library.h"

namespace banyan::runtime {

/// Whether these are files of a driver: one at least is a character device, and none is anything else. The
/// file of a GPU that does not work may be gone.
bool are_devices(const std::vector<std::string>& files);

/// The GPUs of a host, by their device files. NvmlDevices serves them where the files are a driver's and the
/// library works and knows one of them at least; else DeviceFiles does, and `log` is told why. Files that
/// only stand for GPUs (`banyan up --fake-gpus`) never reach the library.
std::unique_ptr<port::Devices> open_devices(std::vector<std::string> files, const port::LogSink& log,
                                            const std::string& library = kNvmlLibrary);

}  // namespace banyan::runtime
