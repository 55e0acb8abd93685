// One session at the gateway: its clients, its queue of cells, its replicas. The counterpart of Replica.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "node/gateway_cells.h"
#include "node/gateway_channels.h"
#include "node/gateway_clients.h"
#include "node/gateway_context.h"
#include "node/gateway_last_use.h"
#include "node/gateway_membership.h"
#include "node/gateway_operations.h"
#include "node/gateway_outage.h"
#include "node/gateway_questions.h"
#include "node/gateway_records.h"
#include "node/gateway_reports.h"
#include "node/gateway_restarts.h"
#include "node/gateway_transfers.h"

namespace banyan::node {

/// Composes the parts of a session: hands each event to those that it concerns, in order. The parts own the
/// state and never call the session. Pure; all effects go through the GatewayContext, which outlives it.
class GatewaySession {
 public:
  GatewaySession(GatewayContext& gateway, SessionRecord record);
  GatewaySession(const GatewaySession&) = delete;  // its parts refer to each other
  GatewaySession& operator=(const GatewaySession&) = delete;

  // Its life.
  /// Writes the record of a new session; its replicas are opened once that is durable.
  void found();
  /// Takes up what an earlier life of the gateway left.
  void recover(StoredSession stored);
  void noted(const Noted& noted);
  /// Called often. Gives back the requests for a restart that is done: the kernel's model is the answer.
  [[nodiscard]] std::vector<RequestId> tick();
  /// Ends it for its clients, and in the control store. Gives back the hosts that are to close their replicas
  /// when that is durable (EndNoted). Nothing may be called after.
  [[nodiscard]] std::set<HostId> close();

  // Hosts.
  /// The host can be counted on (again). `anew`: it is another life than before, and holds what it has
  /// reported.
  void host_up(const HostId& host, bool anew);
  void host_down(const HostId& host);
  /// It is about to be removed. What is noted then is durable before the removal is.
  void host_leaves(const HostId& host) { members_.on_removed(host); }
  /// Messages to the host's old life are gone.
  void host_restarted(const HostId& host);
  void reported(const HostId& host, const ReplicaReport& report);
  void from_kernel(const HostId& host, FromKernel message);
  void ended(const HostId& host, const ExecutionEnded& end);
  void declined(const HostId& host, const ExecutionDeclined& answer) { cells_.on_declined(host, answer); }
  void restarted(const Restarted& answer) { restarts_.on_committed(answer); }
  void answered(const SessionAnswer& answer);

  // What the scheduler has decided. Each looks whether it can still be done.
  /// A new replica goes there.
  void place(const HostId& host);
  /// No host can take the replica that it wants.
  void no_host();
  /// Of the cell that waits.
  void decide(const schedule::CellDecision& decision);

  // Clients.
  [[nodiscard]] Channels& channels() { return channels_; }
  void drained(ConnectionId connection, std::uint64_t bytes);
  void confirmed(ConnectionId connection, std::uint64_t messages);
  void close_client(ConnectionId connection);

  // What REST asks for.
  /// tick() gives the request back when the restart is done; until then it may be answered with 504.
  void restart(RequestId request) { restarts_.ask(request); }
  void set_notebook(std::optional<Notebook> notebook);
  [[nodiscard]] Operations& operations() { return operations_; }
  [[nodiscard]] Questions& questions() { return questions_; }
  [[nodiscard]] GatewayTransfers& transfers() { return transfers_; }

  // What REST shows.
  [[nodiscard]] const SessionId& id() const { return record_.id; }
  [[nodiscard]] const SessionRecord& record() const { return record_; }
  [[nodiscard]] const ReplicaReports& reports() const { return reports_; }
  [[nodiscard]] const GatewayClients& clients() const { return clients_; }
  [[nodiscard]] const CellQueue& cells() const { return cells_; }
  /// Its record is durable: it exists.
  [[nodiscard]] bool exists() const { return exists_; }
  /// "starting", "idle", "busy", "restarting" or "dead".
  [[nodiscard]] std::string_view state() const;
  /// Why it is dead or waits, for a person; empty when all is well.
  [[nodiscard]] std::string reason() const;
  [[nodiscard]] WallTime last_activity() const { return last_use_.at(); }
  /// A majority of its replicas is up.
  [[nodiscard]] bool can_serve() const { return members_.voters().can_serve(); }

 private:
  void ask_elsewhere(const Membership::Departed& hosts);
  std::vector<RequestId> finish_restart();
  [[nodiscard]] SessionActivity activity() const;

  GatewayContext& gateway_;
  SessionRecord record_;
  LastUse last_use_;
  ReplicaReports reports_;
  Membership members_;
  GatewayClients clients_;
  Outage outage_;
  CellQueue cells_;
  Restarts restarts_;
  Channels channels_;
  Questions questions_;
  Operations operations_;
  GatewayTransfers transfers_;
  bool exists_ = false;
};

}  // namespace banyan::node
