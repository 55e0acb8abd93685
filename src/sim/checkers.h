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

class Checkers final : public WorkerWitness, public ClientWitness {
 public:
  Checkers(const Scheduler& scheduler, Trace& trace);

  LogOracle& oracle() { return oracle_; }
  /// Called for each reply that a client sees, at that moment.
  void on_reply(std::function<void(const SessionId&)> call) { on_reply_ = std::move(call); }
  void violation(const std::string& what);
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

  void user_code_starts(const SessionId& session, const ExecutionId& execution, const HostId& host,
                        WorkerSerial worker, const std::string& before) override;
  void user_code_ends(const SessionId& session, const ExecutionId& execution, WorkerSerial worker,
                      UserCodeEnd end) override;
  void worker_died(const SessionId& session, WorkerSerial worker) override;
  void worker_idle(const SessionId& session, const HostId& host, WorkerSerial worker,
                   const std::string& digest) override;
  void replied(const CellRecord& cell) override;
  void client_complains(const std::string& what) override { violation("client: " + what); }

  /// When all is quiet: what a client saw against what happened.
  void judge(const Notebook& notebook);
  /// And that the replicas of a session are alike. `warm`: standbys need no worker.
  void judge_replicas(const SessionId& session, bool warm);

 private:
  /// User code of one cell.
  struct Run {
    SessionId session;
    HostId host;
    WorkerSerial worker = 0;
    std::string before;
    std::optional<UserCodeEnd> end;
  };
  struct Idle {
    HostId host;
    std::string digest;
  };
  void judge_cell(const CellRecord& cell);
  void judge_outcome(const CellRecord& cell, const Run* run, const CommittedCell* committed);
  void judge_outputs(const CellRecord& cell, const Run* run, const CommittedCell* committed);
  void judge_run(const ExecutionId& execution, const Run& run, const CommittedCell* committed);

  std::function<void(const SessionId&)> on_reply_ = [](const SessionId&) {};
  const Scheduler& scheduler_;
  Trace& trace_;
  LogOracle oracle_;
  std::vector<std::string> violations_;
  std::map<ExecutionId, Run> runs_;
  std::map<SessionId, std::pair<WorkerSerial, ExecutionId>> running_;
  std::map<SessionId, std::map<WorkerSerial, Idle>> idle_;
};

}  // namespace banyan::sim
