#include "runtime/devices/devices_of_host.h"

#include <filesystem>
#include <utility>

#include "runtime/devices/device_files.h"
#include "runtime/devices/nvml_devices.h"

namespace banyan::runtime {

bool are_devices(const std::vector<std::string>& files) {
  bool any = false;
  for (const std::string& file : files) {
    std::error_code error;
    const auto status = std::filesystem::status(file, error);
    if (std::filesystem::is_character_file(status)) {
      any = true;
    } else if (std::filesystem::exists(status)) {
      return false;
    }
  }
  return any;
}

std::unique_ptr<port::Devices> open_devices(std::vector<std::string> files, const port::LogSink& log,
                                            const std::string& library) {
  using Level = node::Log::Level;
  if (files.empty()) return std::make_unique<DeviceFiles>(std::move(files));
  const auto plain = [&](Level level, const std::string& why) {
    log({level, "model, memory and errors of this host's GPUs are not known: " + why});
    return std::make_unique<DeviceFiles>(std::move(files));
  };
  if (!are_devices(files)) return plain(Level::kInfo, "their files are not those of a driver");
  auto devices = NvmlDevices::open(files, library, log);
  if (devices) return std::move(*devices);
  const bool absent = devices.error().kind == ErrorKind::kNotFound;
  return plain(absent ? Level::kInfo : Level::kWarning, devices.error().message);
}

}  // namespace banyan::runtime
