// The three member processes of the Raft bench, as the measuring process sees them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "raft/member.h"

namespace banyan::bench {

struct Load {
  std::chrono::milliseconds warm_up{1000};
  std::chrono::milliseconds length{5000};
  int depth = 1;  ///< proposals under way in each group
};

/// Three member processes with fresh logs. The constructor forks, so it runs before this process has threads.
class Cluster {
 public:
  /// Returns when every group has a leader. The folder `directory` must not exist; it is made.
  static Result<Cluster> start(int groups, const std::filesystem::path& directory);
  ~Cluster();
  Cluster(Cluster&& other) noexcept;
  Cluster& operator=(Cluster&&) = delete;

  /// The latencies of all proposals, in ns, sorted.
  Result<std::vector<std::uint64_t>> measure(const Load& load);

 private:
  struct Process {
    pid_t pid = 0;
    int control = -1;
    std::filesystem::path directory;
  };

  Cluster() = default;
  Result<Done> spawn(int number, int groups, const std::filesystem::path& directory);
  Result<Done> tell(const std::string& line);
  /// Waits for a line that begins with `word` from each member, and returns what follows the word, in the
  /// order of the members.
  Result<std::vector<std::string>> hear(const std::string& word, std::chrono::milliseconds limit);

  std::vector<Process> processes_;
};

}  // namespace banyan::bench
