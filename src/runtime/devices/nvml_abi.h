// What of NVML's C interface is used here: its binary layout, as its public documentation gives it
// (https://docs.nvidia.com/deploy/nvml-api). NVIDIA's header is neither needed nor included.
#pragma once

namespace banyan::runtime::nvml {

/// A GPU, or a MIG slice of one; the library owns what is behind it.
struct Device;
using Handle = Device*;

/// Where events of the GPUs that are registered for it arrive.
struct EventSet;

/// What every function answers (nvmlReturn_t). Others than these count as failures of one kind.
using Status = int;
inline constexpr Status kSuccess = 0;
inline constexpr Status kInsufficientSize = 7;

/// nvmlMemory_t, in bytes.
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(Memory) == 24);

/// nvmlProcessInfo_t of the functions whose names end with _v2 and _v3.
struct Process {
  unsigned int pid;
  unsigned long long used_bytes;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};
static_assert(sizeof(Process) == 24);

/// nvmlEventData_t of nvmlEventSetWait_v2.
struct Event {
  Handle device;
  unsigned long long type;
  unsigned long long data;  ///< of kXidCriticalError: the XID
  unsigned int gpu_instance;
  unsigned int compute_instance;
};
static_assert(sizeof(Event) == 32);

inline constexpr unsigned long long kXidCriticalError = 8;  // nvmlEventTypeXidCriticalError
inline constexpr unsigned int kMigEnabled = 1;              // NVML_DEVICE_MIG_ENABLE

/// Types of the functions, by the part of their names after "nvml" and without the version.
using Init = Status();
using Shutdown = Status();
using ErrorString = const char*(Status);
using DeviceGetCount = Status(unsigned int* count);
using DeviceGetHandleByIndex = Status(unsigned int index, Handle* device);
using DeviceGetText = Status(Handle device, char* text, unsigned int size);  // the name, the UUID
using DeviceGetMinorNumber = Status(Handle device, unsigned int* number);
using DeviceGetMemoryInfo = Status(Handle device, Memory* memory);
using DeviceGetMigMode = Status(Handle device, unsigned int* current, unsigned int* pending);
using DeviceGetMaxMigDeviceCount = Status(Handle device, unsigned int* count);
using DeviceGetMigDeviceHandleByIndex = Status(Handle device, unsigned int index, Handle* slice);
using DeviceGetComputeRunningProcesses = Status(Handle device, unsigned int* count, Process* processes);
using EventSetCreate = Status(EventSet** events);
using EventSetFree = Status(EventSet* events);
using DeviceRegisterEvents = Status(Handle device, unsigned long long types, EventSet* events);
using EventSetWait = Status(EventSet* events, Event* event, unsigned int timeout_ms);

}  // namespace banyan::runtime::nvml
