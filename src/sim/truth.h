// What really happened: told by the model workers and clients at the moment it happens, judged by the
// checkers.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"

namespace banyan::sim {

/// The number of a model worker, different for all workers of all hosts and lives.
using WorkerSerial = std::uint64_t;

/// How the user code of a cell came to its end.
struct UserCodeEnd {
  std::string after;                 ///< Namespace::text()
  std::vector<std::string> outputs;  ///< the msg_ids of all iopub messages except statuses, in order
  std::set<DeviceId> uses = {};      ///< the devices that the process goes on using
};

/// Is told of user code at the moment in which it starts and ends.
class WorkerWitness {
 public:
  virtual ~WorkerWitness() = default;
  /// User code starts in the namespace `before` (Namespace::text()), on these devices of the host.
  virtual void user_code_starts(const SessionId& session, const ExecutionId& execution, const HostId& host,
                                WorkerSerial worker, const std::string& before,
                                const std::set<DeviceId>& devices) = 0;
  /// User code came to its end and is being reported.
  virtual void user_code_ends(const SessionId& session, const ExecutionId& execution, WorkerSerial worker,
                              UserCodeEnd end) = 0;
  /// The process is gone, with what ran in it.
  virtual void worker_died(const SessionId& session, WorkerSerial worker) = 0;
  /// The host agent is about to be gone, with what was only in its memory.
  virtual void host_crashed(const HostId& host) = 0;
  /// The worker answered ApplyToWorker or an execute_request and does nothing now.
  virtual void worker_idle(const SessionId& session, const HostId& host, WorkerSerial worker,
                           const std::string& variables) = 0;
};

}  // namespace banyan::sim
