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

namespace {

/// The number in a device file's name: 3 in "nvidia3", nothing in "nvidiactl".
std::optional<std::uint32_t> number_of(std::string_view name) {
  constexpr std::string_view kPrefix = "nvidia";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) return std::nullopt;
  return number;
}

DeviceId id_of(const std::string& file) { return {std::filesystem::path(file).filename()}; }

}  // namespace

std::vector<std::string> gpu_files(const std::string& folder) {
  std::vector<std::pair<std::uint32_t, std::string>> found;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (const auto number = number_of(it->path().filename().native()))
      found.emplace_back(*number, it->path().native());
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
    devices.push_back({.id = id_of(file), .healthy = std::filesystem::exists(file, error)});
  }
  return devices;
}

std::vector<port::DeviceUse> DeviceFiles::uses(const std::set<int>& processes) {
  std::map<std::string, DeviceId> devices;
  std::error_code error;
  for (const std::string& file : files_)
    devices.emplace(std::filesystem::weakly_canonical(file, error), id_of(file));
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
