// What daemons say to each other. Two kinds of frames travel between peers: Raft traffic, which tolerates
// loss by itself, and link frames, which carry every other message reliably and in order (node/link.h). All
// are aggregates for base/codec.h: a new version may only append fields and alternatives.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "core/cluster/device.h"
#include "core/cluster/kernel.h"
#include "core/jupyter/message.h"
#include "core/raft/message.h"
#include "core/session/command.h"

namespace banyan::node {

/// The name under which the gateway is a peer of its hosts.
inline const HostId kGateway{"gateway"};

// ---- gateway to host
// ------------------------------------------------------------------------------------------------

/// How a replica begins: with the founding members, or empty, to be filled by the group's leader.
enum class Origin : std::uint8_t { kFounding, kJoining };

/// In which life of a gateway a session was founded, and as which one. Life 0: nobody noted it.
struct Founding {
  std::uint64_t life = 0;
  std::uint64_t number = 0;
};

/// Be a replica of a session. Idempotent.
struct OpenReplica {
  SessionId session;
  ReplicaId replica;
  session::Spec spec;
  session::Members members;  ///< all of them, this one included
  Origin origin = Origin::kFounding;
  Founding founding = {};
};

/// Stop being one: end the worker, forget the log. Idempotent.
struct CloseReplica {
  SessionId session;
  ReplicaId replica = {};  ///< only this one; 0: whichever there is
};

/// As Execute::lead: nobody is asked to run the cell. Whoever runs it, or knows how it ended, says so.
inline constexpr ReplicaId kNoLead{~std::uint64_t{0}};

/// Run a cell. It is sent to one replica, and to another one when that does not answer; where replicas elect
/// who runs it, to every replica that may. However many get it, the log starts it once.
/// Idempotent by execution: a replica that knows the outcome answers it again.
struct Execute {
  SessionId session;
  ExecutionId execution;
  jupyter::Message request;
  ReplicaId lead;                   ///< proposes LEAD; 0: every receiver decides for itself; see kNoLead
  std::uint64_t outputs_seen = 0;   ///< outputs of this execution that clients already have
  std::uint64_t restarts = 0;       ///< Restart::request of the last one before the cell; a replica whose
                                    ///< session was restarted later does not start it
  bool aborts = false;              ///< it is not to run: unless it has started, the log ends it as aborted
  std::uint64_t gpus = 0;           ///< how many the cell needs, for itself
  std::set<DeviceId> devices = {};  ///< those of the receiver that it gets; none: the receiver chooses
};

/// A message of a client for the worker that is not fenced: shell requests other than execute, control, stdin
/// replies.
struct ToKernel {
  SessionId session;
  jupyter::Message message;
};

/// Stop the running cell (SIGINT, then SIGKILL at a deadline).
struct Interrupt {
  SessionId session;
};

/// Forget all variables and start again with empty workers. Answered by Restarted.
struct Restart {
  SessionId session;
  std::uint64_t request = 0;  ///< distinguishes repeated restarts; grows with each restart of the session
};

/// Make `members` the session's replicas; the leader changes the membership. Idempotent, and without effect
/// once a later wish is fulfilled.
struct ChangeMembers {
  SessionId session;
  session::Members members;
  std::uint64_t wish = 0;  ///< grows with each change that the gateway wants
  /// The lives of the host agents that hold the replicas that join: a later life may have lost its disk. The
  /// life 0 is of one that does not answer. Nothing is said by gateways that do not know this field.
  std::map<HostId, Incarnation> lives = {};
};

/// Clients have the outputs of `execution` up to `seq`, or all that there is when `whole`.
struct OutputDelivered {
  SessionId session;
  ExecutionId execution;
  std::uint64_t seq = 0;
  bool whole = false;
};

/// The gateway has (re)started or lost track: report everything.
struct ReportAll {};

/// All hosts of the platform, where they listen for other daemons, and to which keys their names belong.
/// Those that are not named any more are none of its hosts.
struct PeerAddresses {
  std::map<HostId, std::string> peers;      ///< HOST:PORT
  std::map<HostId, std::string> keys = {};  ///< of those whose key is known, in hex digits
};

// ---- host to gateway
// ------------------------------------------------------------------------------------------------

/// State of a replica's worker.
enum class WorkerState : std::uint8_t { kNone, kStarting, kReady, kBusy };

/// What became of a plan for a view (core/planner).
struct ViewBuilt {
  std::int64_t predicted_us = 0;
  std::int64_t took_us = 0;
  std::uint64_t values = 0;  ///< co-variables that were loaded
  std::uint64_t bytes = 0;   ///< of them
  std::uint64_t cells = 0;   ///< that ran again
};

/// A view that is being built.
struct ViewProgress {
  std::string what;  ///< for a person: "loading df, model (120 MB)"
  std::uint64_t percent = 0;
  std::int64_t left_us = 0;  ///< predicted
};

/// One replica, as its host sees it.
struct ReplicaReport {
  SessionId session;
  ReplicaId replica;
  ReplicaId leader;  ///< as this replica knows it; 0 for none
  std::uint64_t term = 0;
  Epoch epoch;
  ReplicaId executor;
  CommitId last;  ///< the newest commit, wherever head is
  std::uint64_t execution_count = 0;
  std::optional<ExecutionId> running;
  WorkerState worker = WorkerState::kNone;
  session::Members members;  ///< as committed, as this replica knows it; none while they change
  std::uint64_t worker_pid = 0;
  CommitId shown;         ///< `last` when the worker's variables are those of head, else none
  bool complete = false;  ///< all chunks that the session's values refer to are on this host's disk
  ExecutionId newest;     ///< the last cell that it knows of: bids for, runs, or saw end
  bool suspended = false;
  std::optional<ViewBuilt> built;  ///< the last one that took a while
  std::optional<ViewProgress> building;
  std::uint64_t amended = 0;  ///< with `last`: whether the session went on, also by an undo or a tag
  std::uint64_t lacking = 0;  ///< chunks of an import that this host has yet to read or to be sent
  std::uint64_t lost = 0;     ///< such that are nowhere any more
  Founding founding = {};
  bool works = false;  ///< the executor's process does something in the background (Session::work)
  std::uint64_t members_wish = 0;    ///< ChangeMembers::wish of the change that made `members`
  std::set<DeviceId> devices = {};   ///< bound to the session's cell on this host
  std::uint64_t pending_bytes = 0;   ///< of values that its cells made, and that no majority has stored yet
  std::uint64_t captured_bytes = 0;  ///< the part of these that is only in this host's memory
  std::int64_t pending_for_s = 0;    ///< for how long the oldest of them is
  /// Predicted: until another host could run its cells if a replica moved there; 0: not known.
  std::int64_t move_us = 0;
};

using cluster::KernelReport;
using cluster::KernelState;

/// Sent at start, on each change of a replica (only the changed ones) and whole at each ReportAll.
struct HostReport {
  std::uint64_t cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t gpus = 0;            ///< how many of `devices` there are, for gateways of earlier versions
  std::uint64_t resident_bytes = 0;  ///< of the host agent itself
  bool whole = false;
  std::vector<ReplicaReport> replicas;
  std::vector<SessionId> closed;  ///< replicas that are gone
  std::string store;              ///< the data store that it reads chunks from; empty for none
  /// All that it can or could run. None: a host of an earlier version, which runs the default kernel.
  std::vector<KernelReport> kernels;
  bool takes_addresses = false;  ///< it understands PeerAddresses, as hosts of earlier versions do not
  std::vector<cluster::Device> devices;
};

/// A message of the kernel for clients. `seq` counts the outputs of one execution from 1; 0: not part of one.
struct FromKernel {
  SessionId session;
  ExecutionId execution;
  std::uint64_t seq = 0;
  jupyter::Message message;
};

/// How an accepted cell ended, committed. Follows its last output. `reply` is the execute_reply to send.
struct ExecutionEnded {
  SessionId session;
  ExecutionId execution;
  session::Status status = session::Status::kOk;
  std::uint64_t outputs = 0;  ///< how many outputs (seq) came before
  jupyter::Message reply;
  std::string reason;  ///< for a person, when the status is lost or aborted
  std::uint64_t execution_count = 0;
  CommitId commit;
};

/// This replica does not start the cell now: it lost the election or yielded. The gateway may ask another.
struct ExecutionDeclined {
  SessionId session;
  ExecutionId execution;
  std::string reason;
  bool busy = false;  ///< other cells have the devices that this one needs
};

/// The restart with this number is committed: the session is empty.
struct Restarted {
  SessionId session;
  std::uint64_t request = 0;
};

// ---- host to host
// ---------------------------------------------------------------------------------------------------

/// A part of a chunk on its way to a replica that needs it, or to the gateway. Parts come in order.
struct ChunkPart {
  SessionId session;
  Digest digest;
  std::uint64_t size = 0;  ///< of the whole chunk; 0, to the gateway: it is not here
  std::uint64_t offset = 0;
  Blob bytes;
  ExecutionId execution;  ///< whose commit will refer to it; none when a commit does
};

/// The chunk is on disk here.
struct ChunkStored {
  SessionId session;
  Digest digest;
};

/// Send me this chunk.
struct ChunkWanted {
  SessionId session;
  Digest digest;
  bool says_lacking = false;  ///< answer ChunkLacking when it is not there: earlier versions do not know that
  bool asks_only = false;     ///< answer ChunkStored when it is there, and do not send it: the same
};

/// I do not have that chunk, which you want.
struct ChunkLacking {
  SessionId session;
  Digest digest;
};

// ---- questions about a session's history (core/session/history.h)
// ------------------------------------------------------------------------------------------------------

/// Gateway to host. A question that changes something is answered when that is committed.
struct AskSession {
  SessionId session;
  std::string request;   ///< distinguishes questions
  std::string question;  ///< session::Question as its JSON text
};

/// Host to gateway.
struct SessionAnswer {
  SessionId session;
  std::string request;
  std::string content;  ///< a JSON object
  std::optional<ErrorKind> refused;
  std::string reason;  ///< when refused
};

/// Gateway to host: the state of another session for one in which nothing has run. Its chunks came before, as
/// ChunkParts of the execution `request`. Answered by SessionAnswer.
struct ImportSession {
  SessionId session;
  std::string request;
  Blob snapshot;
};

/// Leader to followers: its group hibernates, if it is at rest there too. Heartbeats end.
struct Hibernate {
  SessionId session;
  raft::Term term;
  raft::Index last;
};

/// Everything that travels on a link. Append only.
using PeerMessage =
    std::variant<OpenReplica, CloseReplica, Execute, ToKernel, Interrupt, Restart, ChangeMembers,
                 OutputDelivered, ReportAll, HostReport, FromKernel, ExecutionEnded, ExecutionDeclined,
                 Restarted, ChunkPart, ChunkStored, ChunkWanted, AskSession, SessionAnswer, ImportSession,
                 Hibernate, PeerAddresses, ChunkLacking>;

/// One numbered message of a link.
struct Numbered {
  std::uint64_t seq = 0;
  PeerMessage message;
};

/// Reliable, ordered traffic between two lives of two daemons.
struct LinkFrame {
  Incarnation from;
  Incarnation to;         ///< 0: not known yet
  std::uint64_t ack = 0;  ///< all messages up to here have arrived
  std::vector<Numbered> messages;
  std::uint64_t ask = 0;     ///< not 0: whoever lives puts it into the next frame's `answer`
  std::uint64_t answer = 0;  ///< the `ask` of a frame that has just arrived
};

/// Raft messages of many groups for one peer.
struct RaftFrame {
  struct Item {
    SessionId session;
    raft::Message message;
  };
  std::vector<Item> items;
};

/// What one peer sends another at once.
using PeerFrame = std::variant<LinkFrame, RaftFrame>;

}  // namespace banyan::node
