// Which sessions the control store has ever known. A host may hold a replica of a session that the gateway
// has no record of: either the session was ended, or the control store is another one than it was, or an
// older one. In the second case the session is a stray, and its replicas are all that there is of it.
#pragma once

#include <cstdint>
#include <set>

#include "node/gateway_context.h"
#include "node/gateway_records.h"

namespace banyan::node {

/// Counts the sessions that each life of the gateway founds, and keeps the strays that hosts report.
class FoundedSessions {
 public:
  /// `gateway` outlives this.
  explicit FoundedSessions(GatewayContext& gateway) : gateway_(gateway) {}

  /// Begins a life with what the control store holds.
  void recover(const StoredSessions& stored);
  /// The founding of the next session. The caller writes the session's record, and then calls store_count():
  /// a count that is durable without the record would make the session look ended.
  [[nodiscard]] Founding next() { return {.life = life_, .number = ++founded_[life_]}; }
  void store_count();

  /// The session's record cannot be read: its replicas are left alone.
  [[nodiscard]] bool damaged(const SessionId& id) const { return damaged_.contains(id); }
  /// A session that has no record was ended. Else it is a stray.
  [[nodiscard]] bool has_ended(const Founding& session) const;

  /// The host has told all strays that it holds.
  void note_strays(const HostId& host, std::set<SessionId> strays);
  [[nodiscard]] bool strayed(const SessionId& id) const;
  /// Ends the stray on the hosts that are known to have it.
  void close_stray(const SessionId& id);

 private:
  GatewayContext& gateway_;
  std::uint64_t life_ = 0;  ///< of this life's foundings
  FoundedRecords founded_;
  std::set<SessionId> damaged_;
};

}  // namespace banyan::node
