#include "node/replica_chunks.h"

#include <utility>

#include "base/find.h"

namespace banyan::node {

void ReplicaChunks::on_values_moved(const session::ValuesMoved& event) {
  parts_.sync.follow(event, *core_.session);
  for (const Digest& digest : event.wanted)  // that another value had, too
    if (core_.session->chunks().contains(digest) && !parts_.sync.is_missing(digest)) tell_executor(digest);
  for (const Digest& digest : event.dropped) parts_.pending.look_at(digest, *core_.session);
}

/// It knows who has what its cells make. Of what was made before it was the executor, and in an earlier life,
/// it finds out.
void ReplicaChunks::look_at_executor() {
  const bool executes = core_.session->executor() == core_.id;
  if (std::exchange(executes_, executes) == executes) return;
  parts_.pending.clear();
  if (counts_pending()) parts_.pending.add_all(*core_.session);
  parts_.pending.look_at_all(*core_.session);
  core_.report_soon();
}

bool ReplicaChunks::counts_pending() const {
  return executes_ && core_.session->spec().durability != session::Durability::kSync;
}

void ReplicaChunks::on_ended_elsewhere(const session::CellEnded& event) {
  if (!counts_pending()) return;
  for (const auto& [name, version] : event.change.bound)
    if (const auto* const value = find_in(core_.session->co_variables(), version))
      parts_.pending.add_old(*value);
  parts_.pending.look_at_all(*core_.session);
}

void ReplicaChunks::on_made_again(const std::vector<session::Chunk>& blocks) {
  for (const session::Chunk& block : blocks) {
    if (!core_.session || !parts_.sync.is_missing(block.digest)) continue;
    parts_.chunks.capture(block.digest, *block.bytes);
    made_again_.insert(block.digest);
    if (counts_pending()) parts_.pending.add({}, block.digest, block.size, true);
  }
}

void ReplicaChunks::tick() {
  if (!core_.session) return;
  if (!parts_.pending.empty())
    for (const Digest& digest : parts_.sync.lost())
      if (parts_.chunks.captured(digest) == nullptr) parts_.pending.forget(digest);  // else it was made again
  for (const auto& [host, digest] : parts_.pending.to_ask(*core_.session))
    core_.host.send(host, ChunkWanted{.session = core_.session_id, .digest = digest, .asks_only = true});
}

void ReplicaChunks::hold(const ExecutionId& execution, const Digest& digest) {
  if (core_.session && core_.session->find(execution) != nullptr) return;
  parts_.sync.held().add(execution, digest);
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
  const bool was_nowhere = made_again_.erase(digest) > 0 || parts_.sync.lost().contains(digest);
  const bool was_missing = parts_.sync.on_durable(digest);
  if (core_.session) parts_.pending.look_at(digest, *core_.session);
  if (was_missing) was_nowhere ? tell_members(digest) : tell_executor(digest);
  if (CellRun* const cell = parts_.cells.cell(); cell != nullptr && core_.session)
    cell->ending.propose_if_safe(*core_.session);
  if (was_missing && parts_.sync.lacking() == 0) core_.report_soon();
  // Of many chunks not each one is a reason to look at all that are missing: a tick will do.
  if (was_missing && core_.session && parts_.sync.has_room(parts_.view.of_chunks()))
    parts_.sync.fetch(parts_.view.of_chunks());
  if (parts_.sync.lacks_few()) parts_.view.sync();
}

/// Whoever made the value counts where it is, also where the chunk came from another host.
void ReplicaChunks::tell_executor(const Digest& digest) {
  if (!core_.session || core_.session->spec().durability == session::Durability::kSync) return;
  const auto& members = core_.session->members();
  if (const auto executor = members.find(core_.session->executor()); executor != members.end())
    core_.host.send(executor->second, ChunkStored{core_.session_id, digest});
}

/// Others have given it up, too, and ask for it only now and then.
void ReplicaChunks::tell_members(const Digest& digest) {
  if (!core_.session) return;
  for (const auto& [replica, host] : core_.session->members())
    core_.host.send(host, ChunkStored{core_.session_id, digest});
}

bool ReplicaChunks::on_read(const Digest& digest, const std::optional<Blob>& bytes) {
  if (!parts_.sync.on_read(digest) || !core_.session) return false;
  parts_.pending.look_at(digest, *core_.session);
  if (!bytes) {
    parts_.sync.on_not_found(digest, parts_.view.of_chunks());
  } else if (parts_.worker.is_ready() && !parts_.cells.is_worker_at_head()) {
    parts_.sync.load(digest, *bytes);
    if (!parts_.sync.is_reading()) parts_.view.sync();
  }
  return true;
}

void ReplicaChunks::on_stored_by(const HostId& peer, const Digest& digest) {
  if (!core_.session) return;
  parts_.sync.on_stored(peer, digest);
  parts_.pending.on_stored(*core_.session, peer, digest);
  if (CellRun* const cell = parts_.cells.cell(); cell != nullptr)
    cell->ending.on_chunk_stored(peer, digest, *core_.session);
}

void ReplicaChunks::on_lacked_by(const HostId& peer, const Digest& digest) {
  if (!core_.session) return;
  parts_.sync.on_lacked(peer, digest, parts_.view.of_chunks());
  if (parts_.sync.has_room(parts_.view.of_chunks())) parts_.sync.fetch(parts_.view.of_chunks());
}

void ReplicaChunks::on_peer_restarted(const HostId& peer) {
  parts_.sync.on_peer_restarted();
  if (CellRun* const cell = parts_.cells.cell(); cell != nullptr && core_.session)
    cell->ending.on_peer_restarted(peer, *core_.session);
}

}  // namespace banyan::node
