// How a session's cell gets to a replica that runs it, and how the gateway learns which one that is.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "node/gateway_last_execution.h"
#include "node/gateway_membership.h"

namespace banyan::node {

/// Offers one cell at a time to the scheduler, asks the replicas that it names, and offers the cell again
/// when these do not run it. Asking twice is safe: the session's log lets a cell start once.
class Dispatch {
 public:
  /// All of these outlive this.
  Dispatch(GatewayContext& gateway, const SessionRecord& record, const Membership& members,
           const ReplicaReports& reports, const LastExecution& last)
      : gateway_(gateway), record_(record), members_(members), reports_(reports), last_(last) {}

  /// Offers the cell. Its `lead` and `devices` are not read. `may_have_begun`: an earlier life of the gateway
  /// may have sent it to hosts.
  void begin(Execute cell, bool may_have_begun);
  /// The cell has ended, or is not to run: nobody is asked any more.
  void end();
  /// Offers it as one that nobody was asked for. There is a cell.
  void offer_anew();

  // What happens.
  void on_decision(const schedule::CellDecision& decision);
  void on_declined(const HostId& host, const ExecutionDeclined& answer);
  /// A replica of the session has reported: that may tell who runs the cell.
  void on_report(const ReplicaReport& report);
  /// An output of the cell has come from the host, which therefore runs it.
  void on_output(const HostId& host, std::uint64_t number);
  /// The host cannot be heard, or its replica starts no cell any more: another one is asked, if it was.
  void on_host_gone(const HostId& host);
  /// A host knows the cell, which therefore may have begun.
  void note_may_have_begun() { asked_->may_have_begun = true; }
  /// Another life of the host has begun, which has not been asked.
  void on_host_restarted(const HostId& host);
  /// Called often: whoever was asked must show that it runs the cell, and stay up.
  void watch();

  // What is known.
  /// There is a cell to ask for.
  [[nodiscard]] bool busy() const { return asked_.has_value(); }
  /// It is that cell.
  [[nodiscard]] bool is(const ExecutionId& execution) const {
    return asked_ && asked_->cell.execution == execution;
  }
  /// Some host was asked, so that only the session's log can say how the cell ends.
  [[nodiscard]] bool sent() const { return asked_ && asked_->sent; }
  /// When it was offered last. There is a cell.
  [[nodiscard]] Time offered_at() const { return asked_->at; }
  /// The scheduler is about to say, in this step, who is asked.
  [[nodiscard]] bool offered() const { return asked_ && asked_->phase == Phase::kOffered; }
  /// Nobody is asked to run the cell now.
  [[nodiscard]] bool kept() const { return asked_ && asked_->phase == Phase::kKept; }
  /// And no host has it.
  [[nodiscard]] bool waits() const { return kept() && asked_->holders.empty() && !asked_->may_have_begun; }
  /// It may have begun in an earlier life of the gateway, or of a host that was asked: only the session's log
  /// knows.
  [[nodiscard]] bool may_have_begun() const { return asked_ && asked_->may_have_begun; }
  /// This decision is about the cell as it is offered now.
  [[nodiscard]] bool answers(const schedule::CellDecision& decision) const {
    return offered() && decision.offer == offers_;
  }
  /// The host that runs the cell; nothing while that is not known.
  [[nodiscard]] std::optional<HostId> executor() const;
  /// The host that runs the cell or was asked to; nothing when there is none.
  [[nodiscard]] std::optional<HostId> host() const;

 private:
  enum class Phase : std::uint8_t {
    kOffered,  ///< the scheduler decides
    kKept,     ///< nobody is asked to run it
    kAsked     ///< a replica was asked, or all of them, or one of them has shown that it runs the cell
  };
  struct Asked {
    Execute cell;
    Phase phase = Phase::kOffered;
    bool may_have_begun = false;
    bool sent = false;
    bool has_waited = false;         ///< for somebody who can run it, or for devices
    Time at;                         ///< when it was offered last
    session::Members offered_to;     ///< who the members were then
    bool elects = false;             ///< all were asked, and each decides whether it proposes to run it
    std::optional<HostId> lead;      ///< asked last; nothing when all were
    std::optional<HostId> executor;  ///< has shown that it runs the cell
    std::set<HostId> holders;        ///< asked, have not declined: may still start it
  };

  void offer(std::optional<std::string> declined = {});
  void start(const schedule::StartCell& decision);
  void ask_log() const;
  void wait_for_majority();
  void pass_over(const HostId& host);
  void send(ReplicaId lead, const HostId& host);
  void note_executor(const HostId& host);

  GatewayContext& gateway_;
  const SessionRecord& record_;
  const Membership& members_;
  const ReplicaReports& reports_;
  const LastExecution& last_;
  std::optional<Asked> asked_;
  std::uint64_t offers_ = 0;  ///< how often a cell was offered: the last one's number
};

}  // namespace banyan::node
