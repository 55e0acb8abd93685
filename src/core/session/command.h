// The commands of a session's replicated log, and the values in them. Append only (base/codec.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "core/checkpoint/refs.h"
#include "core/jupyter/message.h"

namespace banyan::session {

/// How an executor is chosen among several LEADs.
enum class Rounds : std::uint8_t {
  kFirstLead,  ///< the first committed LEAD wins: all replicas read the same log, so they agree
  kWithVote,   ///< NotebookOS's further round: the winner starts when a majority has committed a VOTE for it
};

/// What replicas other than the executor have beside the bytes.
enum class Standbys : std::uint8_t {
  kHot,  ///< a worker that follows each commit: takes over at once
  kWarm  ///< none until it is needed: no memory, and a second until the first cell
};

/// How much a session keeps. Commits that head, a branch, a tag or a redo needs are kept beyond that.
struct Keep {
  std::uint64_t cells = 4096;                     ///< ended cells whose outcome is known, and commits
  std::uint64_t journal = 4 << 20;                ///< bytes of their outputs, newest first
  std::uint64_t inline_values = 8 << 20;          ///< bytes of values in memory and in snapshots
  std::uint64_t values = std::uint64_t{4} << 30;  ///< bytes of the values of all commits

  friend bool operator==(const Keep&, const Keep&) = default;
};

/// What a session runs: fixed when it is created.
struct Spec {
  std::string kernel_name;                 ///< kernelspec, for example "python3"
  std::string working_directory;           ///< of its workers; empty: the host's default
  std::map<std::string, std::string> env;  ///< added to the workers' environment
  Rounds rounds = Rounds::kFirstLead;
  Keep keep;
  Standbys standbys = Standbys::kHot;

  friend bool operator==(const Spec&, const Spec&) = default;
};

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

/// A block of a serialised value's bytes: in the log when small, else a chunk on the replicas' disks, by
/// content address.
struct Chunk {
  Digest digest;
  std::uint64_t size = 0;
  std::optional<Blob> bytes;

  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// A data store that has chunks of the session too, for hosts that lack them: of an import that did not bring
/// them.
struct Elsewhere {
  std::string prefix;                    ///< of their keys; the digest in hex follows
  std::map<Digest, std::string> sha256;  ///< of the bytes, in hex: the store is trusted with nothing

  [[nodiscard]] std::string key(const Digest& digest) const { return prefix + to_hex(digest); }
  friend bool operator==(const Elsewhere&, const Elsewhere&) = default;
};

/// Variables that share objects, serialised together: the unit of change (Kishu's co-variable). One without
/// parts cannot be serialised: only its cells bring it back.
struct CoVariable {
  std::vector<std::string> names;  ///< sorted, at least one
  std::vector<Chunk> blocks;  ///< of all parts, in order: a small change leaves most of them as they were
  /// How many blocks each part has: a pickle (protocol 5) of a dict from name to value, then what it needs
  /// out of band, in order.
  std::vector<std::uint32_t> parts;
  bool kept = true;  ///< else only digests are: its cells bring it back, and these tell whether they did
  /// Of its values, "numpy.ndarray"; "several" when they differ, empty when unknown: for estimates only.
  std::string type;
  bool alone =
      false;  ///< of one that cannot be serialised: it shares no objects with others, as far as one sees

  [[nodiscard]] bool serialised() const { return kept && !parts.empty(); }
  /// Of all blocks, here or not.
  [[nodiscard]] std::uint64_t bytes() const;
  friend bool operator==(const CoVariable&, const CoVariable&) = default;
};

/// What running a cell again would need, and do.
struct Footprint {
  std::vector<std::string> reads;    ///< names whose values, as they were before it, it may have used; sorted
  bool reads_all = false;            ///< any of them
  std::vector<std::string> effects;  ///< outside of the session, for a person: "wrote /tmp/log"; bounded
  std::uint64_t gpus = 0;            ///< that its process had in use when it ended
  /// How long what it made took to serialise, which its run time has in it: microseconds by type, as
  /// CoVariable::type.
  std::map<std::string, std::int64_t> serialised_us;
  /// What its process did in the background when it ended, for a person: "thread w runs poll"; bounded.
  std::vector<std::string> work;
  std::vector<std::string> begun;  ///< by the cell: to run it again in another process would do it twice

  friend bool operator==(const Footprint&, const Footprint&) = default;
};

/// What a cell did to the namespace.
struct Delta {
  std::vector<CoVariable> changed;
  std::vector<std::string> deleted;
  std::vector<std::string> failed;  ///< changed, but cannot be serialised: each a co-variable without parts
  Footprint footprint;
  std::vector<std::string> alone;  ///< those of `failed` that share no objects with other variables

  friend bool operator==(const Delta&, const Delta&) = default;
};

/// A replica's bid for a cell. The first committed LEAD wins; when every voter has said YIELD nobody runs it.
enum class Bid : std::uint8_t { kLead, kYield };

/// A replica's bid, and what of the request every replica must know.
struct Propose {
  ExecutionId execution;
  ReplicaId replica;
  Bid bid = Bid::kLead;
  std::string code;           ///< for the commit and the input history
  std::string parent_header;  ///< of the request: lets any replica answer the client
  std::string cell_id;        ///< JupyterLab's cellId metadata, empty when absent
  Incarnation
      life;  ///< of the bidding host agent: a later life must not run what an earlier one may have run
  std::uint64_t restarts = 0;  ///< Clear::request of the last restart before the cell: a later one ended it
  bool aborts = false;         ///< it is not to run: unless it has started, it ends here as aborted
};

/// The paper's further round: a replica acknowledges the winner. Only with Rounds::kWithVote.
struct Vote {
  ExecutionId execution;
  ReplicaId voter;
  ReplicaId winner;
};

/// A cell ended on its executor: the commit proper.
struct Commit {
  ExecutionId execution;
  Epoch epoch;
  Status status = Status::kOk;
  std::string reply;  ///< content of the execute_reply, JSON text
  std::string reply_metadata = "{}";
  std::vector<jupyter::Message> outputs;  ///< the output journal, in order; bounded by the executor
  std::uint64_t outputs_total =
      0;  ///< how many there were; more than outputs.size() when the journal was cut
  std::uint64_t execution_count = 0;
  std::int64_t runtime_us = 0;
  Delta delta;
  std::vector<checkpoint::Action> actions;  ///< that the cell asked for; they take effect after its changes
  std::int64_t ended_at_us = 0;             ///< wall clock, since 1970
  bool asked_history = false;               ///< a cell that looks at the history is not part of it
};

/// Takes the lead away from the executor of `epoch`: its running cell, if any, is lost.
struct TakeOver {
  Epoch epoch;
  std::string reason;
};

/// Jupyter's restart: an empty namespace, execution count 0; the running cell (if any) is lost, and cells
/// that were accepted before do not start.
struct Clear {
  std::uint64_t request = 0;  ///< grows; an older one than the last is without effect
};

/// Names the hosts of the replicas. Rides in a Raft membership change.
struct SetMembers {
  Members members;
  std::uint64_t wish =
      0;  ///< which one of the gateway's wishes for this session it fulfils: they are numbered
};

/// Actions without a cell. Without effect while one runs, and when a cell has ended or something else was
/// amended since they were chosen.
struct Amend {
  std::string request;  ///< whose
  std::vector<checkpoint::Action> actions;
  CommitId seen;              ///< Session::last() then
  std::uint64_t amended = 0;  ///< and Session::amended()
};

/// A session's snapshot from elsewhere takes the place of one in which no cell has ended. Its chunks are
/// there, or where it says (Elsewhere).
struct Import {
  std::string request;  ///< whose
  Blob snapshot;
};

using Command = std::variant<Propose, Vote, Commit, TakeOver, Clear, SetMembers, Amend, Import>;

}  // namespace banyan::session
