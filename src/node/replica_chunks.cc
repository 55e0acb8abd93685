#include "node/replica_chunks.h"

namespace banyan::node {

void ReplicaChunks::hold(const ExecutionId& execution, const Digest& digest) {
  if (core_.session && core_.session->find(execution) != nullptr) return;
  parts_.sync.hold(execution, digest);
}

void ReplicaChunks::on_fetched(const ChunkFetched& said) {
  if (core_.session) parts_.sync.on_fetched(said, parts_.view.of_chunks());
}

/// While a cell runs again, which may take long, the memory is the cell's.
void ReplicaChunks::on_at_hand(const Digest& digest, const Blob& bytes) {
  WorkerLife& worker = parts_.worker;
  if (worker.exists() && worker.build().under_way() && !worker.view().is_repeating() &&
      parts_.cells.runs_cells())
    parts_.sync.load_if_first(digest, bytes);
}

void ReplicaChunks::on_durable(const Digest& digest) {
  const bool was_missing = parts_.sync.on_durable(digest);
  if (CellRun* const cell = parts_.cells.cell(); cell != nullptr && core_.session)
    cell->ending.propose_if_safe(*core_.session);
  if (was_missing && parts_.sync.has_all()) core_.report_soon();
  // Of many chunks not each one is a reason to look at all that are missing: a tick will do.
  if (was_missing && core_.session && parts_.sync.has_room(parts_.view.of_chunks()))
    parts_.sync.fetch(parts_.view.of_chunks());
  if (parts_.sync.lacks_few()) parts_.view.sync();
}

bool ReplicaChunks::on_read(const Digest& digest, const std::optional<Blob>& bytes) {
  if (!parts_.sync.on_read(digest) || !core_.session) return false;
  if (!bytes) {
    parts_.sync.on_not_found(digest, parts_.view.of_chunks());
  } else if (parts_.worker.is_ready() && !parts_.cells.is_worker_at_head()) {
    parts_.sync.load(digest, *bytes);
    if (!parts_.sync.is_reading()) parts_.view.sync();
  }
  return true;
}

void ReplicaChunks::on_stored_by(const HostId& peer, const Digest& digest) {
  if (CellRun* const cell = parts_.cells.cell(); cell != nullptr && core_.session)
    cell->ending.on_chunk_stored(peer, digest, *core_.session);
}

void ReplicaChunks::on_peer_restarted(const HostId& peer) {
  if (CellRun* const cell = parts_.cells.cell(); cell != nullptr && core_.session)
    cell->ending.on_peer_restarted(peer, *core_.session);
}

}  // namespace banyan::node
