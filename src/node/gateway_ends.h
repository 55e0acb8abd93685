// The ends of a session's cells: each cell gets exactly one (P4), and is remembered until its client has it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "node/gateway_clients.h"
#include "node/gateway_context.h"
#include "node/gateway_records.h"

namespace banyan::node {

/// A cell that the gateway has accepted.
struct AcceptedCell {
  CellRecord record;
  ExecutionId execution;
  Time accepted_at = {};  ///< in this life of the gateway
  bool has_gpus = false;
  bool began = false;  ///< there was a sign that it runs
};

/// An end comes from the session's log, or is the gateway's own verdict on a cell that no replica has
/// started. A verdict is written before it is told, because a later life of the gateway must not run the cell
/// after all.
class CellEnds {
 public:
  /// All of these outlive this.
  CellEnds(GatewayContext& gateway, const SessionId& session, GatewayClients& clients)
      : gateway_(gateway), session_(session), clients_(clients) {}

  /// Ends a cell with this verdict, and tells it when the verdict is durable.
  void judge(AcceptedCell cell, Verdict verdict);
  /// The verdict on the cell of that number is durable.
  void on_noted(std::uint64_t number);
  /// Tells the verdict in the cell's record, which an earlier life of the gateway has written.
  void tell_verdict(const AcceptedCell& cell);
  /// Tells how the cell ended as the log says, which `host` has told.
  void tell(const AcceptedCell& cell, const HostId& host, const ExecutionEnded& end);
  /// Tells the client that this execute_request is not accepted.
  void refuse(const ClientId& client, const jupyter::Message& request, const Verdict& verdict);
  /// A client has got a message of a cell.
  void on_delivered(const ClientId& client, const CellTag& tag);
  /// Forgets the cells whose client is forgotten: nobody waits for their ends.
  void drop_unwanted();
  /// The cell has ended, or hosts have known it before this life of the gateway did: the log has the answer
  /// when its client says it again.
  void remember(const ExecutionId& execution);
  /// Deletes the records of all cells.
  void close();

  /// The cell has ended, and its client has not got all of it.
  [[nodiscard]] bool knows(const ExecutionId& execution) const;
  /// The cell is one of the last that this was to remember.
  [[nodiscard]] bool remembers(const ExecutionId& execution) const;

 private:
  struct Ending {
    ExecutionId execution;
    ClientId client;
    std::optional<HostId> host;  ///< it keeps the outputs until the client has them
  };

  void tell_error(const ClientId& client, const jupyter::Message& request, const Verdict& verdict,
                  CellTag tag, std::uint64_t execution_count);
  void forget(std::uint64_t number);

  GatewayContext& gateway_;
  const SessionId& session_;
  GatewayClients& clients_;
  std::map<std::uint64_t, AcceptedCell> judged_;  ///< their verdicts are being written; by number
  std::map<std::uint64_t, Ending> endings_;       ///< told; by number
  std::deque<ExecutionId> ended_before_;          ///< the last ones to remember, oldest first
};

}  // namespace banyan::node
