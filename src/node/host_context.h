// What the replicas of a host share: the way out (links, Raft frames, one disk), the chunks, fresh ids.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/planner/choice.h"
#include "core/planner/speeds.h"
#include "core/raft/output.h"
#include "node/host_events.h"
#include "node/host_node.h"
#include "node/link.h"
#include "node/timing.h"

namespace banyan::node {

/// The name under which a data store is one more peer that has chunks.
inline const HostId kDataStore{"data store"};

/// A write that became durable.
struct Durable {
  SessionId session;
  raft::WriteToken token;
};

/// Collects the effects of one step. Writes of all replicas go out as one batch (group commit), Raft messages
/// for one peer as one frame (coalesced heartbeats).
class HostContext {
 public:
  HostContext(const HostConfig& config, Incarnation life, std::uint64_t seed);

  void emit(HostEffect effect) { effects_.push_back(std::move(effect)); }
  void log(Log::Level level, std::string text) { emit(Log{level, std::move(text)}); }
  /// Sends reliably; to this host itself, and to a data store, it is dropped.
  void send(const HostId& to, PeerMessage message);
  void send_raft(const HostId& to, const SessionId& session, raft::Message message);
  Link& link(const HostId& peer);
  /// So much waits to be taken by that peer that more of what can wait should stay where it is.
  [[nodiscard]] bool backlogged(const HostId& peer) const;
  [[nodiscard]] const std::map<HostId, Link>& links() const { return links_; }

  /// Queues a replica's write; persisted() reports it with its token.
  void persist(const SessionId& session, raft::Persist write);
  void write(DiskWrite write);
  /// What a new replica begins with was queued; persisted() names its session.
  void birth(const SessionId& session) { landing_.births.push_back(session); }
  /// Takes the session's replica from the disk. Of its writes that are on their way nothing is reported: a
  /// later replica of the session counts its own from 1.
  void drop_replica(const SessionId& session);
  /// The writes up to `token` are durable: those of replicas, chunks, and what new replicas begin with.
  struct Landed {
    std::vector<Durable> writes;
    std::vector<Digest> chunks;
    std::vector<SessionId> births;
  };
  Landed persisted(std::uint64_t token);

  // Chunks.
  [[nodiscard]] bool chunk_durable(const Digest& digest) const { return durable_chunks_.contains(digest); }
  /// From an earlier life: those that nothing uses leave the disk like any other, from when all that uses
  /// them is known.
  void chunks_found(const std::vector<Digest>& digests);
  void uses_known();
  /// Stores a chunk unless it is there.
  void put_chunk(const Digest& digest, const Blob& bytes);
  /// Counts a use of the chunk by a session. A chunk without uses stays on the disk for a while: a replica
  /// that replays its log passes states that do not use what the last one does.
  void use_chunk(const Digest& digest);
  void unuse_chunk(const Digest& digest);
  void drop_unused_chunks();
  /// Asks the disk once; the answer comes as ChunkRead.
  void read_chunk(const Digest& digest);
  /// `bytes`: how many were read; nothing when it was not found. False when a chunk that was there is lost or
  /// damaged.
  bool chunk_read(const Digest& digest, std::optional<std::uint64_t> bytes);
  /// Asks the data store, if it is not asked already; the answer comes as ChunkFetched.
  void fetch_chunk(const Digest& digest, const session::Elsewhere& there);
  [[nodiscard]] bool fetching(const Digest& digest) const { return fetching_chunks_.contains(digest); }
  void chunk_fetched(const ChunkFetched& said);
  /// Whether there is a data store to ask, and it was not silent just now.
  [[nodiscard]] bool store_answers() const;
  [[nodiscard]] bool has_store() const { return has_store_; }
  /// A replica has asked a peer for it.
  void chunk_asked(const HostId& peer, const Digest& digest);
  /// Of peers, by all replicas, and may still come.
  [[nodiscard]] std::size_t chunks_asked() const;
  /// A peer has sent it, and it is stored.
  void chunk_came(const HostId& peer, const Digest& digest, std::uint64_t bytes);
  /// What was learned of how long things take here.
  planner::Speeds& speeds() { return speeds_; }
  /// From an earlier life, as keep_speeds wrote it.
  void recall_speeds(const std::string& record);
  /// On the disk, now and then, when there is something new.
  void keep_speeds();
  [[nodiscard]] planner::Strategy plan() const { return plan_; }
  [[nodiscard]] std::uint64_t gpus() const { return gpus_; }
  /// Reads the chunks one after another, again and again, a little at a time: what is damaged is found before
  /// it is needed.
  void scrub();

  /// Whether the peer is there, as far as is known: its connection is up, or it was heard since that broke.
  void set_reachable(const HostId& peer, bool reachable);
  [[nodiscard]] bool reachable(const HostId& peer) const { return !unreachable_.contains(peer); }

  [[nodiscard]] WorkerId fresh_worker() { return {++last_worker_}; }
  Rng& rng() { return rng_; }
  [[nodiscard]] Incarnation life() const { return life_; }
  [[nodiscard]] const HostId& id() const { return id_; }
  [[nodiscard]] const Timing& timing() const { return timing_; }
  [[nodiscard]] const Sizes& sizes() const { return sizes_; }
  [[nodiscard]] const Now& now() const { return now_; }
  void set_now(const Now& now) { now_ = now; }
  /// A message of the kernel's own making for `session`.
  jupyter::Author author(const SessionId& session) { return {session.value, rng_.uuid(), now_.wall}; }

  /// The gateway may wait for what a replica reports: it is told with this step, not with the next tick.
  void report_soon(const SessionId& session) { to_report_.insert(session); }
  /// Those sessions, once.
  std::set<SessionId> take_to_report() { return std::exchange(to_report_, {}); }

  /// Ends the step: everything that was collected.
  std::vector<HostEffect> finish();

 private:
  struct Batch {
    std::uint64_t token = 0;
    Landed landed;
  };

  HostId id_;
  Incarnation life_;
  Rng rng_;
  Timing timing_;
  Sizes sizes_;
  Now now_;
  std::vector<HostEffect> effects_;
  std::set<SessionId> to_report_;
  std::map<HostId, Link> links_;
  std::map<HostId, RaftFrame> raft_out_;
  std::vector<DiskWrite> writes_;
  Landed landing_;  // what writes_ will report
  bool sync_wanted_ = false;
  std::optional<Time> lazy_since_;
  std::uint64_t last_token_ = 0;
  std::vector<Batch> in_flight_;
  std::uint64_t last_worker_ = 0;
  std::set<Digest> durable_chunks_;
  std::set<Digest> writing_chunks_;
  std::set<Digest> reading_chunks_;
  std::set<Digest> fetching_chunks_;
  bool has_store_;
  std::optional<Time> store_silent_at_;
  std::map<Digest, std::uint64_t> chunk_uses_;
  std::map<Digest, Time> unused_since_;
  std::set<Digest> found_chunks_;  ///< of an earlier life; nothing has used them yet
  std::set<HostId> unreachable_;
  planner::Strategy plan_;
  std::uint64_t gpus_;
  planner::Speeds speeds_;
  std::uint64_t speeds_kept_ = 0;  ///< samples when they were
  std::optional<Time> keep_speeds_at_;
  /// Chunks on their way from one place.
  struct Flow {
    Time since;  ///< its bytes are counted
    Time last;   ///< it was asked, or sent something
    std::uint64_t bytes = 0;
    std::set<Digest> asked;
  };
  std::map<HostId, Flow> flows_;
  Time reading_since_;
  std::uint64_t read_bytes_ = 0;
  Digest scrubbed_;  ///< the last one
  std::optional<Time> scrub_at_;
};

}  // namespace banyan::node
