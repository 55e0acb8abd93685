// NVIDIA's management library (NVML), which comes with the driver and is loaded when the program runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/devices/nvml_abi.h"

namespace banyan::runtime {

/// Where the dynamic linker finds the library of an installed driver.
inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

/// An error that the driver has reported of a GPU.
struct NvmlXid {
  nvml::Handle gpu = nullptr;
  std::uint64_t xid = 0;
};

/// The library, loaded and initialised. Handles are valid while it lives. Functions that older versions of
/// the library lack may be absent: then there are no slices, errors or processes. A call that fails says
/// kUnavailable and the library's own words.
class NvmlLibrary {
 public:
  /// Loads and initialises it. kNotFound: there is no such library. kUnavailable: there is one, and it does
  /// not work. Without persistence mode the driver wakes the GPUs up first, which takes seconds.
  static Result<std::unique_ptr<NvmlLibrary>> open(const std::string& path);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  /// The GPUs that answer, in the library's order, which need not be that of the device files.
  [[nodiscard]] std::vector<nvml::Handle> gpus() const;
  [[nodiscard]] Result<std::string> name(nvml::Handle device) const;
  /// "GPU-…", or "MIG-…" for a slice.
  [[nodiscard]] Result<std::string> uuid(nvml::Handle device) const;
  /// The number of the GPU's device file: 3 for /dev/nvidia3.
  [[nodiscard]] Result<std::uint32_t> minor_number(nvml::Handle gpu) const;
  /// All memory, used or not.
  [[nodiscard]] Result<std::uint64_t> memory_bytes(nvml::Handle device) const;
  /// The MIG slices of a GPU, in their order; nothing for a GPU that is not divided.
  [[nodiscard]] std::optional<std::vector<nvml::Handle>> slices(nvml::Handle gpu) const;
  /// The ids of the processes that have memory on the device.
  [[nodiscard]] Result<std::vector<int>> processes(nvml::Handle device) const;

  /// From now on next_error() tells of the errors of this GPU.
  Result<Done> watch(nvml::Handle gpu);
  /// The oldest error that has not been told yet, if there is one. It does not wait.
  [[nodiscard]] std::optional<NvmlXid> next_error() const;

 private:
  /// Null: this version of the library has no such function.
  struct Functions {
    nvml::Init* init = nullptr;
    nvml::Shutdown* shutdown = nullptr;
    nvml::ErrorString* error_string = nullptr;
    nvml::DeviceGetCount* count = nullptr;
    nvml::DeviceGetHandleByIndex* handle_by_index = nullptr;
    nvml::DeviceGetText* name = nullptr;
    nvml::DeviceGetText* uuid = nullptr;
    nvml::DeviceGetMinorNumber* minor_number = nullptr;
    nvml::DeviceGetMemoryInfo* memory = nullptr;
    nvml::DeviceGetMigMode* mig_mode = nullptr;
    nvml::DeviceGetMaxMigDeviceCount* slices_max = nullptr;
    nvml::DeviceGetMigDeviceHandleByIndex* slice_by_index = nullptr;
    nvml::DeviceGetComputeRunningProcesses* processes = nullptr;
    nvml::EventSetCreate* create_events = nullptr;
    nvml::EventSetFree* free_events = nullptr;
    nvml::DeviceRegisterEvents* register_events = nullptr;
    nvml::EventSetWait* wait_for_event = nullptr;
  };
  struct Close {
    void operator()(void* library) const;
  };

  explicit NvmlLibrary(void* library) : library_(library) {}
  Result<Done> find_functions();
  [[nodiscard]] Result<Done> checked(nvml::Status status, const char* function) const;
  [[nodiscard]] Result<std::string> text(nvml::DeviceGetText* get, nvml::Handle device,
                                         const char* function) const;

  std::unique_ptr<void, Close> library_;
  Functions call_;
  bool initialised_ = false;
  nvml::EventSet* events_ = nullptr;  ///< null: no GPU is watched
};

}  // namespace banyan::runtime
