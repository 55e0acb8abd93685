// The chunks of a replica, as they concern its cell and its view.
#pragma once

#include <optional>

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
    ChunkSync& sync;
    WorkerLife& worker;
    ReplicaCells& cells;
    ReplicaView& view;
  };
  explicit ReplicaChunks(const Parts& parts) : parts_(parts), core_(parts.core) {}

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

  // On others.
  /// It is durable there.
  void on_stored_by(const HostId& peer, const Digest& digest);
  /// The peer is another life than before: what was on its way there is lost.
  void on_peer_restarted(const HostId& peer);

 private:
  Parts parts_;
  ReplicaCore& core_;
};

}  // namespace banyan::node
