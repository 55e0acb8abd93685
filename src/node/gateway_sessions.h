// The sessions of the gateway, and who is connected to each of them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "node/gateway_session.h"
#include "node/http_target.h"

namespace banyan::node {

/// Owns the sessions. Jupyter clients open WebSockets to them; a client that names no session_id there is
/// known by header.session of its first message.
class GatewaySessions {
 public:
  /// `gateway` outlives this.
  explicit GatewaySessions(GatewayContext& gateway) : gateway_(gateway) {}

  // Sessions.
  GatewaySession& add(SessionRecord record);
  /// Ends the session, which is there, and closes its clients' connections. Its replicas are closed when the
  /// end is durable, and `request` is answered then: to a later life of the gateway that still knew the
  /// session it would have lost its data.
  void end(const SessionId& id, std::optional<RequestId> request = std::nullopt);
  void on_end_noted(const SessionId& id);
  /// A host has a replica of a session of that id. Whether it is one whose end is not durable yet: the host
  /// is told to close it then.
  [[nodiscard]] bool is_ending(const SessionId& id, const HostId& host);
  /// Also a session whose record is not durable yet; null when there is none.
  [[nodiscard]] GatewaySession* find(const SessionId& id) const;
  /// A session that clients may know of; null when there is none.
  [[nodiscard]] GatewaySession* existing(const SessionId& id) const;
  [[nodiscard]] const std::map<SessionId, std::unique_ptr<GatewaySession>>& all() const { return sessions_; }

  // Clients.
  void on_opening(const ClientOpening& event);
  void on_message(FromClient event);
  void on_drained(const ClientDrained& event);
  void on_confirmed(const ClientConfirmed& event);
  void on_closed(const ClientClosed& event);
  /// Called often: names clients that say nothing.
  void watch_anonymous();

 private:
  /// A connection whose client is not known: it named no session_id.
  struct Anonymous {
    SessionId session;
    Time since;
    ClientManner manner;
  };
  /// A session whose end is not durable yet.
  struct Ending {
    std::set<HostId> hosts;  ///< may have replicas of it
    std::optional<RequestId> request;
  };

  [[nodiscard]] GatewaySession* of(ConnectionId connection) const;

  GatewayContext& gateway_;
  std::map<SessionId, std::unique_ptr<GatewaySession>> sessions_;
  std::map<ConnectionId, SessionId> connections_;
  std::map<ConnectionId, Anonymous> anonymous_;
  std::map<SessionId, Ending> ending_;
};

}  // namespace banyan::node
