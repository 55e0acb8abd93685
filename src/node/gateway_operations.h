// Bringing a session to rest, waking it, moving it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/session/answers.h"
#include "node/gateway_questions.h"

namespace banyan::node {

/// One operation at a time. The session's log is asked until it says what is wanted; then the hosts have to
/// follow. Cells go on meanwhile. Suspending and moving refuse to lose what no new view would have, unless
/// forced.
class Operations {
 public:
  /// All of these outlive this.
  Operations(GatewayContext& gateway, const SessionRecord& record, Membership& members,
             const ReplicaReports& reports, CellQueue& cells, const Restarts& restarts,
             const Channels& channels, const Questions& questions, LastUse& last_use)
      : gateway_(gateway),
        record_(record),
        members_(members),
        reports_(reports),
        cells_(cells),
        restarts_(restarts),
        channels_(channels),
        questions_(questions),
        last_use_(last_use) {}

  // What REST asks for: `request` is answered when it is done, or why it cannot be.
  void suspend(RequestId request, bool force);
  void resume(RequestId request);
  void migrate(RequestId request, const HostId& to, bool force);

  // What happens.
  /// What user code wants (question::Migrate), begun when its cell has ended.
  void on_asked(const HostId& host, const AskSession& question);
  /// The scheduler moves the replica from a host that is being drained. What cannot be done is answered with
  /// MoveFailed.
  void on_move(const schedule::MoveReplica& decision);
  /// The scheduler suspends the session, which has been idle for long.
  void on_rest();
  /// A host has answered a question, of this part or of another one.
  void on_answer(const SessionAnswer& answer);
  /// A host has reported its replica, which may be what the operation waits for.
  void on_report();
  /// Goes on with the operation, and wakes a session in which somebody waits for a worker. Called often.
  void watch();
  /// Tells the scheduler since when the session may be suspended.
  void tell_idle();
  /// Tells the scheduler when the session has come to be suspended: what it has reserved is free then.
  void tell_suspended();
  /// Answers whoever waits that the kernel was shut down.
  void close();

  /// The host that the session is being moved to.
  [[nodiscard]] std::optional<HostId> moves_to() const;

 private:
  struct Operation {
    enum class Kind : std::uint8_t { kSuspend, kResume, kMigrate } kind = Kind::kResume;
    std::vector<RequestId> requests;  ///< none: of the gateway itself
    HostId to;
    bool force = false;
    bool added = false;  ///< a move: it has brought a replica to the host
    Time since;
    std::optional<std::string> question;  ///< the id of the one that is asked and not answered
    HostId asked_of;
    Time asked_at;
    std::string asked;  ///< the last question, which is not asked again before `ask_at`
    Time ask_at;
    std::optional<session::answer::Losses> lost;  ///< what is given up, when the log has said it
    std::optional<ExecutionId> look;  ///< the gateway's own cell, which tells what was done beside cells
    int looked = 0;                   ///< how often there was one
    bool awaits_copies = false;       ///< a suspension: what the last cells made is still being copied
    std::optional<Time> prepare_at;
    int prepared = 0;  ///< how often the host was asked to
  };
  using Kind = Operation::Kind;

  void begin(Operation operation);
  void start(Operation operation);
  void end(int status, const std::string& text);
  void wake_for_requests();
  void step_suspend(const ReplicaReport& newest);
  [[nodiscard]] bool waits_for_copies() const;
  void step_resume(const ReplicaReport& newest);
  void step_migrate(const ReplicaReport& newest);
  void ask_log(const session::Question& asked);
  void watch_question();
  void prepare(const HostId& host);
  bool look(const ReplicaReport& newest);
  [[nodiscard]] bool looks();
  [[nodiscard]] bool may_rest() const;
  [[nodiscard]] Result<Done> can_go_to(const HostId& host) const;
  [[nodiscard]] std::optional<ReplicaId> able_instead() const;

  GatewayContext& gateway_;
  const SessionRecord& record_;
  Membership& members_;
  const ReplicaReports& reports_;
  CellQueue& cells_;
  const Restarts& restarts_;
  const Channels& channels_;
  const Questions& questions_;
  LastUse& last_use_;
  std::optional<Operation> operation_;
  std::optional<WallTime> idle_told_;        ///< the scheduler knows
  bool suspended_told_ = false;              ///< the scheduler knows that it is suspended
  std::optional<WallTime> rest_refused_at_;  ///< the last use when suspending would have lost something
};

}  // namespace banyan::node
