// Takes sessions out of the platform and brings them in, as `banyan export` and `banyan import` do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/data_store.h"
#include "sim/front.h"
#include "sim/log_oracle.h"

namespace banyan::sim {

/// What a client has taken out of a session: what `banyan export` writes into a file.
struct Exported {
  SessionId session;
  std::string values;  ///< which ones go along: "head", "least" or "all"
  std::string state;   ///< the snapshot's bytes
  std::map<Digest, std::string> chunks;
  bool whole = false;       ///< no commit has a value that was left behind
  bool head_whole = false;  ///< what head shows was not left behind
  std::string prefix;       ///< how the keys begin of what the client has put into the data store
  std::set<Digest> stored;  ///< these chunks, as the store has said
};

/// What was known when an export was asked for. It must have that.
struct ExportFloor {
  StandAt at;                           ///< how far the log was known then
  std::optional<ExecutionId> answered;  ///< the newest cell that had been answered "ok"
  bool whole = true;                    ///< the session did not lack values itself
};

/// Is told at once of what clients export and import.
class TransferWitness {
 public:
  virtual ~TransferWitness() = default;
  /// A client is about to ask for a session's state. The porter keeps the answer until the export has ended.
  virtual ExportFloor export_begins(const SessionId& session, std::optional<ExecutionId> answered) = 0;
  /// A request of an export or an import is on its way to the session.
  virtual void transfer_goes_on(const SessionId& session) = 0;
  /// An export has ended well.
  virtual void exported(const Exported& box, const ExportFloor& floor) = 0;
  /// No host had a chunk of an export.
  virtual void chunk_denied(const Exported& box, const Digest& digest) = 0;
  /// The chunk was brought for the import `upload`, as the gateway has said.
  virtual void chunk_brought(const SessionId& into, const std::string& upload, const Digest& digest) = 0;
  /// Whether hosts may say of the import that a chunk was not brought which was: they need not know that any
  /// more when they have started again.
  virtual bool may_ask_again(const SessionId& into, const std::string& upload, const std::string& said) = 0;
  /// An import was answered with success.
  virtual void imported(const Exported& box, const SessionId& into, const std::string& upload) = 0;
  virtual void transfer_complains(const std::string& what) = 0;
};

/// One person's exports and imports, one at a time. What was exported last is kept, and may be imported any
/// number of times.
class Porter {
 public:
  /// How an export or an import ended. After an import that has failed its session is deleted again.
  /// kUnknown: an import that may still be done, whose session was not deleted.
  enum class End : std::uint8_t { kDone, kFailed, kUnknown };
  using Then = std::function<void(End)>;

  /// `store`: where it puts some of what it has exported; nullptr for nowhere.
  Porter(Scheduler& scheduler, Rng rng, Front& front, TransferWitness& witness, DataStore* store)
      : scheduler_(scheduler), rng_(rng), front_(front), witness_(witness), store_(store) {}

  /// Whether an export or an import is under way.
  [[nodiscard]] bool busy() const { return busy_; }
  /// Whether there is something to import.
  [[nodiscard]] bool holds() const { return box_ != nullptr; }
  /// Whether the session that began last lacks values of earlier commits, because they were left behind. An
  /// undo that needs one has its cell run again, or tells the user that it is lost (P6).
  [[nodiscard]] bool lacks_values() const { return lacks_; }
  /// Whether what head shows was left behind, too. Only the host that runs the cells has it then: it runs
  /// those again that make it.
  [[nodiscard]] bool lacks_head() const { return lacks_head_; }
  /// From now on nothing is broken: each export and each import must end well.
  void expect_success() { must_succeed_ = true; }

  /// Exports the session. `answered`: its newest cell that was answered "ok".
  void take_out(const SessionId& session, std::optional<ExecutionId> answered, Then then);
  /// The next session that is created gets what is held.
  void intend_to_bring() { intends_ = true; }
  [[nodiscard]] bool intends_to_bring() const { return intends_; }
  /// Imports what is held into a new session, if that is intended. `then` is not called when it is not.
  bool bring_in(const SessionId& into, Then then);

 private:
  struct Export {
    Exported box;
    ExportFloor floor;
    TrueTime begun{};
    std::vector<Digest> missing;
    Then then;
  };
  struct Import {
    std::shared_ptr<const Exported> box;
    SessionId into;
    std::string upload;
    bool from_store = false;  ///< hosts are to read from the store what was put there
    std::map<Digest, std::string>::const_iterator next;
    Then then;
  };

  /// Sends a request of an export or an import.
  void request(const SessionId& session, std::string method, const std::string& what, std::string body,
               Front::Answer answer);
  void read_chunks(std::shared_ptr<Export> going);
  void back_up(const std::shared_ptr<Export>& going);
  void write_chunks(std::shared_ptr<Import> going);
  void give_state(const std::shared_ptr<Import>& going);
  /// Judges an answer that is not a success. `expected`: there is a reason for it.
  void complain(const std::string& what, int status, const std::string& body, bool expected = false);
  void give_up(const std::shared_ptr<Import>& going, const std::string& what, int status,
               const std::string& body, bool expected = false);
  void discard(const std::shared_ptr<Import>& going);
  void end(const Then& then, End how);
  Duration pause();

  Scheduler& scheduler_;
  Rng rng_;
  Front& front_;
  TransferWitness& witness_;
  DataStore* store_;
  std::shared_ptr<const Exported> box_;
  bool busy_ = false;
  bool intends_ = false;
  bool lacks_ = false;
  bool lacks_head_ = false;
  bool must_succeed_ = false;
};

}  // namespace banyan::sim
