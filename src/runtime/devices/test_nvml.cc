// A library that tests load in place of NVIDIA's management library. With FAKE_NVML_BARE it has only what
// every version of that has.
#include "runtime/devices/test_nvml.h"

#include <cstring>
#include <type_traits>

using namespace banyan::runtime;  // NOLINT: the functions below belong to no namespace

namespace {

FakeNvml state;

FakeDevice& device_behind(nvml::Handle handle) {
  ++state.asked;
  return *reinterpret_cast<FakeDevice*>(handle);
}

nvml::Handle handle_of(FakeDevice& device) { return reinterpret_cast<nvml::Handle>(&device); }

nvml::Status put_text(const std::string& from, char* text, unsigned int size) {
  if (from.size() >= size) return nvml::kInsufficientSize;
  std::memcpy(text, from.c_str(), from.size() + 1);
  return nvml::kSuccess;
}

}  // namespace

extern "C" {

FakeNvml* fake_nvml() { return &state; }

nvml::Status nvmlInit_v2() {
  if (state.init == nvml::kSuccess) ++state.initialised;
  return state.init;
}

nvml::Status nvmlShutdown() {
  --state.initialised;
  return nvml::kSuccess;
}

nvml::Status nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = static_cast<unsigned int>(state.gpus.size());
  return nvml::kSuccess;
}

nvml::Status nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml::Handle* device) {
  FakeDevice& gpu = state.gpus.at(index);
  if (gpu.status == nvml::kSuccess) *device = handle_of(gpu);
  return gpu.status;
}

nvml::Status nvmlDeviceGetName(nvml::Handle device, char* text, unsigned int size) {
  const FakeDevice& it = device_behind(device);
  return it.status != nvml::kSuccess ? it.status : put_text(it.name, text, size);
}

nvml::Status nvmlDeviceGetUUID(nvml::Handle device, char* text, unsigned int size) {
  const FakeDevice& it = device_behind(device);
  return it.uuid_status != nvml::kSuccess ? it.uuid_status : put_text(it.uuid, text, size);
}

nvml::Status nvmlDeviceGetMinorNumber(nvml::Handle device, unsigned int* number) {
  const FakeDevice& it = device_behind(device);
  *number = it.minor;
  return it.status;
}

nvml::Status nvmlDeviceGetMemoryInfo(nvml::Handle device, nvml::Memory* memory) {
  const FakeDevice& it = device_behind(device);
  *memory = {.total = it.memory_bytes, .free = it.memory_bytes - 1, .used = 1};
  return it.status;
}

#ifndef FAKE_NVML_BARE

const char* nvmlErrorString(nvml::Status status) {
  return status == kFakeDriverNotLoaded ? "Driver Not Loaded" : "Unknown Error";
}

nvml::Status nvmlDeviceGetMigMode(nvml::Handle device, unsigned int* current, unsigned int* pending) {
  const FakeDevice& it = device_behind(device);
  if (!it.mig && it.slices.empty()) return kFakeNotSupported;
  *current = it.mig ? nvml::kMigEnabled : 0;
  *pending = nvml::kMigEnabled;
  return it.status;
}

nvml::Status nvmlDeviceGetMaxMigDeviceCount(nvml::Handle device, unsigned int* count) {
  *count = static_cast<unsigned int>(device_behind(device).slices.size());
  return nvml::kSuccess;
}

nvml::Status nvmlDeviceGetMigDeviceHandleByIndex(nvml::Handle device, unsigned int index,
                                                 nvml::Handle* slice) {
  FakeDevice& it = device_behind(device).slices.at(index);
  if (!it.there) return kFakeNotFound;
  *slice = handle_of(it);
  return nvml::kSuccess;
}

nvml::Status nvmlDeviceGetComputeRunningProcesses_v3(nvml::Handle device, unsigned int* count,
                                                     nvml::Process* processes) {
  const FakeDevice& it = device_behind(device);
  if (it.status != nvml::kSuccess) return it.status;
  const unsigned int room = *count;
  *count = static_cast<unsigned int>(it.processes.size());
  if (room < *count) return nvml::kInsufficientSize;
  for (unsigned int i = 0; i < *count; ++i) processes[i] = {it.processes[i], 1, 0, 0};
  return nvml::kSuccess;
}

nvml::Status nvmlEventSetCreate(nvml::EventSet** events) {
  static char event_set;
  ++state.event_sets;
  *events = reinterpret_cast<nvml::EventSet*>(&event_set);
  return nvml::kSuccess;
}

nvml::Status nvmlEventSetFree(nvml::EventSet* /*events*/) {
  --state.event_sets;
  return nvml::kSuccess;
}

nvml::Status nvmlDeviceRegisterEvents(nvml::Handle device, unsigned long long types,
                                      nvml::EventSet* /*events*/) {
  FakeDevice& it = device_behind(device);
  if (!it.events) return kFakeNotSupported;
  it.registered = types == nvml::kXidCriticalError;
  return nvml::kSuccess;
}

nvml::Status nvmlEventSetWait_v2(nvml::EventSet* /*events*/, nvml::Event* event, unsigned int timeout_ms) {
  ++state.waits;
  state.timeout_ms = timeout_ms > state.timeout_ms ? timeout_ms : state.timeout_ms;
  if (state.events.empty()) return kFakeTimeout;
  const FakeEvent next = state.events.front();
  if (!state.endless) state.events.pop_front();
  *event = {handle_of(*next.device), nvml::kXidCriticalError, next.xid, 0, 0};
  return nvml::kSuccess;
}

static_assert(std::is_same_v<decltype(nvmlDeviceGetMigMode), nvml::DeviceGetMigMode>);
static_assert(std::is_same_v<decltype(nvmlDeviceGetMaxMigDeviceCount), nvml::DeviceGetMaxMigDeviceCount>);
static_assert(
    std::is_same_v<decltype(nvmlDeviceGetMigDeviceHandleByIndex), nvml::DeviceGetMigDeviceHandleByIndex>);
static_assert(std::is_same_v<decltype(nvmlDeviceGetComputeRunningProcesses_v3),
                             nvml::DeviceGetComputeRunningProcesses>);
static_assert(std::is_same_v<decltype(nvmlEventSetCreate), nvml::EventSetCreate>);
static_assert(std::is_same_v<decltype(nvmlEventSetFree), nvml::EventSetFree>);
static_assert(std::is_same_v<decltype(nvmlDeviceRegisterEvents), nvml::DeviceRegisterEvents>);
static_assert(std::is_same_v<decltype(nvmlEventSetWait_v2), nvml::EventSetWait>);

#endif

}  // extern "C"
