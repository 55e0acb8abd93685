#include "runtime/worker/cgroup.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "runtime/worker/memfd.h"

namespace banyan::runtime {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint64_t kCpuPeriodUs = 100'000;
constexpr int kRemoveTries = 20;
constexpr auto kRemoveInterval = 1ms;

constexpr std::array kControllers{Controller::kMemory, Controller::kPids, Controller::kCpu};

std::string name_of(Controller controller) {
  switch (controller) {
    case Controller::kMemory:
      return "memory";
    case Controller::kPids:
      return "pids";
    case Controller::kCpu:
      return "cpu";
  }
  return "";
}

bool wants(const Limits& limits, Controller controller) {
  switch (controller) {
    case Controller::kMemory:
      return limits.memory_bytes.has_value();
    case Controller::kPids:
      return limits.processes.has_value();
    case Controller::kCpu:
      return limits.cpus.has_value();
  }
  return false;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

bool has_word(const std::string& text, const std::string& word, char separator) {
  const std::vector<std::string> words = split(text, separator);
  return std::find(words.begin(), words.end(), word) != words.end();
}

Result<Done> write_text(const fs::path& path, const std::string& text) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0 || write(file.get(), text.data(), text.size()) < 0)
    return tl::unexpected(system_error("cannot write " + path.string()));
  return Done{};
}

Result<Done> make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directory(path, error);
  if (error) return fail(ErrorKind::kIo, "cannot create " + path.string() + ": " + error.message());
  return Done{};
}

struct Mount {
  int version = 2;
  std::string root;
  fs::path point;
  std::string options;
};

/// The mounts of control groups in the text of /proc/self/mountinfo, whose lines are
/// "id parent dev ROOT POINT options ... - TYPE source SUPEROPTIONS".
std::vector<Mount> cgroup_mounts(const std::string& mountinfo) {
  std::vector<Mount> mounts;
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 7 || words.end() - dash < 4) continue;
    const std::string& type = dash[1];
    if (type != "cgroup" && type != "cgroup2") continue;
    mounts.push_back({type == "cgroup" ? 1 : 2, words[3], words[4], dash[3]});
  }
  return mounts;
}

/// The directory of `group` under a mount; nothing when the mount does not show it.
std::optional<fs::path> directory_of(const Mount& mount, std::string group) {
  if (group.find("..") != std::string::npos) return std::nullopt;
  if (mount.root != "/") {
    if (!group.starts_with(mount.root)) return std::nullopt;
    group.erase(0, mount.root.size());
  }
  const fs::path relative = fs::path(group).relative_path();
  return relative.empty() ? mount.point : mount.point / relative;
}

/// Lets a version 2 group pass a controller on to groups within it. The kernel allows that only for a group
/// without processes of its own, so this process, if it is alone there, moves into a group below.
Result<Done> delegate(const fs::path& group, const std::string& controller) {
  const fs::path control = group / "cgroup.subtree_control";
  if (has_word(read_text(control), controller, ' ')) return Done{};
  const std::string enable = "+" + controller;
  Result<Done> enabled = write_text(control, enable);
  if (enabled) return enabled;
  const std::string self = std::to_string(getpid());
  if (read_text(group / "cgroup.procs") != self + "\n")
    return fail(ErrorKind::kIo, enabled.error().message +
                                    "; start the host agent in a group of its own (systemd: Delegate=yes)");
  const fs::path leaf = group / "banyan-agent";
  if (Result<Done> made = make_directory(leaf); !made) return made;
  if (Result<Done> moved = write_text(leaf / "cgroup.procs", self); !moved) return moved;
  return write_text(control, enable);
}

Result<Done> make_parent(const Hierarchy& hierarchy, Controller controller, const fs::path& parent) {
  if (hierarchy.version == 2)
    if (Result<Done> done = delegate(hierarchy.parent, name_of(controller)); !done) return done;
  if (Result<Done> made = make_directory(parent); !made) return made;
  if (hierarchy.version == 2) return write_text(parent / "cgroup.subtree_control", "+" + name_of(controller));
  return Done{};
}

Result<Done> apply_limit(int version, const fs::path& group, Controller controller, const Limits& limits) {
  switch (controller) {
    case Controller::kMemory: {
      const std::string bytes = std::to_string(*limits.memory_bytes);
      if (version == 1) {
        Result<Done> done = write_text(group / "memory.limit_in_bytes", bytes);
        if (done && fs::exists(group / "memory.memsw.limit_in_bytes"))
          return write_text(group / "memory.memsw.limit_in_bytes", bytes);
        return done;
      }
      if (fs::exists(group / "memory.swap.max"))
        if (Result<Done> done = write_text(group / "memory.swap.max", "0"); !done) return done;
      return write_text(group / "memory.max", bytes);
    }
    case Controller::kPids:
      return write_text(group / "pids.max", std::to_string(*limits.processes));
    case Controller::kCpu: {
      const auto quota = std::to_string(std::llround(*limits.cpus * static_cast<double>(kCpuPeriodUs)));
      const std::string period = std::to_string(kCpuPeriodUs);
      if (version == 2) return write_text(group / "cpu.max", quota + " " + period);
      if (Result<Done> done = write_text(group / "cpu.cfs_period_us", period); !done) return done;
      return write_text(group / "cpu.cfs_quota_us", quota);
    }
  }
  return Done{};
}

/// Kills what is left in a group and removes it. When a worker ends, the zygote has killed its process group
/// already, so this waits only for processes that had left that.
void remove_group(const fs::path& group) {
  for (int i = 0; i < kRemoveTries; ++i) {
    if (rmdir(group.c_str()) == 0 || errno != EBUSY) return;
    for (const std::string& pid : split(read_text(group / "cgroup.procs"), '\n'))
      if (const int number = std::atoi(pid.c_str()); number > 1) kill(number, SIGKILL);
    std::this_thread::sleep_for(kRemoveInterval);
  }
}

/// Removes the groups that an earlier life of this host agent has left behind.
void remove_children(const fs::path& parent) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, error))
    if (entry.is_directory()) remove_group(entry.path());
}

}  // namespace

std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  const bool whole = std::abs(value - std::round(value)) < 0.05;
  std::snprintf(text.data(), text.size(), whole ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::map<Controller, Hierarchy> find_hierarchies(const std::string& mountinfo,
                                                 const std::string& own_groups) {
  std::map<Controller, Hierarchy> found;
  const std::vector<Mount> mounts = cgroup_mounts(mountinfo);
  for (const std::string& line : split(own_groups, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    for (const Controller controller : kControllers) {
      const std::string name = name_of(controller);
      if (!names.empty() && !has_word(names, name, ',')) continue;
      for (const Mount& mount : mounts) {
        if (mount.version != (names.empty() ? 2 : 1)) continue;
        if (mount.version == 1 && !has_word(mount.options, name, ',')) continue;
        const std::optional<fs::path> parent = directory_of(mount, group);
        if (!parent) continue;
        if (mount.version == 2) {
          std::string available = read_text(*parent / "cgroup.controllers");
          while (!available.empty() && available.back() == '\n') available.pop_back();
          if (!has_word(available, name, ' ')) continue;
        }
        found.try_emplace(controller, Hierarchy{mount.version, *parent});
      }
    }
  }
  return found;
}

Cgroup::~Cgroup() {
  std::map<fs::path, int> distinct;
  for (const auto& [controller, place] : places_) distinct.emplace(place.path, place.version);
  for (const auto& [path, version] : distinct) remove_group(path);
}

Result<Done> Cgroup::add(int pid) const {
  for (const auto& [controller, place] : places_)
    if (Result<Done> done = write_text(place.path / "cgroup.procs", std::to_string(pid)); !done) return done;
  return Done{};
}

std::uint64_t Cgroup::oom_kills() const {
  const auto memory = places_.find(Controller::kMemory);
  if (memory == places_.end()) return 0;
  const char* file = memory->second.version == 2 ? "memory.events" : "memory.oom_control";
  for (const std::string& line : split(read_text(memory->second.path / file), '\n'))
    if (line.starts_with("oom_kill ")) return std::strtoull(line.c_str() + 9, nullptr, 10);
  return 0;
}

Cgroups Cgroups::probe(std::map<Controller, Hierarchy> hierarchies, const std::string& name,
                       const Limits& wanted) {
  Cgroups groups;
  for (const Controller controller : kControllers) {
    if (!wants(wanted, controller)) continue;
    const auto hierarchy = hierarchies.find(controller);
    std::string reason = "there is no cgroup hierarchy with it";
    if (hierarchy != hierarchies.end()) {
      const fs::path parent = hierarchy->second.parent / name;
      const Result<Done> made = make_parent(hierarchy->second, controller, parent);
      if (made) {
        remove_children(parent);
        groups.parents_.emplace(controller, Hierarchy{hierarchy->second.version, parent});
        continue;
      }
      reason = made.error().message;
    }
    groups.shortcomings_ += (groups.shortcomings_.empty() ? "" : "; ") + name_of(controller) + ": " + reason;
  }
  return groups;
}

Cgroups::~Cgroups() {
  for (const auto& [controller, parent] : parents_) remove_group(parent.parent);
}

Result<Cgroup> Cgroups::create(const std::string& name, const Limits& limits) const {
  Cgroup group({});
  for (const auto& [controller, parent] : parents_) {
    if (!wants(limits, controller)) continue;
    const fs::path path = parent.parent / name;
    if (Result<Done> made = make_directory(path); !made) return tl::unexpected(made.error());
    group.places_.emplace(controller, Cgroup::Place{parent.version, path});
    if (Result<Done> done = apply_limit(parent.version, path, controller, limits); !done)
      return tl::unexpected(done.error());
  }
  return group;
}

}  // namespace banyan::runtime
