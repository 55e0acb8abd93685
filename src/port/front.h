// The gateway's front door: HTTP requests and WebSocket clients.
#pragma once

#include "node/gateway_events.h"

namespace banyan::port {

/// Answers the requests and connections that arrived as HttpRequest and ClientOpening events. Calls for a
/// connection that is gone have no effect.
class Front {
 public:
  virtual ~Front() = default;
  virtual void reply(node::HttpReply reply) = 0;
  virtual void accept(ConnectionId id) = 0;
  virtual void reject(node::RejectClient rejection) = 0;
  /// Queues a message. ClientDrained tells when it has left.
  virtual void send(ConnectionId id, jupyter::Message message) = 0;
  /// Queues a ping behind the messages that were sent before it. ClientConfirmed tells of its answer.
  virtual void ping(node::PingClient ping) = 0;
  virtual void close(node::CloseClient close) = 0;
};

}  // namespace banyan::port
