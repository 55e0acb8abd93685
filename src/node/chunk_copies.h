// On which hosts the large chunks of a cell's values are stored, until its commit is in the log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/session/session.h"
#include "node/host_chunks.h"
#include "node/host_context.h"

namespace banyan::node {

/// P1: what the values that a reply waits for refer to is on the disks of a majority before the commit is
/// proposed. Small chunks are in the commit itself. The executor sends large ones to the other members,
/// counts who has stored them, and asks here whether they are safe. The chunks of large values may come later
/// (captured()): they are named by the commit, and copied in the background.
class ChunkCopies {
 public:
  /// Which values the reply waits for, and which bytes go beside the log.
  struct Limits {
    std::uint64_t inline_max = 0;                   ///< bytes of a chunk that is in the commit itself
    std::uint64_t awaited_max = ~std::uint64_t{0};  ///< bytes of a value that the reply waits for
  };
  /// Takes the bytes of chunks that are too large for the log out of the values.
  void take(session::Delta& delta, const Limits& limits);
  void clear();
  [[nodiscard]] bool has(const Digest& digest) const {
    return bytes_.contains(digest) || captured_.contains(digest);
  }
  /// What the reply waits for.
  [[nodiscard]] const std::map<Digest, Blob>& bytes() const { return bytes_; }
  /// What it does not wait for.
  [[nodiscard]] const std::map<Digest, Blob>& captured() const { return captured_; }

  /// What they are sent for.
  struct Purpose {
    SessionId session;
    ExecutionId cell;  ///< they are for its commit
  };
  /// Begins to send all of them to a host, also when that was done before: a small value at once, and of
  /// large ones as much as keeps the link busy. Messages of all sessions go over the link in order, and
  /// heartbeats and commits are not to wait behind gigabytes.
  void send(HostContext& host, const HostId& to, const Purpose& purpose);
  /// Sends what has room on the links by now.
  void send_more(HostContext& host, const Purpose& purpose);
  /// Another member has stored the chunk. Without effect when it is none of these.
  void on_stored(ReplicaId member, const Digest& digest);
  /// The members are others now, so copies on hosts that have left do not count. Returns the members that
  /// lack a chunk; `self` is where the chunks come from.
  std::vector<ReplicaId> on_members(const session::Members& members, ReplicaId self);
  /// Whether a majority has stored each: other members, as they said, and this host, as its disk says.
  [[nodiscard]] bool are_safe(std::size_t majority, const HostChunks& here);
  /// The bytes of those that are not.
  [[nodiscard]] std::uint64_t unsafe_bytes(std::size_t majority, const HostChunks& here) const;

 private:
  /// Sends the next one to the host, and returns its size; nothing when it was sent all of them.
  std::optional<std::uint64_t> send_next(HostContext& host, const HostId& to, const Purpose& purpose);

  std::map<Digest, Blob> bytes_;
  std::map<Digest, Blob> captured_;
  std::map<Digest, std::set<ReplicaId>> stored_by_;  ///< other members
  /// By host that gets them: the last one that was sent. They go in the order of their digests.
  std::map<HostId, std::optional<Digest>> sent_;
  Digest lacked_;  ///< one that was not safe at some look: the next one begins there
};

}  // namespace banyan::node
