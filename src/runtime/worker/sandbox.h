// A first sandbox around the zygote and its workers: bubblewrap.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/worker/config.h"

namespace banyan::runtime {

/// The command prefix that sandboxes the zygote, and what to tell the operator.
struct SandboxChoice {
  std::vector<std::string> prefix;  ///< comes before a command; empty when there is no sandbox
  std::string note;                 ///< what was chosen and why, for a log line
};

/// Decides as the configuration says; tries bubblewrap once (about 10 ms). kUnavailable when a sandbox is
/// required and does not work.
Result<SandboxChoice> choose_sandbox(const WorkerConfig& config);

}  // namespace banyan::runtime
