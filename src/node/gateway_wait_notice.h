// What people see in a cell that waits for GPUs.
#pragma once

#include <string>

#include "core/schedule/device_queue.h"
#include "node/gateway_clients.h"
#include "node/gateway_context.h"

namespace banyan::node {

/// A line in the cell's output that says which place it has, and how long that may take. It is taken away
/// before the cell puts out anything itself.
class WaitNotice {
 public:
  /// All of these outlive it.
  WaitNotice(GatewayContext& gateway, const SessionId& session, GatewayClients& clients)
      : gateway_(gateway), session_(session), clients_(clients) {}

  /// Called often while the cell waits. `header`: of its request.
  void show(const std::string& header, const schedule::QueuedCell& place);
  /// It waits no more.
  void end();

 private:
  void publish(std::string_view type, std::string content);

  GatewayContext& gateway_;
  const SessionId& session_;
  GatewayClients& clients_;
  std::string header_;
  std::string text_;  ///< that is shown; empty: none
};

}  // namespace banyan::node
