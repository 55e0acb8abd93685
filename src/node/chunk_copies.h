// On which hosts the large chunks of a cell's values are stored, until its commit is in the log.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/session/session.h"
#include "node/host_chunks.h"
#include "node/host_context.h"

namespace banyan::node {

/// P1: what a commit refers to is on the disks of a majority before the commit is proposed. Small chunks are
/// in the commit itself. The executor sends large ones to the other members, counts who has stored them, and
/// asks here whether they are safe.
class ChunkCopies {
 public:
  /// Takes the bytes of chunks of more than `inline_max` bytes out of the values.
  void take(session::Delta& delta, std::uint64_t inline_max);
  void clear();
  [[nodiscard]] bool has(const Digest& digest) const { return bytes_.contains(digest); }
  [[nodiscard]] const std::map<Digest, Blob>& bytes() const { return bytes_; }

  /// Sends all of them to a host, for the commit of that cell.
  void send(HostContext& host, const HostId& to, const SessionId& session, const ExecutionId& cell) const;
  /// Another member has stored the chunk. Without effect when it is none of these.
  void on_stored(ReplicaId member, const Digest& digest);
  /// The members are others now, so copies on hosts that have left do not count. Returns the members that
  /// lack a chunk; `self` is where the chunks come from.
  std::vector<ReplicaId> on_members(const session::Members& members, ReplicaId self);
  /// Whether a majority has stored each: other members, as they said, and this host, as its disk says.
  [[nodiscard]] bool are_safe(std::size_t majority, const HostChunks& here);

 private:
  std::map<Digest, Blob> bytes_;
  std::map<Digest, std::set<ReplicaId>> stored_by_;  ///< other members
  Digest lacked_;  ///< one that was not safe at some look: the next one begins there
};

}  // namespace banyan::node
