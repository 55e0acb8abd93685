// Which chunks of committed values are not yet on the disks of a majority.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/api/operator.h"
#include "core/session/session.h"
#include "node/host_chunks.h"

namespace banyan::node {

/// What the executor knows of the large values that its cells have made: a commit names them before a
/// majority has their bytes. A chunk is pending from its capture until a majority of the members has stored
/// it, as each of them says, or until nothing refers to it.
class PendingChunks {
 public:
  /// Both are of this host, and outlive this.
  PendingChunks(const HostContext& host, const HostChunks& chunks) : host_(host), chunks_(chunks) {}

  /// The commit of the cell, which runs, will refer to the chunk, which was captured just now. `is_old`: the
  /// session has had it before, so that others may have it.
  void add(const ExecutionId& cell, const Digest& digest, std::uint64_t size, bool is_old = false);
  /// Who has the chunks of large values is not known here, because cells ran on another host, or in another
  /// life of this one. Those who may have stored them are asked.
  void add_all(const session::Session& session);
  /// The same for one value, if it is a large one.
  void add_old(const session::CoVariable& value);
  /// Another member has stored the chunk. Without effect when it is none of these.
  void on_stored(const session::Session& session, const HostId& host, const Digest& digest);
  /// This host has stored it, or something else has changed: it leaves when it is not pending any more.
  void look_at(const Digest& digest, const session::Session& session);
  /// The same for all of them: other members count, or the session is another one.
  void look_at_all(const session::Session& session);
  /// Nobody has it, so that nobody will store it.
  void forget(const Digest& digest);
  /// Another host counts them from now on.
  void clear();

  /// Called often: chunks of which too few members have said for a while that they have stored them, and who
  /// those are that have not. What they said may have been lost with one of the daemons.
  [[nodiscard]] std::vector<std::pair<HostId, Digest>> to_ask(const session::Session& session);

  [[nodiscard]] bool contains(const Digest& digest) const { return pending_.contains(digest); }
  [[nodiscard]] bool empty() const { return pending_.empty(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// The part of these that is only in this host's memory.
  [[nodiscard]] std::uint64_t captured_bytes() const;
  /// Since when the oldest of them is pending.
  [[nodiscard]] std::optional<WallTime> since() const;
  /// All this for people; nothing when none is pending.
  [[nodiscard]] std::optional<api::PendingModel> model() const;

 private:
  struct Pending {
    ExecutionId cell;  ///< whose commit will refer to it
    std::uint64_t size = 0;
    WallTime since;
    Time asked;                     ///< or added
    std::set<ReplicaId> stored_by;  ///< other members
  };

  [[nodiscard]] bool is_over(const Digest& digest, const Pending& pending,
                             const session::Session& session) const;

  const HostContext& host_;
  const HostChunks& chunks_;
  std::map<Digest, Pending> pending_;
  std::uint64_t bytes_ = 0;
};

}  // namespace banyan::node
