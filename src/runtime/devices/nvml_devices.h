// The GPUs of this machine, as NVIDIA's management library (NVML) knows them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "port/devices.h"
#include "port/drivers.h"
#include "runtime/devices/nvml_library.h"

namespace banyan::runtime {

/// The GPUs of these device files, in their order, with model and memory. A GPU is named as its file is
/// ("nvidia0"). In place of one that is divided by MIG there are its slices, named by their UUIDs ("MIG-…").
/// What there is is found out once; later changes of MIG want a new host agent.
///
/// A device works while its file is there, NVML answers for it, and the driver has reported no error (XID)
/// that is the GPU's own fault: see xid_errors.h. Such an error counts for all slices of the GPU, since what
/// mends it is a reset of the whole. It is forgotten when the host agent starts anew, and only then.
///
/// A GPU with such an error is not asked for anything again, because a driver whose GPU does not answer may
/// keep the caller waiting.
class NvmlDevices final : public port::Devices {
 public:
  /// `library`: a path, or a name for the dynamic linker. kNotFound: there is no such library. kUnavailable:
  /// it does not work, or knows none of these GPUs. `log` is told which GPUs have had errors, and which are
  /// configured and cannot be served.
  static Result<std::unique_ptr<NvmlDevices>> open(const std::vector<std::string>& files,
                                                   const std::string& library, port::LogSink log);
  std::vector<cluster::Device> list() override;
  /// A process uses a device while it has a context there, as most programs have from their first use of CUDA
  /// until they end. Its id is the driver's, which in a container need not be the one inside.
  std::vector<port::DeviceUse> uses(const std::set<int>& processes) override;

 private:
  struct Gpu {
    std::string file;
    nvml::Handle handle = nullptr;  ///< null: NVML does not know it
    std::string uuid;
    bool broken = false;  ///< an XID has said so
  };
  /// What cells are bound to: a GPU, or a slice of one.
  struct Part {
    std::size_t gpu = 0;
    nvml::Handle handle = nullptr;  ///< null: it cannot be used
    std::string uuid;
    cluster::Device device;
  };

  NvmlDevices(std::unique_ptr<NvmlLibrary> library, port::LogSink log)
      : library_(std::move(library)), log_(std::move(log)) {}
  void add(const std::string& file, nvml::Handle handle);
  void add_unusable(const std::string& why);
  void add_part(nvml::Handle handle, DeviceId id, std::string uuid);
  void read_errors();
  void on_error(Gpu& gpu, std::uint64_t xid);
  [[nodiscard]] bool may_ask(const Part& part) const;
  [[nodiscard]] bool works(const Part& part) const;

  std::unique_ptr<NvmlLibrary> library_;
  port::LogSink log_;
  std::vector<Gpu> gpus_;
  std::vector<Part> parts_;
};

}  // namespace banyan::runtime
