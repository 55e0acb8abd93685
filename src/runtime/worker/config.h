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

/// Stands for all installed libraries in WorkerConfig::import_ahead.
inline const std::string kEveryLibrary = "*";

using LogSink = std::function<void(const node::Log&)>;

/// A kernel that a host can run: its workers run in this interpreter.
struct KernelConfig {
  std::string name;  ///< the name in a session's Spec; an only kernel without a name serves every name
  /// The interpreter: a path, or a name that is looked up in PATH. It must be able to import the package
  /// banyan.
  std::string python = "python3";
  std::string python_path;           ///< put before PYTHONPATH; empty for none
  std::vector<std::string> preload;  ///< modules that the zygote imports
};

/// How a host's workers are started and limited.
struct WorkerConfig {
  std::vector<KernelConfig> kernels = {{}};  ///< at least one; names differ
  /// The zygotes of the first kernel stay. Those of another kernel end when it has had no worker for so long.
  std::chrono::milliseconds kernel_idle = std::chrono::minutes(5);
  /// Libraries that may be imported ahead: once a worker of this host has imported one, workers of sessions
  /// that have values of it begin with it (ViewZygote).
  std::vector<std::string> import_ahead = {kEveryLibrary};
  std::uint64_t import_ahead_bytes = std::uint64_t{1} << 30;  ///< memory that they may take; 0: any
  std::chrono::milliseconds import_ahead_after = std::chrono::seconds(5);  ///< after the last new module
  /// How long importing may take with the time that others leave of the processors; then it is begun anew.
  std::chrono::milliseconds import_ahead_within = std::chrono::minutes(10);
  std::chrono::milliseconds import_ahead_again = std::chrono::seconds(60);  ///< no sooner than that
  std::map<std::string, std::string> env;  ///< laid over the host agent's environment, for all workers
  /// Takes sockets and connection files; mode 0700. It belongs to the launcher, which removes what is in it.
  /// Its path must be short, at most 90 bytes.
  std::filesystem::path runtime_directory;
  /// Takes zygote.log and zygote-views.log of the first kernel, zygote-NAME.log and zygote-views-NAME.log of
  /// the others, and one log for each session.
  std::filesystem::path log_directory;
  /// Where a worker starts whose session names no directory, or one that this host lacks.
  std::filesystem::path default_directory;
  Sandbox sandbox = Sandbox::kAuto;
  /// In the sandbox, user code may only read the directories in `read_only`, and does not see the directories
  /// and files in `hidden` (the host agent's data; none of the three directories above may lie in one). Those
  /// that are missing when the host agent starts are skipped.
  std::vector<std::filesystem::path> read_only = {"/bin",   "/boot", "/etc", "/lib", "/lib32",
                                                  "/lib64", "/sbin", "/sys", "/usr"};
  std::vector<std::filesystem::path> hidden;
  Limits limits;
  std::chrono::milliseconds ready_timeout = std::chrono::seconds(60);  ///< from launch to WorkerReady
};

}  // namespace banyan::runtime
