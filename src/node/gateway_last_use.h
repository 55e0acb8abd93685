// When somebody last used a session.
#pragma once

#include "node/gateway_context.h"

namespace banyan::node {

/// Shared by the parts of one session. The GatewayContext outlives it.
class LastUse {
 public:
  explicit LastUse(const GatewayContext& gateway) : gateway_(gateway), at_(gateway.now().wall) {}

  /// It is used now.
  void note() { at_ = gateway_.now().wall; }
  [[nodiscard]] WallTime at() const { return at_; }

 private:
  const GatewayContext& gateway_;
  WallTime at_;
};

}  // namespace banyan::node
