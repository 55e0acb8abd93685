#include "runtime/worker/process_tree.h"

#include <charconv>
#include <optional>
#include <sstream>
#include <string>

#include "runtime/worker/cgroup.h"

namespace banyan::runtime {

namespace {

struct Relations {
  int parent = 0;
  int group = 0;
};

/// From the text of /proc/PID/stat. The second field is the program's name in parentheses, and may have any
/// character in it.
std::optional<Relations> relations_in(const std::string& stat) {
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream rest(stat.substr(end + 1));
  std::string state;
  Relations found;
  if (!(rest >> state >> found.parent >> found.group)) return std::nullopt;
  return found;
}

std::map<int, Relations> all_processes(const std::filesystem::path& proc) {
  std::map<int, Relations> all;
  std::error_code error;
  for (std::filesystem::directory_iterator it(proc, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    int process = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), process);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (const auto relations = relations_in(read_text(it->path() / "stat"))) all.emplace(process, *relations);
  }
  return all;
}

}  // namespace

std::map<int, std::set<int>> with_descendants(const std::set<int>& processes,
                                              const std::filesystem::path& proc) {
  std::map<int, std::set<int>> found;
  for (const int process : processes) found[process].insert(process);
  const std::map<int, Relations> all = all_processes(proc);
  for (const auto& [process, relations] : all) {
    if (const auto led = found.find(relations.group); led != found.end()) led->second.insert(process);
    int above = process;
    // Numbers are given again: two that name each other as parents would be a circle.
    for (std::size_t steps = 0; steps <= all.size(); ++steps) {
      const auto parent = all.find(above);
      if (parent == all.end()) break;
      above = parent->second.parent;
      if (const auto ancestor = found.find(above); ancestor != found.end()) ancestor->second.insert(process);
    }
  }
  return found;
}

}  // namespace banyan::runtime
