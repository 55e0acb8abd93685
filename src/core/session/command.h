// The commands of a session's replicated log, and the values in them. Logs and snapshots on disks hold them,
// so a new version may only append fields and alternatives (base/codec.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "core/checkpoint/refs.h"
#include "core/jupyter/message.h"

namespace banyan::session {

/// Keeps the place of what earlier versions had there: encoded values may only be appended to. Nothing writes
/// anything else, and what is read is skipped.
struct Retired {
  friend bool operator==(const Retired&, const Retired&) = default;
};

/// What the standbys have beside the log and the bytes of values.
enum class Standbys : std::uint8_t {
  kHot,  ///< a worker that follows each commit: takes over at once
  kWarm  ///< none until it is needed: no memory, and a second until the first cell
};

/// What the reply of a cell waits for, of the values that are too large for the log.
enum class Durability : std::uint8_t {
  kSync,  ///< until a majority has all of them on its disks
  kAsync  ///< not for those of more bytes than hosts say (`durable_inline`): these are pending for a while
};

/// How much a session keeps. Commits that head, a branch, a tag or a redo needs are kept beyond that.
struct Keep {
  std::uint64_t cells = 4096;             ///< how many ended cells can be asked for, and how many commits
  std::uint64_t journal = 4 << 20;        ///< bytes of their outputs, newest first
  std::uint64_t inline_values = 8 << 20;  ///< bytes of values in memory and in snapshots
  std::uint64_t values = std::uint64_t{4} << 30;  ///< bytes of the values of all commits

  friend bool operator==(const Keep&, const Keep&) = default;
};

/// What a session runs: fixed when it is created.
struct Spec {
  std::string kernel_name;                 ///< kernelspec, for example "python3"
  std::string working_directory;           ///< where its workers begin; empty: the host's default
  std::map<std::string, std::string> env;  ///< added to the workers' environment
  Retired rounds = {};
  Keep keep;
  Standbys standbys = Standbys::kHot;
  Durability durability = Durability::kSync;

  friend bool operator==(const Spec&, const Spec&) = default;
};

/// In Spec::env. "0": its workers begin without the libraries that its values need, and import them then.
inline constexpr std::string_view kImportAhead = "BANYAN_IMPORT_AHEAD";

/// The hosts of a session's replicas.
using Members = std::map<ReplicaId, HostId>;

/// How a cell execution ended (P4).
enum class Status : std::uint8_t {
  kOk,
  kError,    ///< user code raised, or its worker died
  kAborted,  ///< never started
  kLost      ///< may have run; its effects are not in the session
};

/// "ok", "error", "aborted" or "lost".
std::string_view name_of(Status status);

/// A block of a serialised value's bytes. A small one travels in the log and has its bytes here; a large one
/// is a chunk on the replicas' disks, under its digest.
struct Chunk {
  Digest digest;
  std::uint64_t size = 0;
  std::optional<Blob> bytes;  ///< nothing: the bytes are on the disks

  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// A data store from which hosts read the chunks that an import did not bring along.
struct Elsewhere {
  std::string prefix;  ///< how the chunks' keys begin; the digest in hex follows
  std::map<Digest, std::string>
      sha256;  ///< of each chunk's bytes, in hex: what the store gives is not trusted

  [[nodiscard]] std::string key(const Digest& digest) const { return prefix + to_hex(digest); }
  friend bool operator==(const Elsewhere&, const Elsewhere&) = default;
};

/// Variables that share objects, serialised together: the unit of change (Kishu's co-variable). A co-variable
/// without parts could not be serialised: only its cells bring it back.
struct CoVariable {
  std::vector<std::string> names;  ///< sorted, at least one
  std::vector<Chunk>
      blocks;  ///< the bytes of all parts, in order; a small change leaves most blocks as they were
  /// How many blocks each part has. The first part is a pickle (protocol 5) of a dict from name to value; the
  /// others are its out-of-band buffers, in order.
  std::vector<std::uint32_t> parts;
  bool kept = true;  ///< false: an export left the bytes behind. The cells make the value again, and the
                     ///< digests tell whether it is the same
  /// The values' type, such as "numpy.ndarray"; "several" when they differ, empty when unknown. For
  /// estimates.
  std::string type;
  /// Only for a co-variable that cannot be serialised: it seems to share no objects with others.
  bool alone = false;

  [[nodiscard]] bool serialised() const { return kept && !parts.empty(); }
  /// The size of all blocks, wherever their bytes are.
  [[nodiscard]] std::uint64_t bytes() const;
  friend bool operator==(const CoVariable&, const CoVariable&) = default;
};

/// What a cell needed and did: what another run of it would need, and do again.
struct Footprint {
  std::vector<std::string> reads;  ///< variables whose values from before the cell it may have used; sorted
  bool reads_all = false;          ///< it may have used any variable
  std::vector<std::string>
      effects;             ///< what it did outside of the session, for a person: "wrote /tmp/log"; bounded
  std::uint64_t gpus = 0;  ///< how many its process had in use when it ended
  /// How long it took to serialise what the cell made, in microseconds by CoVariable::type. The cell's run
  /// time includes it.
  std::map<std::string, std::int64_t> serialised_us;
  /// What its process did in the background when it ended, for a person: "thread w runs poll"; bounded.
  std::vector<std::string> work;
  /// The entries of `work` that this cell began. If it ran again in another process, they would happen twice.
  std::vector<std::string> begun;

  friend bool operator==(const Footprint&, const Footprint&) = default;
};

/// What a cell did to the namespace.
struct Delta {
  std::vector<CoVariable> changed;
  std::vector<std::string> deleted;
  std::vector<std::string>
      failed;  ///< changed, but not serialisable: each becomes a co-variable without parts
  Footprint footprint;
  std::vector<std::string> alone;  ///< the names of `failed` that share no objects with other variables

  friend bool operator==(const Delta&, const Delta&) = default;
};

/// A replica's bid for a cell. The first committed LEAD wins; when every voter has said YIELD nobody runs it.
enum class Bid : std::uint8_t { kLead, kYield };

/// A replica's bid, and what of the request every replica must know.
struct Propose {
  ExecutionId execution;
  ReplicaId replica;
  Bid bid = Bid::kLead;
  std::string code;           ///< the cell's code, for the commit and the input history
  std::string parent_header;  ///< the header of the request: with it any replica can answer the client
  std::string cell_id;        ///< JupyterLab's cellId metadata, empty when absent
  Incarnation
      life;  ///< of the bidding host agent: a later life must not run what an earlier one may have run
  std::uint64_t restarts = 0;  ///< Clear::request of the last restart before the cell was accepted; where a
                               ///< later restart is in the log, the cell does not start any more
  bool aborts = false;         ///< the cell is not to run: unless it has started, it ends here as aborted
};

/// A cell ended on its executor: the commit proper.
struct Commit {
  ExecutionId execution;
  Epoch epoch;
  Status status = Status::kOk;
  std::string reply;  ///< content of the execute_reply, JSON text
  std::string reply_metadata = "{}";
  std::vector<jupyter::Message> outputs;  ///< the output journal, in order; bounded by the executor
  /// How many outputs there were: more than outputs.size() when the journal was cut.
  std::uint64_t outputs_total = 0;
  std::uint64_t execution_count = 0;
  std::int64_t runtime_us = 0;
  Delta delta;
  std::vector<checkpoint::Action>
      actions;                   ///< what the cell asked for; it takes effect after the cell's changes
  std::int64_t ended_at_us = 0;  ///< wall clock, since 1970
  bool asked_history = false;    ///< the cell looked at the history: unless it changed a variable, it is
                                 ///< no commit of the tree
};

/// Takes the lead away from the executor of `epoch`: its running cell, if any, is lost.
struct TakeOver {
  Epoch epoch;
  std::string reason;
};

/// Jupyter's restart. The namespace is empty afterwards and the execution count 0; the running cell (if any)
/// is lost, and cells that were accepted before do not start.
struct Clear {
  std::uint64_t request = 0;  ///< numbers the restarts; one that is not newer than the last has no effect
};

/// Names the hosts of the replicas. Rides in a Raft membership change.
struct SetMembers {
  Members members;
  std::uint64_t wish = 0;  ///< the number of the gateway's wish for members that this fulfils
};

/// Actions without a cell. They are refused while a cell runs, and when a cell has ended or something else
/// was amended since they were chosen.
struct Amend {
  std::string request;  ///< the question that they answer
  std::vector<checkpoint::Action> actions;
  CommitId seen;              ///< Session::last() when they were chosen
  std::uint64_t amended = 0;  ///< Session::amended() when they were chosen
};

/// The snapshot of another session takes the place of this one, in which no cell has ended. Its chunks are on
/// the hosts already, or in the data store that it names (Elsewhere).
struct Import {
  std::string request;  ///< the one that it answers
  Blob snapshot;
};

using Command = std::variant<Propose, Retired, Commit, TakeOver, Clear, SetMembers, Amend, Import>;

}  // namespace banyan::session
