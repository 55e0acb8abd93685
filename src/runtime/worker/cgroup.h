// Limits of workers by control groups, versions 1 and 2.
// Source: Linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"

namespace banyan::runtime {

/// What one worker and its children may use together. A limit that is not set does not exist.
struct Limits {
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> processes;
  std::optional<double> cpus;  ///< 1.5 is the time of one and a half processors

  [[nodiscard]] bool any() const { return memory_bytes || processes || cpus; }
};

/// The text of a file; empty when it cannot be read.
std::string read_text(const std::filesystem::path& path);

/// A number of bytes for a person: "512 MiB", "4.5 GiB".
std::string bytes_text(std::uint64_t bytes);

/// The controllers of the kernel that are used here.
enum class Controller : std::uint8_t { kMemory, kPids, kCpu };

/// Where a controller's groups are made.
struct Hierarchy {
  int version = 2;
  std::filesystem::path parent;  ///< the group of this process
};

/// Finds this process's groups from the texts of /proc/self/mountinfo and /proc/self/cgroup. A controller
/// that is in no reachable hierarchy is left out. A version 2 hierarchy has a controller when the file
/// cgroup.controllers of `parent` names it.
std::map<Controller, Hierarchy> find_hierarchies(const std::string& mountinfo, const std::string& own_groups);

/// The group of one worker. Destroying it kills what is left in it and removes it.
class Cgroup {
 public:
  Cgroup(Cgroup&& other) noexcept = default;
  Cgroup& operator=(Cgroup&&) = delete;
  ~Cgroup();

  [[nodiscard]] Result<Done> add(int pid) const;
  /// How many processes of the group the kernel has killed for lack of memory.
  [[nodiscard]] std::uint64_t oom_kills() const;

 private:
  friend class Cgroups;
  struct Place {
    int version;
    std::filesystem::path path;
  };
  explicit Cgroup(std::map<Controller, Place> places) : places_(std::move(places)) {}

  std::map<Controller, Place> places_;
};

/// The groups of one host agent: OWN/NAME/WORKER in each hierarchy. Destroying it removes OWN/NAME.
class Cgroups {
 public:
  /// Makes OWN/NAME with the controllers that `wanted` needs. Those that cannot be used are left out, and
  /// `shortcomings` says which and why.
  static Cgroups probe(std::map<Controller, Hierarchy> hierarchies, const std::string& name,
                       const Limits& wanted);
  Cgroups(Cgroups&& other) noexcept = default;
  Cgroups& operator=(Cgroups&&) = delete;
  ~Cgroups();

  /// What cannot be limited, and why, for a log line; empty when everything can.
  [[nodiscard]] const std::string& shortcomings() const { return shortcomings_; }
  [[nodiscard]] bool limits(Controller controller) const { return parents_.contains(controller); }

  /// A group for one worker.
  [[nodiscard]] Result<Cgroup> create(const std::string& name, const Limits& limits) const;

 private:
  Cgroups() = default;

  std::map<Controller, Hierarchy> parents_;
  std::string shortcomings_;
};

}  // namespace banyan::runtime
