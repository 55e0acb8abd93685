// Which replica is asked to run a session's cell, and which one next when that one is gone or declines.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "node/gateway_last_execution.h"
#include "node/gateway_membership.h"

namespace banyan::node {

/// Asks for one cell at a time. The scheduler says which replica to ask first. Asking twice is safe: the
/// session's log lets a cell start once.
class Dispatch {
 public:
  /// All of these outlive this.
  Dispatch(GatewayContext& gateway, const SessionRecord& record, const Membership& members,
           const ReplicaReports& reports, const LastExecution& last)
      : gateway_(gateway), record_(record), members_(members), reports_(reports), last_(last) {}

  /// Begins to ask for the cell. Its `lead` is not read.
  void begin(Execute cell);
  /// The cell has ended, or is not to run: nobody is asked any more.
  void end();
  /// Begins again with all replicas.
  void ask_anew();

  // What happens.
  /// The scheduler has chosen a replica. True when that was asked.
  bool on_start(const schedule::StartCell& decision);
  /// A host does not run the cell. True when all have declined so often that nobody is asked any more.
  [[nodiscard]] bool on_declined(const HostId& host);
  /// A replica of the session has reported: that may tell who runs the cell.
  void on_report(const ReplicaReport& report);
  /// An output of the cell has come from the host, which therefore runs it.
  void on_output(const HostId& host, std::uint64_t number);
  /// The host cannot be heard, or its replica starts no cell any more: another one is asked, if that one was.
  void on_host_gone(const HostId& host);
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
  /// When it was asked last. There is a cell.
  [[nodiscard]] Time asked_at() const { return asked_->at; }
  /// The scheduler is about to say which replica is asked.
  [[nodiscard]] bool chooses() const;
  /// The host that runs the cell; nothing while that is not known.
  [[nodiscard]] std::optional<HostId> executor() const;
  /// The host that runs the cell or was asked to; nothing when there is none.
  [[nodiscard]] std::optional<HostId> host() const;

 private:
  struct Asked {
    Execute cell;
    bool sent = false;
    Time at;
    std::optional<Time> again_at;    ///< nobody is asked until then
    Duration backoff{};              ///< the last time that nobody was asked
    std::optional<HostId> lead;      ///< asked last
    std::optional<HostId> executor;  ///< has shown that it runs the cell
    std::set<HostId> holders;        ///< asked, have not declined: may still start it
    std::set<HostId> passed_over;    ///< in this round
    int rounds = 0;                  ///< in which everybody has declined
  };

  void ask();
  void ask_later();
  void ask_all();
  void send(ReplicaId lead, const HostId& host);

  GatewayContext& gateway_;
  const SessionRecord& record_;
  const Membership& members_;
  const ReplicaReports& reports_;
  const LastExecution& last_;
  std::optional<Asked> asked_;
};

}  // namespace banyan::node
