#include "runtime/devices/nvml_devices.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "runtime/devices/device_files.h"
#include "runtime/devices/xid_errors.h"

namespace banyan::runtime {

namespace {

using Level = node::Log::Level;

// Further ones are read a second later, so that a flood of errors delays nothing.
constexpr int kErrorsAtOnce = 64;

}  // namespace

Result<std::unique_ptr<NvmlDevices>> NvmlDevices::open(const std::vector<std::string>& files,
                                                       const std::string& library, port::LogSink log) {
  auto nvml = NvmlLibrary::open(library);
  if (!nvml) return tl::unexpected(nvml.error());
  std::map<std::uint32_t, nvml::Handle> by_number;
  for (const nvml::Handle gpu : (*nvml)->gpus())
    if (const auto number = (*nvml)->minor_number(gpu)) by_number.emplace(*number, gpu);
  std::vector<nvml::Handle> known;
  for (const std::string& file : files) {
    const auto number = gpu_number(file);
    const auto found = number ? by_number.find(*number) : by_number.end();
    known.push_back(found != by_number.end() ? found->second : nullptr);
  }
  if (std::ranges::all_of(known, [](nvml::Handle gpu) { return gpu == nullptr; }))
    return fail(ErrorKind::kUnavailable, "NVIDIA's management library knows none of this host's GPUs");
  std::unique_ptr<NvmlDevices> devices(new NvmlDevices(std::move(*nvml), std::move(log)));
  for (std::size_t i = 0; i < files.size(); ++i) devices->add(files[i], known[i]);
  return devices;
}

void NvmlDevices::add(const std::string& file, nvml::Handle handle) {
  gpus_.push_back({.file = file, .handle = handle});
  if (handle == nullptr) return add_unusable("NVIDIA's management library does not know it");
  const auto own = library_->uuid(handle);
  if (!own) return add_unusable(own.error().message);
  gpus_.back().uuid = *own;
  if (const auto watched = library_->watch(handle); !watched)
    log_(
        {Level::kWarning, "errors of the GPU " + gpu_id(file).value +
                              " that its driver reports (XIDs) are not noticed: " + watched.error().message});
  const auto slices = library_->slices(handle);
  if (!slices) return add_part(handle, gpu_id(file), *own);
  const std::size_t before = parts_.size();
  for (const nvml::Handle slice : *slices)
    if (const auto uuid = library_->uuid(slice)) add_part(slice, {*uuid}, *uuid);
  if (parts_.size() == before) add_unusable("MIG is on and it has no slices: make some, or turn MIG off");
}

void NvmlDevices::add_unusable(const std::string& why) {
  const DeviceId id = gpu_id(gpus_.back().file);
  log_({Level::kWarning,
        "the GPU " + id.value + " counts as faulty until the host agent starts anew: " + why});
  parts_.push_back({.gpu = gpus_.size() - 1, .device = {.id = id}});
}

void NvmlDevices::add_part(nvml::Handle handle, DeviceId id, std::string uuid) {
  parts_.push_back({.gpu = gpus_.size() - 1,
                    .handle = handle,
                    .uuid = std::move(uuid),
                    .device = {.id = std::move(id),
                               .model = library_->name(handle).value_or(""),
                               .memory_bytes = library_->memory_bytes(handle).value_or(0)}});
}

std::vector<cluster::Device> NvmlDevices::list() {
  read_errors();
  std::vector<cluster::Device> devices;
  for (const Part& part : parts_) {
    devices.push_back(part.device);
    devices.back().healthy = works(part);
  }
  return devices;
}

bool NvmlDevices::may_ask(const Part& part) const {
  return part.handle != nullptr && !gpus_[part.gpu].broken;
}

bool NvmlDevices::works(const Part& part) const {
  std::error_code error;
  if (!may_ask(part) || !std::filesystem::exists(gpus_[part.gpu].file, error)) return false;
  const auto uuid = library_->uuid(part.handle);
  // The library may answer from memory who a GPU is. How much memory is used it has to ask the driver.
  return uuid && *uuid == part.uuid && library_->memory_bytes(part.handle).has_value();
}

void NvmlDevices::read_errors() {
  for (int i = 0; i < kErrorsAtOnce; ++i) {
    const auto error = library_->next_error();
    if (!error) return;
    auto gpu = std::ranges::find(gpus_, error->gpu, &Gpu::handle);
    // It is not documented that an event has the very handle that was registered.
    if (gpu == gpus_.end())
      if (const auto uuid = library_->uuid(error->gpu)) gpu = std::ranges::find(gpus_, *uuid, &Gpu::uuid);
    if (gpu != gpus_.end()) on_error(*gpu, error->xid);
  }
}

void NvmlDevices::on_error(Gpu& gpu, std::uint64_t xid) {
  const auto known = xid_error(xid);
  const std::string told = "the driver of the GPU " + gpu_id(gpu.file).value + " reports XID " +
                           std::to_string(xid) + (known ? ", " + std::string(known->meaning) : "");
  if (!known) return log_({Level::kInfo, told + "; it is not known as a fault of the GPU"});
  if (known->fault == XidFault::kApplication)
    return log_({Level::kDebug, told + "; that is the fault of a program there"});
  if (std::exchange(gpu.broken, true)) return;
  log_({Level::kError, told + ": no cell gets this GPU any more. Reset it, then start the host agent anew"});
}

std::vector<port::DeviceUse> NvmlDevices::uses(const std::set<int>& processes) {
  std::set<port::DeviceUse> found;
  for (const Part& part : parts_) {
    if (!may_ask(part)) continue;
    const auto there = library_->processes(part.handle);
    if (!there) continue;
    for (const int process : *there)
      if (processes.contains(process)) found.insert({part.device.id, process});
  }
  return {found.begin(), found.end()};
}

}  // namespace banyan::runtime
