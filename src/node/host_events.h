// What a host agent is told, and what it wants done. The host's step() maps the one to the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/raft/message.h"
#include "core/session/command.h"
#include "core/session/removals.h"
#include "node/gateway_events.h"
#include "node/protocol.h"

namespace banyan::node {

// ---- disk
// -----------------------------------------------------------------------------------------------------------

/// What a disk holds of one replica.
struct StoredReplica {
  SessionId session;
  std::string meta;  ///< opaque to the disk
  raft::HardState hard_state;
  std::optional<raft::Snapshot> snapshot;
  std::vector<raft::Entry> entries;  ///< contiguous, after the snapshot
};

/// One record of a batch.
struct PutMeta {
  SessionId session;
  std::string meta;
};
struct PutHardState {
  SessionId session;
  raft::HardState hard_state;
};
/// Drops every stored entry above `truncate_after`, then adds `entries`, contiguous from truncate_after + 1
/// (maybe none).
struct PutEntries {
  SessionId session;
  std::vector<raft::Entry> entries;
  raft::Index truncate_after;
};
/// Replaces the snapshot and drops all entries up to its index.
struct PutSnapshot {
  SessionId session;
  raft::Snapshot snapshot;
};
/// Forgets the replica's meta, hard state, snapshot and log.
struct DropReplica {
  SessionId session;
};
struct PutChunk {
  Digest digest;
  Blob bytes;
};
struct DropChunk {
  Digest digest;
};
/// What the host has learned of how long things take, opaque to the disk; replaces the one before.
struct PutSpeeds {
  std::string record;
};
using DiskWrite =
    std::variant<PutMeta, PutHardState, PutEntries, PutSnapshot, DropReplica, PutChunk, DropChunk, PutSpeeds>;

// ---- events
// ---------------------------------------------------------------------------------------------------------

/// First event of a life: what the disk holds.
struct Recovered {
  std::vector<StoredReplica> replicas;
  std::vector<Digest> chunks;  ///< that it has; reading one tells whether it is whole
  std::string speeds;          ///< of the last PutSpeeds; empty when there was none
};

/// All writes up to and including this token are durable.
struct Persisted {
  std::uint64_t token = 0;
};

/// The chunk of a StoreChunk is durable.
struct ChunkLanded {
  Digest digest;
};

/// A chunk that ReadChunk asked for; nothing when the disk does not hold it (or it fails its checksum).
struct ChunkRead {
  Digest digest;
  std::optional<Blob> bytes;
};

/// A chunk that FetchChunk asked for; nothing when the store has it not, or other bytes (`denied`), or does
/// not say.
struct ChunkFetched {
  Digest digest;
  std::string key;
  std::optional<Blob> bytes;
  bool denied = false;
};

/// A replica that LoadReplica asked for; nothing when the disk does not hold it.
struct ReplicaLoaded {
  SessionId session;
  std::optional<StoredReplica> stored;
};

/// The worker serves requests.
struct WorkerReady {
  WorkerId worker;
  std::uint64_t pid = 0;
};
/// A message from one of the worker's sockets.
struct FromWorker {
  WorkerId worker;
  jupyter::Message message;
};
/// The worker is about to run user code of `execution` and waits for AnswerFence.
struct WorkerFenced {
  WorkerId worker;
  ExecutionId execution;
};
/// What a cell changed. Chunks carry their bytes. Follows the user code.
struct WorkerReport {
  WorkerId worker;
  ExecutionId execution;
  std::uint64_t execution_count = 0;
  session::Delta delta;
  /// How the cell ended, as JSON. When it is here, the idle on iopub says that all outputs have come.
  struct Reply {
    std::string content;
    std::string metadata;
  };
  std::optional<Reply> reply;
  std::set<DeviceId> uses = {};  ///< the devices that the worker's process uses now
};
/// The worker's namespace is a view of `commit`. `failed` names values that could not be loaded.
struct WorkerApplied {
  WorkerId worker;
  CommitId commit;
  std::vector<std::string> failed;
  std::vector<std::string>
      lacking;  ///< not bound: the worker has not all the blocks that it was thought to have
  std::map<std::string, std::int64_t> took;  ///< microseconds to load each of the others, by its first name
};
/// A cell that ran again has ended.
struct WorkerRepeated {
  WorkerId worker;
  CommitId commit;
  std::vector<std::string> made;                      ///< names that are what the cell made of them first
  std::vector<std::string> changed;                   ///< other names that it bound, changed or deleted
  std::string error;                                  ///< why it did not end as then; empty when it did
  std::map<std::string, std::int64_t> serialised_us;  ///< Footprint::serialised_us, of this time
  std::vector<session::Chunk> blocks = {};            ///< of `made`, with their bytes: those that were wanted
};
/// The process is gone. `reason` is for a person: "killed by signal 11 (segmentation fault)".
struct WorkerExited {
  WorkerId worker;
  std::string reason;
};

/// The machine's figures, about every second.
struct HostFigures {
  std::uint64_t cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::vector<cluster::Device> devices;
  /// Which devices each worker's process uses now, and those that it has started; nothing for a worker that
  /// uses none.
  std::map<WorkerId, std::set<DeviceId>> uses = {};
};

/// Which kernels this host can run: at its start, and whenever more is known of one.
struct HostKernels {
  std::vector<KernelReport> kernels;
};

/// User code asks the session's history (core/session/history.h), and waits for AnswerWorker.
struct WorkerAsks {
  WorkerId worker;
  std::string question;
};

/// Answers AskReads: those of the names that the cell may read.
struct WorkerReads {
  WorkerId worker;
  ExecutionId execution;
  std::vector<std::string> names;
};

/// Answers AskRemovals: what goes from the disk with these variables.
struct WorkerRemoves {
  WorkerId worker;
  std::string request;
  std::vector<session::Removal> removals;
};

using HostEvent = std::variant<Recovered, Tick, FrameArrived, PeerUp, PeerDown, Persisted, ChunkRead,
                               WorkerReady, FromWorker, WorkerFenced, WorkerReport, WorkerApplied,
                               WorkerExited, HostFigures, WorkerAsks, WorkerRepeated, ReplicaLoaded,
                               ChunkFetched, HostKernels, WorkerReads, WorkerRemoves, ChunkLanded>;

// ---- effects
// --------------------------------------------------------------------------------------------------------

/// Writes a batch, all or nothing. Batches become durable in order; answered by Persisted.
struct Persist {
  std::uint64_t token = 0;
  std::vector<DiskWrite> writes;
};

/// Stores a chunk for which nobody waits, when there is time for it: it has no order with what Persist
/// writes. Answered by ChunkLanded.
struct StoreChunk {
  Digest digest;
  Blob bytes;
};

/// Reads a chunk; answered by ChunkRead.
struct ReadChunk {
  Digest digest;
  bool in_background = false;  ///< nobody waits for it
};

/// Reads a chunk from the data store that this host may read; answered by ChunkFetched.
struct FetchChunk {
  Digest digest;
  std::string key;
  std::string sha256;  ///< of its bytes, in hex: others are not taken
};

/// Reads a replica, as the writes before this left it; answered by ReplicaLoaded.
struct LoadReplica {
  SessionId session;
};

/// Starts a worker from the prewarmed zygote; answered by WorkerReady or WorkerExited.
struct LaunchWorker {
  WorkerId worker;
  SessionId session;
  session::Spec spec;
  /// That its variables are of, "numpy", where they are found as the host finds them: those may be there from
  /// the start.
  std::set<std::string> libraries = {};
};

/// How a worker is stopped.
enum class Stop : std::uint8_t { kInterrupt, kKill };
/// SIGINT to the worker's process group, or SIGKILL.
struct StopWorker {
  WorkerId worker;
  Stop how = Stop::kKill;
};

/// A message for one of the worker's sockets.
struct ToWorker {
  WorkerId worker;
  jupyter::Message message;
};

/// Answers WorkerFenced: run the user code, or (with a reason) do not.
struct AnswerFence {
  WorkerId worker;
  ExecutionId execution;
  std::optional<std::string> refusal;
  std::set<DeviceId> devices = {};  ///< that are bound to the cell
};

/// Answers WorkerAsks: a JSON object, or why there is none.
struct AnswerWorker {
  WorkerId worker;
  Result<std::string> answer;
};

/// Makes the worker's namespace a view of `commit`: load these, delete those. Blocks carry their bytes,
/// but for those of what the worker shows under the same names.
struct ApplyToWorker {
  WorkerId worker;
  CommitId commit;
  std::uint64_t execution_count = 0;
  std::string code;  ///< for the input history; empty for none
  std::vector<session::CoVariable> changed;
  std::vector<std::string> deleted;
};

/// Runs the cell of a commit once more, for values that cannot be loaded; answered by WorkerRepeated. Nobody
/// hears its output.
struct RepeatOnWorker {
  WorkerId worker;
  CommitId commit;
  std::string code;
  bool fails = false;                      ///< it ended with an error
  std::vector<session::CoVariable> makes;  ///< what it changed; blocks are their digests
  std::set<Digest> wanted = {};            ///< blocks of these that this host lacks: it wants their bytes
};

/// Asks which of these names, that its namespace does not have, a cell may read that has not begun; answered
/// by WorkerReads.
struct AskReads {
  WorkerId worker;
  ExecutionId execution;
  std::string code;
  std::vector<std::string> names;
};

/// Asks what the worker would remove from the disk if these variables lost their values; answered by
/// WorkerRemoves.
struct AskRemovals {
  WorkerId worker;
  std::string request;
  std::vector<std::string> names;
};

/// The session is no more on this host: what its workers left beside it goes.
struct ForgetSession {
  SessionId session;
};

/// The worker may run user code until `deadline`; nothing: it runs none, so it needs no lease.
struct SetLease {
  WorkerId worker;
  std::optional<Time> deadline;
};

using HostEffect =
    std::variant<SendFrame, Persist, ReadChunk, LaunchWorker, StopWorker, ToWorker, AnswerFence,
                 ApplyToWorker, SetLease, Log, AnswerWorker, RepeatOnWorker, ForgetSession, LoadReplica,
                 FetchChunk, AskReads, AskRemovals, ConnectPeer, DisconnectPeer, StoreChunk>;

}  // namespace banyan::node
