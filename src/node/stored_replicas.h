// What a disk holds of replicas, kept in memory: for disks that are none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>

#include "node/host_events.h"

namespace banyan::node {

/// Follows a host's writes. Chunks are kept elsewhere.
class StoredReplicas {
 public:
  /// What is wrong with the write; nothing: it is as a log has to be.
  std::optional<std::string> apply(const DiskWrite& write) {
    if (const auto* put = std::get_if<PutMeta>(&write)) at(put->session).meta = put->meta;
    if (const auto* put = std::get_if<PutHardState>(&write)) at(put->session).hard_state = put->hard_state;
    if (const auto* drop = std::get_if<DropReplica>(&write)) replicas_.erase(drop->session);
    if (const auto* put = std::get_if<PutEntries>(&write)) return append(at(put->session), *put);
    if (const auto* put = std::get_if<PutSnapshot>(&write)) {
      StoredReplica& replica = at(put->session);
      replica.snapshot = put->snapshot;
      std::erase_if(replica.entries,
                    [&](const raft::Entry& entry) { return entry.index <= put->snapshot.index; });
    }
    return std::nullopt;
  }

  [[nodiscard]] const std::map<SessionId, StoredReplica>& all() const { return replicas_; }
  [[nodiscard]] std::optional<StoredReplica> find(const SessionId& session) const {
    const auto found = replicas_.find(session);
    return found == replicas_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  StoredReplica& at(const SessionId& session) {
    StoredReplica& replica = replicas_[session];
    replica.session = session;
    return replica;
  }

  static std::optional<std::string> append(StoredReplica& replica, const PutEntries& put) {
    auto& entries = replica.entries;
    while (!entries.empty() && entries.back().index > put.truncate_after) entries.pop_back();
    raft::Index last = replica.snapshot ? replica.snapshot->index : raft::Index{0};
    if (!entries.empty()) last = entries.back().index;
    std::optional<std::string> fault;
    for (const raft::Entry& entry : put.entries) {
      if (entry.index != last + 1)
        fault = "session " + replica.session.value + " writes entry " + std::to_string(entry.index.value) +
                " after " + std::to_string(last.value);
      last = entry.index;
      entries.push_back(entry);
    }
    return fault;
  }

  std::map<SessionId, StoredReplica> replicas_;
};

}  // namespace banyan::node
