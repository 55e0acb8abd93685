// The judges: the promises P1 to P4 (docs/internals/promises.md), on what workers did, clients saw and disks
// hold.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/log_oracle.h"
#include "sim/notebook.h"
#include "sim/scheduler.h"
#include "sim/trace.h"
#include "sim/truth.h"

namespace banyan::sim {

/// Hears of everything as it happens, judges what can be judged at once, and keeps the rest for the end of
/// the schedule. It uses no code of `node` and trusts no state of the daemons.
class Checkers final : public WorkerWitness, public ClientWitness {
 public:
  Checkers(const Scheduler& scheduler, Trace& trace);

  LogOracle& oracle() { return oracle_; }
  /// Called for each reply that a client sees, at that moment.
  void on_reply(std::function<void(const SessionId&)> call) { on_reply_ = std::move(call); }
  void violation(const std::string& what);
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

  void user_code_starts(const SessionId& session, const ExecutionId& execution, const HostId& host,
                        WorkerSerial worker, const std::string& before,
                        const std::set<DeviceId>& devices) override;
  void user_code_ends(const SessionId& session, const ExecutionId& execution, WorkerSerial worker,
                      UserCodeEnd end) override;
  void worker_died(const SessionId& session, WorkerSerial worker) override;
  void worker_idle(const SessionId& session, const HostId& host, WorkerSerial worker,
                   const std::string& digest) override;
  void replied(const CellRecord& cell) override;
  void host_crashed(const HostId& host) override;
  void client_complains(const std::string& what) override { violation("client: " + what); }
  void asks_for_gpus(const ExecutionId& execution, std::uint64_t gpus) override { asked_[execution] = gpus; }

  /// Values of more bytes may be pending when their cell is answered, and be missing until a majority has
  /// them.
  void expect_pending(std::uint64_t durable_inline) { durable_inline_ = durable_inline; }
  /// Each cell is to get so many devices, unless it asks for another number.
  void expect_gpus(std::uint64_t gpus) { gpus_ = gpus; }
  /// Compares all that a client saw with what happened. To be called when all is quiet.
  void judge(const Notebook& notebook);
  /// Checks that all replicas of a session have the whole log and a worker that shows head. With `warm`
  /// standbys need no worker. `whole`: the only host whose worker has all values; without it all have them.
  void judge_replicas(const SessionId& session, bool warm, const std::optional<HostId>& whole);

 private:
  /// One run of a cell's user code, as the worker witnessed it.
  struct Run {
    SessionId session;
    HostId host;
    WorkerSerial worker = 0;
    std::string before;            ///< digest
    std::set<Digest> stored = {};  ///< chunks on a majority's disks at its start; kept for expect_pending()
    std::optional<UserCodeEnd> end;
  };
  /// A worker that does nothing now, and the digest of its namespace.
  struct Idle {
    HostId host;
    std::string digest;
  };
  void devices_are_free(const WorkerSerial& worker, const std::set<DeviceId>& but);
  void judge_cell(const CellRecord& cell);
  void judge_outcome(const CellRecord& cell, const Run* run, const CommittedCell* committed);
  void judge_outputs(const CellRecord& cell, const Run* run, const CommittedCell* committed);
  void judge_run(const CellRecord& cell, const Run& run, const CommittedCell* committed);
  [[nodiscard]] std::optional<std::string> wrong_in(const std::string& seen, const std::string& session,
                                                    const std::set<Digest>& stored) const;
  void judge_stored(const SessionId& session, const Variables& shown, const std::set<Digest>& stored);
  void missing_is_named(const CellRecord& cell, const std::string& notes);

  std::function<void(const SessionId&)> on_reply_ = [](const SessionId&) {};
  const Scheduler& scheduler_;
  Trace& trace_;
  LargeValues values_;
  LogOracle oracle_;
  std::vector<std::string> violations_;
  std::map<ExecutionId, Run> runs_;
  std::map<SessionId, std::pair<WorkerSerial, ExecutionId>> running_;
  std::map<std::pair<HostId, DeviceId>, std::pair<WorkerSerial, ExecutionId>> used_;
  std::uint64_t gpus_ = 0;
  std::map<ExecutionId, std::uint64_t> asked_;  ///< how many devices those cells asked for that did
  std::optional<std::uint64_t> durable_inline_;
  /// Chunks that were on no majority's disks when a host of the session crashed: cells may have made their
  /// values again. By session, for all of which cells have run.
  std::map<SessionId, std::set<Digest>> excused_;
  std::map<SessionId, std::map<WorkerSerial, Idle>> idle_;
};

}  // namespace banyan::sim
