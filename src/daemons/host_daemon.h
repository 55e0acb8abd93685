// The host agent: a HostNode with the live adapters.
#pragma once

#include "base/result.h"
#include "daemons/config.h"

namespace banyan::daemons {

/// Serves until SIGTERM or SIGINT. Fails when it cannot start; a disk that fails later ends the process with
/// status 1.
Result<Done> run_host(const HostSettings& settings);

}  // namespace banyan::daemons
