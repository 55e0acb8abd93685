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
#include "core/raft/output.h"
#include "node/host_devices.h"
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
  /// Queues a chunk; persisted() names it.
  void write_chunk(const Digest& digest, const Blob& bytes);
  /// Queues a chunk's end; persisted() names it.
  void drop_chunk(const Digest& digest);
  /// What a new replica begins with was queued; persisted() names its session.
  void birth(const SessionId& session) { landing_.births.push_back(session); }
  /// Takes the session's replica from the disk. Of its writes that are on their way nothing is reported: a
  /// later replica of the session counts its own from 1.
  void drop_replica(const SessionId& session);
  /// The writes up to `token` are durable: those of replicas, chunks that came and went, and what new
  /// replicas begin with.
  struct Landed {
    std::vector<Durable> writes;
    std::vector<Digest> chunks;
    std::vector<Digest> dropped;
    std::vector<SessionId> births;
  };
  Landed persisted(std::uint64_t token);

  [[nodiscard]] planner::Strategy plan() const { return plan_; }
  [[nodiscard]] HostDevices& devices() { return devices_; }
  [[nodiscard]] const HostDevices& devices() const { return devices_; }
  /// Whether the peer is there, as far as is known: its connection is up, or it was heard since that broke.
  void set_reachable(const HostId& peer, bool reachable);
  [[nodiscard]] bool reachable(const HostId& peer) const { return !unreachable_.contains(peer); }
  /// When the peer's link was heard last; nothing before that, and nothing when the peer is in another life
  /// than the one that is asked for.
  [[nodiscard]] std::optional<Time> heard_at(const HostId& peer, std::optional<Incarnation> life) const;

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
  void report_soon(const SessionId& session) { noticed_.to_report.insert(session); }
  /// Those sessions, once.
  std::set<SessionId> take_to_report() { return std::exchange(noticed_.to_report, {}); }

  /// Something happens in the replica of that session: its next tick looks at all of it, and not only at its
  /// log. What only may have changed something counts, too.
  void stir(const SessionId& session) { noticed_.astir.insert(session); }
  [[nodiscard]] bool is_astir(const SessionId& session) const { return noticed_.astir.contains(session); }
  [[nodiscard]] const std::set<SessionId>& astir() const { return noticed_.astir; }
  /// Those sessions, which are calm from here on.
  std::set<SessionId> take_astir() { return std::exchange(noticed_.astir, {}); }

  /// Ends the step: everything that was collected.
  std::vector<HostEffect> finish();

 private:
  /// The sessions in whose replicas something happens.
  struct Noticed {
    std::set<SessionId> astir;      ///< a whole tick is to look at it
    std::set<SessionId> to_report;  ///< the gateway is to hear of it with this step
  };
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
  Noticed noticed_;
  std::map<HostId, Link> links_;
  std::map<HostId, RaftFrame> raft_out_;
  std::vector<DiskWrite> writes_;
  Landed landing_;  // what writes_ will report
  bool sync_wanted_ = false;
  std::optional<Time> lazy_since_;
  std::uint64_t last_token_ = 0;
  std::vector<Batch> in_flight_;
  std::uint64_t last_worker_ = 0;
  std::set<HostId> unreachable_;
  planner::Strategy plan_;
  HostDevices devices_;
};

}  // namespace banyan::node
