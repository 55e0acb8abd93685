// What all parts of a replica stand on.
#pragma once

#include <optional>
#include <utility>

#include "core/session/session.h"
#include "node/group_log.h"
#include "node/host_context.h"

namespace banyan::node {

/// The log of a replica, and the session as far as this replica has applied it. Only the replica itself
/// applies entries; its parts read, and propose.
struct ReplicaCore {
  HostContext& host;
  const SessionId session_id;
  const ReplicaId id;
  GroupLog log;
  std::optional<session::Session> session = {};  ///< nothing until the first snapshot is installed

  /// The log names this replica as a member. Until then its state may be old, and says neither what a worker
  /// may begin with nor whether there is to be one.
  [[nodiscard]] bool joined() const { return session && session->members().contains(id); }
  void to_gateway(PeerMessage message) const { host.send(kGateway, std::move(message)); }
  /// The gateway is to hear of it with this step.
  void report_soon() const { host.report_soon(session_id); }
};

}  // namespace banyan::node
