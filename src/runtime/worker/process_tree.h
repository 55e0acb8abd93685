// Which processes a process has started.
#pragma once

#include <filesystem>
#include <map>
#include <set>

namespace banyan::runtime {

/// For each of these processes: itself, those that it has started and that these have started, and all of its
/// process group. One that has left both, as a daemon does, is not found. `proc` is where the kernel tells of
/// processes (proc_pid_stat(5)).
std::map<int, std::set<int>> with_descendants(const std::set<int>& processes,
                                              const std::filesystem::path& proc = "/proc");

}  // namespace banyan::runtime
