// A first sandbox around the zygote and its workers: bubblewrap.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/worker/config.h"

namespace banyan::runtime {

/// The command prefix that sandboxes the zygote, and what to tell the operator.
struct SandboxChoice {
  std::vector<std::string> prefix;  ///< what comes before a command; empty: no sandbox
  std::string note;                 ///< for a log line: what was chosen and why
};

/// Decides as config says; tries bubblewrap once (about 10 ms). kUnavailable when it is required and does not
/// work.
Result<SandboxChoice> choose_sandbox(const WorkerConfig& config);

}  // namespace banyan::runtime
