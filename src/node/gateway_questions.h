// Questions of REST that a replica of the session answers: its history, exports and imports of its state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/session/transfer.h"
#include "node/gateway_channels.h"

namespace banyan::node {

/// Each question is sent to one replica, as soon as one is known that can answer, and is answered once.
class Questions {
 public:
  /// All of these outlive this.
  Questions(GatewayContext& gateway, const SessionRecord& record, const Membership& members,
            const ReplicaReports& reports, const Outage& outage, const CellQueue& cells,
            const Channels& channels, LastUse& last_use)
      : gateway_(gateway),
        record_(record),
        members_(members),
        reports_(reports),
        outage_(outage),
        cells_(cells),
        channels_(channels),
        last_use_(last_use) {}

  /// Answers `request` with what the session's history says (core/session/history.h).
  void ask_history(RequestId request, std::string question);
  /// Answers `request` with what the cells that ended after that commit have put out, the one that runs,
  /// those that wait, and what input() asks (core/session/cells.h).
  void tell_cells(RequestId request, CommitId after);
  /// Answers with the bytes of Session::snapshot_with.
  void export_state(RequestId request, const session::question::Export& wanted);
  /// The state that export_state gave takes the place of this session's, in which nothing has run.
  void import_state(RequestId request, const std::string& upload, Blob snapshot);

  /// A host has answered a question, of this part or of another one.
  void on_answer(const SessionAnswer& answer);
  /// Called often: sends what waits for a replica, gives up what is not answered.
  void watch();
  /// Answers all that the kernel was shut down.
  void close();

  /// The host that is asked now: the executor's, which knows most, else any other, whose answer knows as much
  /// and takes longer. Nothing when none is known yet that can answer.
  [[nodiscard]] std::optional<HostId> answering_host() const;

 private:
  struct Question {
    RequestId request;
    HostId host = {};
    Time asked_at = {};
    enum class Form : std::uint8_t { kJson, kBytes, kCells } form = Form::kJson;  ///< of the answer
    std::optional<PeerMessage> unsent;  ///< no host is known yet that could answer
  };

  void ask(RequestId request, std::string question, Question::Form form);
  void put(const std::string& id, Question question);
  void send(Question& question);
  [[nodiscard]] std::string with_waiting(const std::string& content) const;

  GatewayContext& gateway_;
  const SessionRecord& record_;
  const Membership& members_;
  const ReplicaReports& reports_;
  const Outage& outage_;
  const CellQueue& cells_;
  const Channels& channels_;
  LastUse& last_use_;
  std::map<std::string, Question> questions_;  ///< by id
};

}  // namespace banyan::node
