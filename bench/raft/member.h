// One host of the Raft bench: a process of its own with the live network, the live disk and the real Raft
// core.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace banyan::bench {

/// The size of a proposal in bytes.
inline constexpr std::size_t kEntryBytes = 1024;
/// The number of hosts; each holds a replica of every group.
inline constexpr int kMembers = 3;

struct MemberOptions {
  int number = 1;                   ///< 1 to kMembers: the replica's id, host "h1"…
  int groups = 1;                   ///< a third of them is led here
  std::filesystem::path directory;  ///< the log goes here
  int control = -1;                 ///< a socket to the process that measures
};

/// The lines that a member is told, and the line that it answers to each:
///
///     (nothing)                      listening PORT
///     peers PORT1 PORT2 PORT3        connected          to both others
///     start                          ready              every group has a leader
///     measure WARMUP_MS MS DEPTH     done               see samples_file()
///
/// In a measurement every group keeps DEPTH proposals under way, from its leader. Runs until the socket
/// closes; returns the process's exit status.
int run_member(const MemberOptions& options);

/// Where a member leaves the latencies of a measurement in ns, as base/codec.h encodes a vector of uint64.
/// It has the proposals that were made and committed within the measurement.
std::filesystem::path samples_file(const std::filesystem::path& directory);

}  // namespace banyan::bench
