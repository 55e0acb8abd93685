// The daemons' configuration files: TOML, with strict keys (docs/guide/configuration.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "runtime/devices/device_files.h"
#include "runtime/worker/config.h"

namespace banyan::daemons {

/// A kernel that clients may start.
struct KernelSettings {
  std::string name;
  std::string display_name;
  std::string language = "python";
  std::string logo_directory;  ///< its files are served as the kernelspec's resources; empty for none
  /// The kernel's interpreter, which `banyan up` writes into the files of all its hosts, because only hosts
  /// run interpreters. Empty: each host's own.
  std::string python;
  std::uint64_t gpus = 0;  ///< that each of its cells needs, for itself
  std::string durability;  ///< of its sessions: sync or async; empty: the gateway's
  std::string policy;      ///< of its sessions: schedule::SessionPolicy::parse(); empty: the gateway's
};

/// A kernel that a host can run.
struct HostKernelSettings {
  std::string name;
  std::string python;                               ///< empty: the host's `python`, with its `python_path`
  std::string python_path;                          ///< counts only with a `python` of the kernel's own
  std::optional<std::vector<std::string>> preload;  ///< not set: the host's
};

/// The gateway's file.
struct GatewaySettings {
  std::string http_address = "127.0.0.1";
  std::uint16_t http_port = 8888;  ///< 0: the system chooses
  std::string token;               ///< what clients must present
  std::vector<std::string> allowed_origins;
  std::string peer_listen;              ///< where host agents reach it: "127.0.0.1:7400"
  std::map<HostId, std::string> hosts;  ///< where the host agents listen
  std::string cluster_secret;
  std::string store_path;  ///< the file of the control store
  std::uint64_t replicas = 3;
  std::string placement = "least_loaded";         ///< which hosts get replicas: core/schedule/policy.h
  std::string executor_choice = "last_executor";  ///< which replica is asked first: core/schedule/policy.h
  std::string election = "preselect";             ///< who proposes to run a cell: that replica, or all
  std::string standbys = "hot";                   ///< hot or warm: core/session/command.h
  std::string durability = "async";               ///< sync or async: core/session/command.h
  std::uint64_t suspend_after_s = 0;          ///< a session that was idle for so long is suspended; 0: never
  std::string session_policy = "replicated";  ///< schedule::SessionPolicy::parse()
  std::string subscription_limit = "none";    ///< schedule::SubscriptionLimit::parse()
  std::uint64_t gpus_per_user = 0;            ///< that the cells of one user may have at once; 0: any number
  std::uint64_t gpu_hours_per_user = 0;       ///< of one GPU, within a day; 0: any number
  std::uint64_t keep_commits = 4096;          ///< how many a session keeps: session::Keep
  std::uint64_t keep_bytes = std::uint64_t{4} << 30;  ///< how many bytes of values a session keeps
  std::vector<KernelSettings> kernels;                ///< the first one is the default
};

/// A host agent's file.
struct HostSettings {
  HostId id;
  std::string peer_listen;              ///< where it listens for the gateway and other host agents
  std::string advertise;                ///< where these reach it; empty: at `peer_listen`
  std::map<HostId, std::string> peers;  ///< the gateway ("gateway") and the other hosts
  std::string cluster_secret;
  std::string gateway_key;        ///< in hex digits; empty: the key of the first gateway that connects
  std::string data_directory;     ///< logs and chunks
  std::string runtime_directory;  ///< sockets and logs of workers
  std::string working_directory;  ///< where workers begin whose session names no directory
  std::vector<HostKernelSettings>
      kernels;                       ///< what this host can run; empty: only the gateway's default kernel
  std::string python = "python3";    ///< the interpreter with the banyan package
  std::string python_path;           ///< put before PYTHONPATH; empty for none
  std::vector<std::string> preload;  ///< modules the zygote imports
  std::vector<std::string> import_ahead = {runtime::kEveryLibrary};  ///< WorkerConfig::import_ahead
  std::uint64_t import_ahead_bytes = std::uint64_t{1} << 30;         ///< WorkerConfig::import_ahead_bytes
  std::string plan = "streamed";  ///< how views are built: planner::Strategy
  std::string
      store;  ///< the URL of a data store from which chunks of restored sessions are read; empty for none
  std::string sandbox = "auto";  ///< auto, none or bubblewrap
  std::vector<std::string> gpus =
      runtime::gpu_files();                ///< their device files: a process that has one open uses the GPU
  std::uint64_t durable_inline = 8 << 20;  ///< bytes of a value that a reply waits for: node::Sizes
  std::uint64_t capture_bytes = 0;         ///< node::Sizes; 0: a quarter of the machine's memory
  std::uint64_t worker_memory_bytes = 0;   ///< 0: no limit
  std::uint64_t worker_pids = 0;           ///< 0: no limit
  double worker_cpus = 0;                  ///< 0: no limit
};

/// Reads a file. kInvalid names file, line and key, says what was expected, and suggests the nearest valid
/// key.
Result<GatewaySettings> load_gateway_settings(const std::string& path);
Result<HostSettings> load_host_settings(const std::string& path);

/// The text of a file with these settings, as `banyan up` writes it.
std::string to_toml(const GatewaySettings& settings);
std::string to_toml(const HostSettings& settings);

}  // namespace banyan::daemons
