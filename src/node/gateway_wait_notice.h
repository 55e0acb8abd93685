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

  /// An earlier life of the gateway may have shown a line in the cell with this header, and output of the
  /// cell.
  void recover(const std::string& header);
  /// Called often while nobody is asked to run the cell. `header`: of its request.
  void watch(const std::string& header);
  /// It waits no more.
  void end();

 private:
  void show(const std::string& header, const schedule::QueuedCell& place);
  void show_text(std::string_view type, const std::string& text);
  void publish(std::string_view type, std::string content);

  GatewayContext& gateway_;
  const SessionId& session_;
  GatewayClients& clients_;
  std::string header_;
  std::string text_;      ///< that is shown; empty: none
  bool is_alone_ = true;  ///< nothing else can be in the cell's output
  Time looked_at_{};      ///< when the place was looked at last
};

}  // namespace banyan::node
