// Which chunks a replica needs, which of them are not on this disk, and from where these come.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/raft/raft.h"
#include "core/session/session.h"
#include "node/chunk_reads.h"
#include "node/held_chunks.h"
#include "node/host_chunks.h"
#include "node/host_context.h"
#include "node/host_speeds.h"
#include "node/lacked_chunks.h"

namespace banyan::node {

/// The chunks of one replica. It counts their uses at the host, asks for those that are missing, a few at a
/// time, and gathers the bytes of values that a worker is to load. It never calls its replica, which reports
/// each event to it and then reads the result.
class ChunkSync {
 public:
  /// How the replica stands: it decides from whom a chunk is asked, and how soon.
  struct Standing {
    const session::Session& session;
    ReplicaId self;
    ReplicaId leader;  ///< raft::kNobody while none is known
    HostId leaders_host;
    HostId executors_host;         ///< empty while there is none
    std::vector<HostId> peers;     ///< of members and of those that left, as far as they can be reached
    bool has_lead = false;         ///< it runs a cell, which may wait for its variables
    bool runs_cells = false;       ///< it is the executor, or is to be
    bool builds = false;           ///< its worker is being made a view
    bool view_is_awaited = false;  ///< a cell or a move waits for that, and has not waited for long
  };

  /// The first three outlive this.
  ChunkSync(HostContext& host, HostChunks& chunks, HostSpeeds& speeds, SessionId session);

  // What refers to chunks.
  /// Values came into the session or left it.
  void follow(const session::ValuesMoved& event, const session::Session& session);
  /// The session is another one: its chunks, and no others, are used from here on.
  void adopt(const session::Session& session);
  /// What is here for commits that are still to come.
  [[nodiscard]] HeldChunks& held() { return held_; }
  /// Ends all uses; the replica leaves this host.
  void close();
  /// Gives the uses to the caller: at the host they stay counted.
  std::set<Digest> hand_over() { return std::exchange(in_use_, {}); }

  // What is not here.
  [[nodiscard]] bool is_missing(const Digest& digest) const { return missing_.contains(digest); }
  /// Those that no member and no data store has.
  [[nodiscard]] const std::set<Digest>& lost() const { return lost_; }
  /// How many are missing and may still come: 0 when every chunk in use is durable here, but for those that
  /// are lost.
  [[nodiscard]] std::size_t lacking() const { return missing_.size() - lost_.size(); }
  /// So few are missing that each one that comes may complete the view.
  [[nodiscard]] bool lacks_few() const;
  /// Nothing is missing, held or being read.
  [[nodiscard]] bool at_rest() const { return lacking() == 0 && held_.empty() && reading_.empty(); }

  // Asking for it.
  /// Asks for what is due: the disk for what an earlier life may have left here, then peers or the data
  /// store.
  void fetch(const Standing& standing);
  /// Whether so many have come that fetch() may ask for more.
  [[nodiscard]] bool has_room(const Standing& standing) const;
  /// Whether the data store is asked before the peers. The leader does, so that it brings each chunk once and
  /// the others have it from there; a replica whose own cell waits does too.
  [[nodiscard]] bool asks_store_first(const Digest& digest, const Standing& standing) const;
  /// These are asked for before the others, as a view needs them.
  void want_first(const std::vector<session::Chunk>& blocks);
  void want_none_first() { wanted_first_.clear(); }

  // What has happened.
  /// A part of a chunk came: one that was asked for, or one for a coming commit.
  void on_part(const ChunkPart& part);
  /// The data store has answered.
  void on_fetched(const ChunkFetched& said, const Standing& standing);
  /// It is on the disk. True if it counted as missing until now.
  bool on_durable(const Digest& digest);
  /// The disk has answered. False when nothing here waits for that.
  bool on_read(const Digest& digest);
  /// A peer is another life than before: what it lacks may have come back, and what others have it may have
  /// lost. All of them are asked once more.
  void on_peer_restarted() { lacked_.forget_peers(); }
  /// A peer does not have the chunk that it was asked for.
  void on_lacked(const HostId& peer, const Digest& digest, const Standing& standing);
  /// A peer has it, perhaps again: whoever counts it as lost asks at once.
  void on_stored(const HostId& peer, const Digest& digest);
  /// The disk does not have the chunk that on_read() was about.
  void on_not_found(const Digest& digest, const Standing& standing);

  /// How long a view would wait for the chunk before it did without: nothing, unless every peer that can be
  /// asked has said that it lacks the chunk. One that is away may have it.
  [[nodiscard]] Duration left_to_wait(const Digest& digest, const Standing& standing) const;

  // Bytes for a view.
  /// What became of gathering a value: it is whole; all that lacks is being read from the disk; some is still
  /// on other hosts; some was given up.
  enum class Gathered : std::uint8_t { kWhole, kReading, kNotYet, kLost };
  /// `complete` becomes `value` with the bytes of its chunks, but for those in `has`, which the worker has
  /// already. Asks the disk for what is there.
  Gathered gather(const session::CoVariable& value, const std::set<Digest>& has, const Standing& standing,
                  session::CoVariable& complete);
  void load(const Digest& digest, const Blob& bytes) { loaded_[digest] = bytes; }
  /// Its bytes came just now, before they are on the disk: one that the view waits for is not read back.
  void load_if_first(const Digest& digest, const Blob& bytes);
  [[nodiscard]] bool is_loaded(const Digest& digest) const {
    return loaded_.contains(digest) || chunks_.captured(digest) != nullptr;
  }
  void unload(const std::vector<session::Chunk>& blocks);
  void unload_all() { loaded_.clear(); }
  [[nodiscard]] bool is_reading() const { return !reading_.empty(); }
  /// The worker that the bytes were for is gone.
  void worker_is_gone();

 private:
  /// A chunk that is not on this disk.
  struct Wanted {
    Time ask_at;                ///< the next peer
    std::optional<Time> asked;  ///< the first one, and later by what has passed without a leader
    /// Which peer that is: another one each time, also when chunks are asked for in step with each other.
    std::optional<std::uint64_t> turn = {};
    /// Takes the next turn; the first one from `turns`, which all chunks share.
    std::uint64_t next_turn(std::uint64_t& turns);
  };

  void use(const Digest& digest);
  void unuse(const Digest& digest);
  void note_place(const Digest& digest);
  void note_lost(const Standing& standing);
  [[nodiscard]] bool all_lack(const Digest& digest, const Standing& standing) const;
  void ask(const Digest& digest, Wanted& wanted, bool first, const Standing& standing);
  [[nodiscard]] bool in_store(const Digest& digest, const session::Session& session) const;
  [[nodiscard]] bool given_up(const Digest& digest, const Standing& standing) const;

  HostContext& host_;
  HostChunks& chunks_;
  HostSpeeds& speeds_;
  const SessionId session_id_;
  std::set<Digest> in_use_;
  HeldChunks held_;
  std::set<Digest> missing_;  ///< in use, and not durable here
  LackedChunks lacked_;       ///< by others, of missing_
  std::set<Digest> lost_;     ///< the part of missing_ that no member and no store has
  std::map<Digest, Wanted> wanted_;
  std::set<Digest> wanted_first_;
  Time looked_at_{};  ///< when fetch() did last
  Time beside_at_{};  ///< while a view is awaited: when chunks may be asked for next that it does not need
  ChunkReads reading_;
  std::map<Digest, Blob> loaded_;
  Time answered_at_;          ///< the last part of one that was asked for
  Time pushed_at_;            ///< the last part of one for a coming commit
  std::uint64_t turns_ = 0;   ///< where the next chunk begins: they begin at different peers
  std::size_t fetching_ = 0;  ///< requests without an answer, when fetch() looked last
};

}  // namespace banyan::node
