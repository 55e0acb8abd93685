// For tests: what the library test_nvml.cc, which stands for NVIDIA's management library, has and is asked.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "runtime/devices/nvml_abi.h"

namespace banyan::runtime {

/// What the library's functions answer where something is wrong, with the numbers of NVML.
inline constexpr nvml::Status kFakeNotSupported = 3;
inline constexpr nvml::Status kFakeNotFound = 6;
inline constexpr nvml::Status kFakeDriverNotLoaded = 9;
inline constexpr nvml::Status kFakeTimeout = 10;
inline constexpr nvml::Status kFakeGpuIsLost = 15;

/// A GPU, or a slice of one.
struct FakeDevice {
  std::string name;
  std::string uuid;
  unsigned int minor = 0;
  unsigned long long memory_bytes = 0;
  nvml::Status status = nvml::kSuccess;       ///< what all calls answer but those for the UUID
  nvml::Status uuid_status = nvml::kSuccess;  ///< what those answer
  std::vector<unsigned int> processes;
  bool events = true;  ///< it can be registered for events
  bool mig = false;    ///< it is divided into its slices
  bool there = true;   ///< of a slice: its place is not empty
  std::vector<FakeDevice> slices;
  bool registered = false;
};

/// An XID that waits to be read.
struct FakeEvent {
  FakeDevice* device = nullptr;
  unsigned long long xid = 0;
};

/// The state of the library. Handles are pointers into `gpus`, which therefore keep their places.
struct FakeNvml {
  nvml::Status init = nvml::kSuccess;
  std::vector<FakeDevice> gpus;
  std::deque<FakeEvent> events;
  bool endless = false;         ///< an event that is read is there again
  int initialised = 0;          ///< calls of nvmlInit_v2 that succeeded, less those of nvmlShutdown
  int event_sets = 0;           ///< made and not freed
  int waits = 0;                ///< calls that read an event, or found none
  unsigned int timeout_ms = 0;  ///< the longest that one of them would have waited
  int asked = 0;                ///< calls about one device
};

}  // namespace banyan::runtime

/// The state, by which a test sets what the library does.
extern "C" banyan::runtime::FakeNvml* fake_nvml();
