// What clients ask of a session beside running cells: completion, inspection, comms, and their like.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/gateway_context.h"
#include "node/gateway_reports.h"

namespace banyan::node {

/// Where a session executes at the moment.
struct Executing {
  std::optional<HostId> executor;  ///< of the cell that runs, else of the last one
  bool runs_cell = false;
  CommitId last_commit;            ///< of the last cell that ended in this life of the gateway
  std::optional<HostId> ended_by;  ///< who told of that end
};

/// Requests that a worker has to answer, until one has. Each is sent to one worker at a time, in the order of
/// arrival, and again to another one when that is gone and any replica can answer; its reply reaches the
/// client once.
class Requests {
 public:
  struct Request {
    ClientId client;
    jupyter::Message message;
    std::string type;         ///< of the message
    std::uint64_t order = 0;  ///< of arrival
    bool anywhere = false;    ///< any replica's worker may answer
    std::optional<HostId> host;
    std::uint64_t worker_pid = 0;
  };

  /// All three outlive this.
  Requests(GatewayContext& gateway, const SessionRecord& record, const ReplicaReports& reports)
      : gateway_(gateway), record_(record), reports_(reports) {}

  /// A client's request under its msg_id; one that is known already is left as it is. Gives back the oldest
  /// one when there are too many: nobody answers it any more.
  [[nodiscard]] std::optional<Request> add(const std::string& msg_id, Request request,
                                           const Executing& executing);
  /// Sends what waits for a worker and can have one now.
  void route_waiting(const Executing& executing);
  /// The worker there is gone. Gives back those that only it could have answered; the others wait for another
  /// one (route_waiting).
  [[nodiscard]] std::vector<Request> lose(const HostId& host);
  /// Who is to get this reply; nobody when it was answered before, or names no client.
  [[nodiscard]] std::optional<ClientId> take_reply(const jupyter::Header& parent);
  /// A worker is idle after it: one that has no reply is over.
  void on_idle(const std::string& msg_id);
  /// A cell has ended, and its commit has what callbacks have changed up to now.
  void on_cell_ended();

  [[nodiscard]] bool empty() const { return requests_.empty(); }
  /// One of them waits for a worker.
  [[nodiscard]] bool any_waits() const;
  /// The worker that had some of them is gone, as this report of its host says.
  [[nodiscard]] bool miss_worker(const HostId& host, const ReplicaReport& report) const;
  /// A comm's callback may have changed variables since the last cell.
  [[nodiscard]] bool called_back() const { return called_back_; }

 private:
  void route(Request& request, const Executing& executing);
  void remember_answered(const std::string& msg_id);
  [[nodiscard]] std::optional<HostId> host_for(const Request& request, const Executing& executing) const;

  GatewayContext& gateway_;
  const SessionRecord& record_;
  const ReplicaReports& reports_;
  std::map<std::string, Request> requests_;  ///< by msg_id
  std::uint64_t next_order_ = 0;
  std::deque<std::string> answered_;  ///< the last ones, oldest first
  bool called_back_ = false;
};

}  // namespace banyan::node
