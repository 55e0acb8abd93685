// A model client: one person with one notebook. It creates a kernel, sends cells, sometimes interrupts,
// restarts, closes the lid, and comes back; and it remembers all that it saw.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/clock.h"
#include "sim/front.h"
#include "sim/model_python.h"
#include "sim/porter.h"

namespace banyan::sim {

/// One execute_request, and what came back.
struct CellRecord {
  ExecutionId execution;
  SessionId session;
  std::string code;
  jupyter::Message request;
  TrueTime sent{};
  TrueTime sent_again{};
  bool interrupted_link = false;  ///< the client's own connection broke since it was sent
  bool deleted = false;           ///< with its session
  bool unconfirmed = false;       ///< the connection ended before the gateway surely heard that the end came
  bool gateway_died = false;      ///< the gateway has died before the client surely had the end
  bool acknowledged = false;      ///< some message has come back for it
  bool idle = false;              ///< the last message of its end has come
  bool told_missing = false;      ///< the client was told that the cell does without some values
  std::uint64_t replies = 0;
  std::uint64_t repeats_sent = 0;
  std::string status;
  std::string reply;
  TrueTime told{};                   ///< when the reply came, or when a part of the end came once more
  std::vector<std::string> outputs;  ///< the msg_ids, in the order of arrival
  std::string notes;                 ///< what the platform has said on the cell's stderr
};

/// Is told at once of what clients see.
class ClientWitness {
 public:
  virtual ~ClientWitness() = default;
  virtual void replied(const CellRecord& cell) = 0;
  virtual void client_complains(const std::string& what) = 0;
  /// The cell asks for so many devices itself, whatever its kernel says.
  virtual void asks_for_gpus(const ExecutionId& execution, std::uint64_t gpus) = 0;
};

/// What a model client is to do with its notebook.
struct NotebookPlan {
  std::uint64_t cells = 50;
  double trouble = 0.1;       ///< the share of steps that do something else than run a cell
  bool long_cells = true;     ///< some cells run longer than a lease
  std::uint64_t hosts = 5;    ///< how many hosts there are that it may have its session moved to
  std::uint64_t devices = 0;  ///< of each host: some cells ask for some of them, or for none
  double carries = 0;         ///< the share of steps in which it exports its session, or imports one
  bool sends_again = true;    ///< it asks again for cells whose connection broke
};

/// What a client has asked of its kernel as a whole, and has no answer to.
enum class Asked : std::uint8_t {
  kNothing,
  kRestart,
  kEnd,
  kEndInVain  ///< that connection broke: the kernel may have ended, or goes on
};

/// The person, the notebook and the client in one. It asks for the connection without repeats
/// (`repeats=dropped`) and drops what it has had, as JupyterLab with our extension does.
class Notebook final : public SocketListener {
 public:
  Notebook(Scheduler& scheduler, Rng rng, Trace& trace, Front& front, const HostClock& clock,
           ClientWitness& witness, TransferWitness& transfers, DataStore* store, std::string name,
           NotebookPlan plan);

  void start() { create(); }
  /// Whether all cells were sent and answered.
  [[nodiscard]] bool finished() const;
  [[nodiscard]] std::size_t answered() const { return answered_; }
  /// From now on the client only runs plain cells, and asks again for what is unanswered.
  void settle() { settled_ = true; }
  /// Sends one more cell, which must end "ok".
  ExecutionId last_cell();
  [[nodiscard]] const std::map<ExecutionId, CellRecord>& cells() const { return cells_; }
  /// The cells in the order in which they were first sent.
  [[nodiscard]] const std::vector<ExecutionId>& order() const { return order_; }
  [[nodiscard]] const SessionId& session() const { return session_; }
  /// Whether it waits for the end of a move, a suspension, a resumption, an export or an import.
  [[nodiscard]] bool moving() const { return moves_ > 0 || porter_.busy(); }
  /// Exports its session, and goes on in a new one that has the same state. All must go well.
  void carry_over();
  /// Whether carry_over() has not come to its end.
  [[nodiscard]] bool carrying() const { return porter_.busy() || porter_.intends_to_bring() || !connected(); }
  /// Whether only the host that runs the cells has all that its session shows.
  [[nodiscard]] bool lacks_head() const { return porter_.lacks_head(); }
  [[nodiscard]] std::string state() const;

  void opened(ConnectionId connection) override;
  void received(ConnectionId connection, const jupyter::Message& message) override;
  void closed(ConnectionId connection, int status) override;
  /// The gateway's process has ended: what was in flight on its connections may come twice.
  void gateway_died();

 private:
  void later(Duration delay, void (Notebook::*then)());
  Duration between(Duration low, Duration high);
  void create();
  void connect();
  void disconnect(Duration away);
  void step();
  void send_burst();
  std::vector<Statement> invent();
  void send_cell(const std::vector<Statement>& statements);
  void transmit(CellRecord& cell);
  void look_after();
  void interrupt();
  void restart();
  void move();
  void ask();
  void remove();
  void take_out(const Porter::Then& then);
  void brought(const SessionId& into, Porter::End how);
  void use(const SessionId& session);
  void let_go();
  [[nodiscard]] bool connected() const { return connected_since_.has_value(); }
  [[nodiscard]] bool outstanding() const { return answered_ < order_.size(); }
  jupyter::Message request_message(const std::string& id, std::string_view type, std::string content) const;

  Scheduler& scheduler_;
  Rng rng_;
  Trace& trace_;
  Front& front_;
  const HostClock& clock_;
  ClientWitness& witness_;
  std::string name_;
  NotebookPlan plan_;
  std::string client_id_;
  SessionId session_;
  std::optional<ConnectionId> socket_;
  std::optional<TrueTime> connected_since_;
  bool settled_ = false;
  bool stepping_ = false;
  TrueTime resting_until_{};
  std::uint64_t moves_ = 0;
  Asked asked_ = Asked::kNothing;
  std::uint64_t sent_ = 0;
  std::size_t answered_ = 0;
  std::map<ExecutionId, CellRecord> cells_;
  std::vector<ExecutionId> order_;
  std::set<std::string> had_;        ///< the msg_ids of what came on earlier connections
  std::set<std::string> arriving_;   ///< the msg_ids of what came on this one
  std::optional<SessionId> wanted_;  ///< the id that the next kernel is to have
  Porter porter_;
};

}  // namespace banyan::sim
