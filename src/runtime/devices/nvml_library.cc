#include "runtime/devices/nvml_library.h"

#include <dlfcn.h>

#include <array>

namespace banyan::runtime {

namespace {

constexpr unsigned int kProcessesFirst = 64;  // room for so many processes of a device at the first try
constexpr int kProcessesTries = 3;            // processes may begin between two tries

/// Sets `function` to what the library has under this name; null when it has nothing.
template <class Function>
bool find_function(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

/// Whether the dynamic linker says that the library is not there. It needs no others than the C library's.
bool says_absent(const std::string& trouble) { return trouble.find("No such file") != std::string::npos; }

}  // namespace

void NvmlLibrary::Close::operator()(void* library) const { dlclose(library); }

Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::open(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const said = dlerror();
    const std::string trouble = said != nullptr ? said : path + " cannot be loaded";
    return fail(says_absent(trouble) ? ErrorKind::kNotFound : ErrorKind::kUnavailable, trouble);
  }
  std::unique_ptr<NvmlLibrary> nvml(new NvmlLibrary(library));
  if (auto found = nvml->find_functions(); !found)
    return fail(found.error().kind, path + " " + found.error().message);
  if (auto ready = nvml->checked(nvml->call_.init(), "nvmlInit_v2"); !ready)
    return tl::unexpected(ready.error());
  nvml->initialised_ = true;
  return nvml;
}

NvmlLibrary::~NvmlLibrary() {
  if (events_ != nullptr && call_.free_events != nullptr) call_.free_events(events_);
  if (initialised_) call_.shutdown();
}

Result<Done> NvmlLibrary::find_functions() {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto*& function) {
    if (!find_function(library_.get(), name, function)) missing = name;
  };
  need("nvmlInit_v2", call_.init);
  need("nvmlShutdown", call_.shutdown);
  need("nvmlDeviceGetCount_v2", call_.count);
  need("nvmlDeviceGetHandleByIndex_v2", call_.handle_by_index);
  need("nvmlDeviceGetName", call_.name);
  need("nvmlDeviceGetUUID", call_.uuid);
  need("nvmlDeviceGetMinorNumber", call_.minor_number);
  need("nvmlDeviceGetMemoryInfo", call_.memory);
  if (missing != nullptr) return fail(ErrorKind::kUnavailable, std::string("has no function ") + missing);
  const auto like = [&](const char* name, auto*& function) { find_function(library_.get(), name, function); };
  like("nvmlErrorString", call_.error_string);
  like("nvmlDeviceGetMigMode", call_.mig_mode);
  like("nvmlDeviceGetMaxMigDeviceCount", call_.slices_max);
  like("nvmlDeviceGetMigDeviceHandleByIndex", call_.slice_by_index);
  like("nvmlDeviceGetComputeRunningProcesses_v3", call_.processes);
  like("nvmlEventSetCreate", call_.create_events);
  like("nvmlEventSetFree", call_.free_events);
  like("nvmlDeviceRegisterEvents", call_.register_events);
  like("nvmlEventSetWait_v2", call_.wait_for_event);
  return Done{};
}

Result<Done> NvmlLibrary::checked(nvml::Status status, const char* function) const {
  if (status == nvml::kSuccess) return Done{};
  const char* const said = call_.error_string != nullptr ? call_.error_string(status) : nullptr;
  return fail(ErrorKind::kUnavailable, std::string(function) + " of NVIDIA's management library fails: " +
                                           (said != nullptr ? said : "error " + std::to_string(status)));
}

Result<std::string> NvmlLibrary::text(nvml::DeviceGetText* get, nvml::Handle device,
                                      const char* function) const {
  std::array<char, 128> buffer{};  // the documentation asks for 96
  if (auto told = checked(get(device, buffer.data(), buffer.size() - 1), function); !told)
    return tl::unexpected(told.error());
  return std::string(buffer.data());
}

std::vector<nvml::Handle> NvmlLibrary::gpus() const {
  std::vector<nvml::Handle> found;
  unsigned int count = 0;
  if (call_.count(&count) != nvml::kSuccess) return found;
  for (unsigned int i = 0; i < count; ++i) {
    nvml::Handle gpu = nullptr;
    if (call_.handle_by_index(i, &gpu) == nvml::kSuccess) found.push_back(gpu);
  }
  return found;
}

Result<std::string> NvmlLibrary::name(nvml::Handle device) const {
  return text(call_.name, device, "nvmlDeviceGetName");
}

Result<std::string> NvmlLibrary::uuid(nvml::Handle device) const {
  return text(call_.uuid, device, "nvmlDeviceGetUUID");
}

Result<std::uint32_t> NvmlLibrary::minor_number(nvml::Handle gpu) const {
  unsigned int number = 0;
  if (auto told = checked(call_.minor_number(gpu, &number), "nvmlDeviceGetMinorNumber"); !told)
    return tl::unexpected(told.error());
  return number;
}

Result<std::uint64_t> NvmlLibrary::memory_bytes(nvml::Handle device) const {
  nvml::Memory memory{};
  if (auto told = checked(call_.memory(device, &memory), "nvmlDeviceGetMemoryInfo"); !told)
    return tl::unexpected(told.error());
  return memory.total;
}

std::optional<std::vector<nvml::Handle>> NvmlLibrary::slices(nvml::Handle gpu) const {
  if (call_.mig_mode == nullptr || call_.slices_max == nullptr || call_.slice_by_index == nullptr)
    return std::nullopt;
  unsigned int now = 0;
  unsigned int after_reset = 0;
  if (call_.mig_mode(gpu, &now, &after_reset) != nvml::kSuccess || now != nvml::kMigEnabled)
    return std::nullopt;
  std::vector<nvml::Handle> found;
  unsigned int count = 0;
  if (call_.slices_max(gpu, &count) != nvml::kSuccess) return found;
  for (unsigned int i = 0; i < count; ++i) {  // not every place has a slice
    nvml::Handle slice = nullptr;
    if (call_.slice_by_index(gpu, i, &slice) == nvml::kSuccess) found.push_back(slice);
  }
  return found;
}

Result<std::vector<int>> NvmlLibrary::processes(nvml::Handle device) const {
  if (call_.processes == nullptr)
    return fail(ErrorKind::kUnavailable, "this version of NVIDIA's management library names no processes");
  std::vector<nvml::Process> found(kProcessesFirst);
  nvml::Status status = nvml::kInsufficientSize;
  auto count = static_cast<unsigned int>(found.size());
  for (int i = 0; i < kProcessesTries && status == nvml::kInsufficientSize; ++i) {
    if (i > 0) found.resize(count + kProcessesFirst);  // it has said how many there are
    count = static_cast<unsigned int>(found.size());
    status = call_.processes(device, &count, found.data());
  }
  if (auto told = checked(status, "nvmlDeviceGetComputeRunningProcesses_v3"); !told)
    return tl::unexpected(told.error());
  std::vector<int> ids;
  for (unsigned int i = 0; i < count; ++i) ids.push_back(static_cast<int>(found[i].pid));
  return ids;
}

Result<Done> NvmlLibrary::watch(nvml::Handle gpu) {
  if (call_.create_events == nullptr || call_.register_events == nullptr || call_.wait_for_event == nullptr)
    return fail(ErrorKind::kUnavailable, "this version of NVIDIA's management library tells no errors");
  if (events_ == nullptr) {
    if (auto made = checked(call_.create_events(&events_), "nvmlEventSetCreate"); !made) {
      events_ = nullptr;
      return made;
    }
  }
  return checked(call_.register_events(gpu, nvml::kXidCriticalError, events_), "nvmlDeviceRegisterEvents");
}

std::optional<NvmlXid> NvmlLibrary::next_error() const {
  if (events_ == nullptr) return std::nullopt;
  nvml::Event event{};
  constexpr unsigned int kAtOnce = 0;
  if (call_.wait_for_event(events_, &event, kAtOnce) != nvml::kSuccess) return std::nullopt;
  return NvmlXid{.gpu = event.device, .xid = event.data};
}

}  // namespace banyan::runtime
