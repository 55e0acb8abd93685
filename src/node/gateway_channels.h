// What clients and workers say on the Jupyter channels beside cells: requests and their replies, stdin,
// control, and states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "node/gateway_cells.h"
#include "node/gateway_requests.h"
#include "node/gateway_restarts.h"

namespace banyan::node {

/// Reads what comes on the channels. Cells and restarts are passed on to their parts.
class Channels {
 public:
  /// All of these outlive this.
  Channels(GatewayContext& gateway, const SessionRecord& record, GatewayClients& clients,
           const ReplicaReports& reports, CellQueue& cells, Restarts& restarts, LastUse& last_use)
      : gateway_(gateway),
        record_(record),
        clients_(clients),
        cells_(cells),
        restarts_(restarts),
        last_use_(last_use),
        requests_(gateway, record, reports) {}

  // What happens.
  void open_client(ConnectionId connection, const ClientId& client, ClientManner manner);
  void from_client(ConnectionId connection, jupyter::Message message);
  /// A worker's message that is no output of a cell.
  void from_kernel(jupyter::Message message);
  /// A replica of the session has reported: its worker may be another one than before.
  void on_report(const HostId& host, const ReplicaReport& report);
  /// The worker there is gone: others are asked, or clients are told.
  void on_worker_gone(const HostId& host);
  void on_cell_ended(const ExecutionId& execution);
  /// All workers are new.
  void on_restarted(const Restarts::Asked& restart);
  /// Stops what the executor does, as Ctrl-C would.
  void interrupt();
  /// Sends requests that wait for a worker and can have one now.
  void route_waiting();

  // What is known.
  [[nodiscard]] const Requests& requests() const { return requests_; }
  /// What input() asks for and nobody has answered; null when there is nothing.
  [[nodiscard]] const jupyter::Message* input() const { return input_ ? &input_->message : nullptr; }
  /// A client has asked for the session's end by a shutdown_request.
  [[nodiscard]] bool wants_end() const { return wants_end_; }

 private:
  struct Input {
    ClientId client;
    jupyter::Message message;
    std::uint64_t place = 0;  ///< in what the clients have still to get
  };

  [[nodiscard]] Executing executing() const;
  /// The cell of that execute_request is with the hosts.
  [[nodiscard]] bool runs(const std::string& msg_id) const;
  void lose(const Requests::Request& request);
  void answer(const ClientId& client, const jupyter::Message& request, std::string content);
  void shutdown(const ClientId& client, const jupyter::Message& request);
  void input_reply(jupyter::Message reply);
  void pass_reply(jupyter::Message reply);
  void pass_iopub(jupyter::Message message);
  void pass_input(jupyter::Message request);

  GatewayContext& gateway_;
  const SessionRecord& record_;
  GatewayClients& clients_;
  CellQueue& cells_;
  Restarts& restarts_;
  LastUse& last_use_;
  Requests requests_;
  std::optional<Input> input_;
  bool asked_for_input_ = false;  ///< in this life of the gateway
  bool wants_end_ = false;
};

}  // namespace banyan::node
