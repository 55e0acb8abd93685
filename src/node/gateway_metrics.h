// What the gateway tells programs that watch it.
#pragma once

#include "core/metrics/page.h"
#include "node/gateway_sessions.h"

namespace banyan::node {

/// Hosts, GPUs, sessions and cells as they are, and what has happened to cells since the gateway began.
metrics::Page metrics_page(const GatewayContext& gateway, const GatewaySessions& sessions);

}  // namespace banyan::node
