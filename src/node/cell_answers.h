// What a host tells the gateway of cells that it need not run.
#pragma once

#include <cstdint>

#include "core/session/session.h"
#include "node/host_context.h"

namespace banyan::node {

/// How a cell has ended, as the log says, and before that its outputs after `outputs_seen`, as far as the log
/// keeps them.
void answer_ended(HostContext& host, const SessionId& session, const session::Ended& ended,
                  std::uint64_t outputs_seen);
/// That it was not run, and will not be.
void answer_aborted(HostContext& host, const SessionId& session, const ExecutionId& execution);

}  // namespace banyan::node
