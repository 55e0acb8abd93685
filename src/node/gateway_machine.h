// The gateway's state: its parts, and which of them each event concerns.
#pragma once

#include <vector>

#include "node/gateway_context.h"
#include "node/gateway_creation.h"
#include "node/gateway_founded.h"
#include "node/gateway_hosts.h"
#include "node/gateway_rest.h"
#include "node/gateway_sessions.h"

namespace banyan::node {

/// Dispatches events, and knows which hosts answer. GatewayNode owns one.
class GatewayMachine {
 public:
  GatewayMachine(GatewayConfig config, Incarnation life, std::uint64_t seed);
  std::vector<GatewayEffect> step(const Now& now, GatewayEvent event);

 private:
  void handle(StoreLoaded& event);
  void handle(const Tick& event);
  void handle(FrameArrived& event);
  void handle(const PeerUp& event);
  void handle(const PeerDown& event);
  void handle(const PeerIntroduced& event);
  void handle(const HttpRequest& event) { rest_.on_request(event); }
  void handle(const ClientOpening& event) { sessions_.on_opening(event); }
  void handle(FromClient& event) { sessions_.on_message(std::move(event)); }
  void handle(const ClientDrained& event) { sessions_.on_drained(event); }
  void handle(const ClientConfirmed& event) { sessions_.on_confirmed(event); }
  void handle(const ClientClosed& event) { sessions_.on_closed(event); }
  void handle(const Stored& event);

  void carry_out(const schedule::Decision& decision);
  void note_state(const HostId& id, const PeerHost& host);
  void peer_message(const HostId& from, PeerMessage message);
  void host_report(const HostId& from, HostReport report);
  void host_reset(const HostId& from);
  void set_up(const HostId& id, PeerHost& host, bool up);
  void watch_hosts();

  GatewayContext context_;
  HostDirectory directory_;
  FoundedSessions founded_;
  GatewaySessions sessions_;
  Creations creations_;
  Rest rest_;
  bool loaded_ = false;
};

}  // namespace banyan::node
