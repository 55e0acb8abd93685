// The gateway: a GatewayNode with the live adapters.
#pragma once

#include "base/result.h"
#include "daemons/config.h"

namespace banyan::daemons {

/// Serves until SIGTERM or SIGINT. Fails when it cannot start; a control store that fails later ends the
/// process with status 1.
Result<Done> run_gateway(const GatewaySettings& settings);

}  // namespace banyan::daemons
