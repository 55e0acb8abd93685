// Model workers: what a Python process of a host does, as far as a host agent can tell
// (docs/internals/worker.md).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "port/launcher.h"
#include "sim/clock.h"
#include "sim/model_python.h"
#include "sim/plant.h"
#include "sim/process.h"
#include "sim/scheduler.h"
#include "sim/trace.h"
#include "sim/truth.h"

namespace banyan::sim {

/// What the workers of one host share.
struct WorkerHome {
  Scheduler& scheduler;
  Trace& trace;
  WorkerWitness& witness;
  const HostClock& clock;
  HostId host;
  Plant plant = Plant::kNone;
};

/// One model process. Each of its three ways to the host agent (shell, iopub, state channel) keeps its own
/// order.
class Worker : public std::enable_shared_from_this<Worker> {
 public:
  using Tell = std::function<void(node::HostEvent)>;

  Worker(WorkerHome home, Rng rng, WorkerSerial serial, node::LaunchWorker request, Tell tell);
  void boot();

  void send(jupyter::Message message);
  void interrupt();
  void answer_fence(const node::AnswerFence& answer);
  void answer(const node::AnswerWorker& answer);
  void apply(node::ApplyToWorker view);
  void repeat(node::RepeatOnWorker cell);
  void ask_reads(node::AskReads question);
  void ask_removals(node::AskRemovals question);
  void set_lease(std::optional<Time> deadline) { lease_ = deadline; }
  /// Ends the process. With an empty `reason` nobody is told, because the host agent dies too.
  void die(const std::string& reason);
  [[nodiscard]] bool dead() const { return phase_ == Phase::kDead; }
  [[nodiscard]] bool runs_cell() const { return phase_ == Phase::kRunning; }
  /// The devices that it tells that it uses.
  [[nodiscard]] std::set<DeviceId> uses() const;

 private:
  enum class Phase : std::uint8_t { kBooting, kIdle, kPreparing, kFenced, kRunning, kReplying, kDead };
  enum class Way : std::uint8_t { kShell, kIopub, kState };
  struct Cell {
    ExecutionId execution;
    std::string parent_header;
    std::vector<Statement> statements;
    std::size_t next = 0;
    std::uint64_t step = 0;
    bool asks = false;  ///< it has asked the history and waits for the answer
    bool interrupted = false;
    std::set<DeviceId> devices;  ///< it may use these
    std::vector<std::string> outputs;
    std::string before;
    std::vector<std::string> reads;
    std::string reply;
  };

  void tell(Way way, node::HostEvent event);
  void later(Duration delay, void (Worker::*then)());
  void go_on();
  void begin_request(const jupyter::Message& request);
  void answer_plainly(const jupyter::Message& request, std::string_view type);
  void announce();
  void run_user_code();
  void run_next_statement();
  void raise(const std::string& what);
  void end_user_code(const std::string& error);
  [[nodiscard]] std::string reply_of(const std::string& status_fields) const;
  void reply();
  void apply_now(const node::ApplyToWorker& view);
  void repeat_now(const node::RepeatOnWorker& cell);
  void say_reads(const node::AskReads& question);
  void watch_lease();
  void iopub(std::string_view type, std::string content, bool output);
  jupyter::Message message(jupyter::Channel channel, std::string_view type, std::string_view parent,
                           std::string content);

  WorkerHome home_;
  Rng rng_;
  WorkerSerial serial_;
  node::LaunchWorker request_;
  Tell tell_;
  Phase phase_ = Phase::kBooting;
  Namespace variables_;
  std::set<DeviceId> uses_;  ///< devices that some library has begun to use
  std::uint64_t count_ = 0;
  std::uint64_t messages_ = 0;
  std::deque<jupyter::Message> requests_;
  std::deque<std::variant<node::ApplyToWorker, node::RepeatOnWorker, node::AskReads, node::AskRemovals>>
      views_;
  std::optional<Cell> cell_;
  std::optional<Time> lease_;
  TrueTime busy_until_[3] = {};  ///< for each Way, when its last message arrives
  bool cut_off_[3] = {};         ///< for each Way, whether what was on it was lost with the process
};

/// Starts and keeps the workers of one life of a host agent.
class Launcher final : public port::Launcher {
 public:
  /// `deliver` leads into the host agent.
  Launcher(WorkerHome home, Rng rng, Process& process, std::function<void(node::HostEvent)> deliver);
  /// The host agent has died, and its workers die with it.
  ~Launcher() override;
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  void launch(node::LaunchWorker request) override;
  void stop(WorkerId worker, node::Stop how) override;
  void send(WorkerId worker, jupyter::Message message) override;
  void answer_fence(node::AnswerFence answer) override;
  void answer(node::AnswerWorker answer) override;
  void apply(node::ApplyToWorker view) override;
  void repeat(node::RepeatOnWorker cell) override;
  void ask_reads(node::AskReads question) override;
  void ask_removals(node::AskRemovals question) override;
  void forget(const SessionId& /*session*/) override {}
  void set_lease(WorkerId worker, std::optional<Time> deadline) override;

  /// Kills one of the workers from outside, chosen at random.
  void kill_one(Rng& rng);
  [[nodiscard]] bool runs_cell() const;
  /// node::HostFigures::uses.
  [[nodiscard]] std::map<WorkerId, std::set<DeviceId>> uses() const;

 private:
  void with(WorkerId id, const std::function<void(Worker&)>& action);

  WorkerHome home_;
  Rng rng_;
  Process& process_;
  Process::Life life_;
  std::function<void(node::HostEvent)> deliver_;
  std::map<WorkerId, std::shared_ptr<Worker>> workers_;
};

}  // namespace banyan::sim
