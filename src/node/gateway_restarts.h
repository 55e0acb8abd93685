// The user's restart of a session's kernel: written, asked of the hosts, and answered when it is done.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "node/gateway_cells.h"

namespace banyan::node {

/// One restart at a time. Who asks for one while another is under way waits for that one. No further
/// cell goes to the hosts meanwhile, and what was accepted before is not run any more.
class Restarts {
 public:
  /// A restart, and who waits to hear of its end.
  struct Asked {
    std::uint64_t restart = 0;
    std::vector<RequestId> requests;
    std::vector<std::pair<ClientId, jupyter::Message>> shutdowns;
  };

  /// All of these outlive this. The number of restarts in `record` is changed here only.
  Restarts(GatewayContext& gateway, SessionRecord& record, const ReplicaReports& reports,
           const Outage& outage, CellQueue& cells, LastUse& last_use)
      : gateway_(gateway),
        record_(record),
        reports_(reports),
        outage_(outage),
        cells_(cells),
        last_use_(last_use) {}

  /// A request of REST for a restart. It is answered with 504 when that takes too long.
  void ask(RequestId request);
  /// A client's shutdown_request with `restart`.
  void ask(const ClientId& client, const jupyter::Message& request);
  /// The restart of that number is durable.
  void on_noted(std::uint64_t restart);
  /// A host says that the session's log has the restart.
  void on_committed(const Restarted& answer);
  /// Called often. Gives back the restart when it is done.
  [[nodiscard]] std::optional<Asked> watch();
  /// Answers whoever waits that the kernel was shut down.
  void close();

  [[nodiscard]] bool under_way() const { return current_.has_value(); }

 private:
  struct Current {
    Asked asked;
    bool noted = false;
    Time since;
    Time sent_at;
    std::optional<Time> committed_at;
  };

  Current& begin();
  void send();
  Asked finish();
  void answer_late();

  GatewayContext& gateway_;
  SessionRecord& record_;
  const ReplicaReports& reports_;
  const Outage& outage_;
  CellQueue& cells_;
  LastUse& last_use_;
  std::optional<Current> current_;
};

}  // namespace banyan::node
