// Limits for workers by control groups, versions 1 and 2.
// Source: Linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"

namespace banyan::runtime {

/// What one worker and its children may use together; nothing: no limit.
struct Limits {
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> processes;
  std::optional<double> cpus;  ///< 1.5: one and a half processors' time

  [[nodiscard]] bool any() const { return memory_bytes || processes || cpus; }
};

/// What is in a file; empty when it cannot be read.
std::string read_text(const std::filesystem::path& path);

/// "512 MiB", "4 GiB": binary units, at most one decimal.
std::string bytes_text(std::uint64_t bytes);

/// The kernel's controllers that are used.
enum class Controller : std::uint8_t { kMemory, kPids, kCpu };

/// Where a controller's groups are made.
struct Hierarchy {
  int version = 2;
  std::filesystem::path parent;  ///< this process's own group
};

/// Finds this process's groups from the texts of /proc/self/mountinfo and /proc/self/cgroup. A controller
/// that is in no reachable hierarchy is absent. Version 2 holds a controller when `parent`'s
/// cgroup.controllers names it.
std::map<Controller, Hierarchy> find_hierarchies(const std::string& mountinfo, const std::string& own_groups);

/// The group of one worker. Destroying it kills what is left in it and removes it.
class Cgroup {
 public:
  Cgroup(Cgroup&& other) noexcept = default;
  Cgroup& operator=(Cgroup&&) = delete;
  ~Cgroup();

  [[nodiscard]] Result<Done> add(int pid) const;
  /// How often the kernel has killed a process of the group for lack of memory.
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
  /// Makes OWN/NAME with what `wanted` needs. Controllers that cannot be used are left out: `shortcomings`
  /// says which and why.
  static Cgroups probe(std::map<Controller, Hierarchy> hierarchies, const std::string& name,
                       const Limits& wanted);
  Cgroups(Cgroups&& other) noexcept = default;
  Cgroups& operator=(Cgroups&&) = delete;
  ~Cgroups();

  /// For a log line; empty when all that was wanted can be limited.
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
