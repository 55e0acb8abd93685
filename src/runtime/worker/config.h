// What a host's operator decides about its workers.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "node/gateway_events.h"
#include "runtime/worker/cgroup.h"

namespace banyan::runtime {

/// Whether workers run inside bubblewrap.
enum class Sandbox : std::uint8_t {
  kOff,
  kAuto,      ///< bubblewrap when it works here
  kRequired,  ///< no workers without it
};

/// Libraries that hold no random state of their own but numpy's, and are the same process-wide whoever
/// imports them.
inline const std::vector<std::string> kImportAhead = {
    "numpy", "pandas", "scipy", "matplotlib", "seaborn", "sklearn", "statsmodels", "networkx", "PIL"};

using LogSink = std::function<void(const node::Log&)>;

/// A kernel that a host runs: whose interpreter its workers have.
struct KernelConfig {
  std::string name;  ///< as a session's Spec names it; empty, for the only one: whatever that is
  /// The interpreter: a path, or a name that is looked up in PATH. It can import the banyan package.
  std::string python = "python3";
  std::string python_path;           ///< put before PYTHONPATH; empty for none
  std::vector<std::string> preload;  ///< modules that the zygote imports
};

/// How a host's workers are started and limited.
struct WorkerConfig {
  std::vector<KernelConfig> kernels = {{}};  ///< at least one, of different names
  /// The zygotes of the first kernel stay. Those of another one end when no worker of it was there for so
  /// long.
  std::chrono::milliseconds kernel_idle = std::chrono::minutes(5);
  /// Libraries that workers of sessions with values of theirs have imported at their start, once a worker
  /// here has imported them (ViewZygote).
  std::vector<std::string> import_ahead = kImportAhead;
  std::chrono::milliseconds import_ahead_after = std::chrono::seconds(5);  ///< the last module that was new
  /// With what others leave of the processors; then it is begun anew.
  std::chrono::milliseconds import_ahead_within = std::chrono::minutes(10);
  std::chrono::milliseconds import_ahead_again = std::chrono::seconds(60);  ///< at the soonest
  std::map<std::string, std::string> env;  ///< laid over the host agent's own, for all workers
  /// Sockets and connection files, mode 0700, owned by the launcher: what is in it is removed. Short: at most
  /// 90 bytes.
  std::filesystem::path runtime_directory;
  /// zygote.log and zygote-views.log of the first kernel, zygote-NAME.log of another one, and one log for
  /// each session.
  std::filesystem::path log_directory;
  std::filesystem::path
      default_directory;  ///< where workers start that ask for no directory, or a missing one
  Sandbox sandbox = Sandbox::kAuto;
  /// In the sandbox: directories that user code may only read, and those it does not see (the host agent's
  /// data; none of the three directories above may lie in one). Missing ones are skipped.
  std::vector<std::filesystem::path> read_only = {"/bin",   "/boot", "/etc", "/lib", "/lib32",
                                                  "/lib64", "/sbin", "/sys", "/usr"};
  std::vector<std::filesystem::path> hidden;
  Limits limits;
  std::chrono::milliseconds ready_timeout = std::chrono::seconds(60);  ///< from launch to WorkerReady
};

}  // namespace banyan::runtime
