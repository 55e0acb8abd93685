#include "runtime/devices/device_files.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace banyan::runtime {

std::optional<std::uint32_t> gpu_number(const std::string& file) {
  constexpr std::string_view kPrefix = "nvidia";
  const std::string name = std::filesystem::path(file).filename();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const char* const end = name.data() + name.size();
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

DeviceId gpu_id(const std::string& file) { return {std::filesystem::path(file).filename()}; }

std::vector<std::string> gpu_files(const std::string& folder) {
  std::vector<std::pair<std::uint32_t, std::string>> found;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (const auto number = gpu_number(it->path().native())) found.emplace_back(*number, it->path().native());
  }
  std::ranges::sort(found);
  std::vector<std::string> files;
  for (auto& [number, file] : found) files.push_back(std::move(file));
  return files;
}

std::vector<cluster::Device> DeviceFiles::list() {
  std::vector<cluster::Device> devices;
  for (const std::string& file : files_) {
    std::error_code error;
    devices.push_back({.id = gpu_id(file), .healthy = std::filesystem::exists(file, error)});
  }
  return devices;
}

std::vector<port::DeviceUse> DeviceFiles::uses(const std::set<int>& processes) {
  std::map<std::string, DeviceId> devices;
  std::error_code error;
  for (const std::string& file : files_)
    devices.emplace(std::filesystem::weakly_canonical(file, error), gpu_id(file));
  std::set<port::DeviceUse> found;
  for (const int process : processes) {
    const auto folder = "/proc/" + std::to_string(process) + "/fd";
    for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error)) {
      std::error_code closed;  // one that the process has just closed
      const auto device = devices.find(std::filesystem::read_symlink(it->path(), closed));
      if (device != devices.end()) found.insert({device->second, process});
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace banyan::runtime
