// The chunks of a replica, as they concern its cell and its view.
#pragma once

#include <optional>
#include <set>

#include "node/chunk_sync.h"
#include "node/replica_cells.h"
#include "node/replica_core.h"
#include "node/replica_view.h"
#include "node/worker_life.h"

namespace banyan::node {

/// Told of what happens to chunks on hosts; which ones the session uses, its log says. ChunkSync knows which
/// chunks are missing and asks for them; the cell that ends here waits for its chunks to be safe
/// (CellEnding); the view waits for those of its values.
class ReplicaChunks {
 public:
  /// What it stands on. These outlive it.
  struct Parts {
    ReplicaCore& core;
    HostChunks& chunks;
    ChunkSync& sync;
    PendingChunks& pending;
    WorkerLife& worker;
    ReplicaCells& cells;
    ReplicaView& view;
  };
  explicit ReplicaChunks(const Parts& parts) : parts_(parts), core_(parts.core) {}

  /// Values came into the session or left it.
  void on_values_moved(const session::ValuesMoved& event);
  /// Called after each command: the executor may be another one.
  void look_at_executor();
  /// A cell has ended that this life of the replica did not run.
  void on_ended_elsewhere(const session::CellEnded& event);
  /// Called often.
  void tick();

  // On its way to this host.
  /// A part of one has come: this host asked for it, or another one sends it ahead of a commit that refers to
  /// it.
  void on_part(const ChunkPart& part) { parts_.sync.on_part(part); }
  /// Keeps the chunk until the cell's end is known: it is for the commit of that cell.
  void hold(const ExecutionId& execution, const Digest& digest);
  /// The data store has answered.
  void on_fetched(const ChunkFetched& said);
  /// Its bytes are here and are being written to the disk. A view that waits may use them before.
  void on_at_hand(const Digest& digest, const Blob& bytes);

  // On this host.
  /// It is durable now.
  void on_durable(const Digest& digest);
  /// The disk has answered. False when nothing here waits for that.
  bool on_read(const Digest& digest, const std::optional<Blob>& bytes);

  /// Its cell has run again in this host's worker and has made it once more: it is stored, as if the cell had
  /// run for the first time.
  void on_made_again(const std::vector<session::Chunk>& blocks);

  // On others.
  /// It is durable there.
  void on_stored_by(const HostId& peer, const Digest& digest);
  /// It is not there.
  void on_lacked_by(const HostId& peer, const Digest& digest);
  /// The peer is another life than before: what was on its way there is lost.
  void on_peer_restarted(const HostId& peer);

 private:
  void tell_executor(const Digest& digest);
  void tell_members(const Digest& digest);
  [[nodiscard]] bool counts_pending() const;

  Parts parts_;
  ReplicaCore& core_;
  std::set<Digest> made_again_;  ///< on their way to the disk
  bool executes_ = false;        ///< this replica was the executor when that was looked at last
};

}  // namespace banyan::node
