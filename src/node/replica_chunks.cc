// What happens to chunks, as it concerns the replica's other parts: its view, and the commit of its cell.

#include <algorithm>

#include "node/replica.h"

namespace banyan::node {

ChunkSync::Standing Replica::standing() const {
  return {.session = *session_,
          .self = id_,
          .leader = log_.leader(),
          .leaders_host = log_.host_of(log_.leader()),
          .peers = log_.peers(),
          .has_lead = cell_ && cell_->has_started(),
          .builds = build_.under_way(),
          .view_is_awaited = build_.is_young() && runs_cells()};
}

void Replica::happened(const session::ValuesMoved& event) { chunk_sync_.follow(event, *session_); }

void Replica::hold_chunk(const ExecutionId& execution, const Digest& digest) {
  if (session_ && session_->find(execution) != nullptr) return;
  chunk_sync_.hold(execution, digest);
}

void Replica::chunk_arrives(const ChunkPart& part) { chunk_sync_.on_part(part); }

void Replica::chunk_given() { gave_at_ = host_.now().mono; }

void Replica::chunk_fetched(const ChunkFetched& said) {
  if (session_) chunk_sync_.on_fetched(said, standing());
}

/// While a cell runs again, which may take long, the memory is the cell's.
void Replica::chunk_at_hand(const Digest& digest, const Blob& bytes) {
  if (worker_ && build_.under_way() && !worker_->view.is_repeating() && runs_cells())
    chunk_sync_.load_if_first(digest, bytes);
}

void Replica::chunk_read(const Digest& digest, const std::optional<Blob>& bytes) {
  if (!chunk_sync_.on_read(digest) || !session_) return;
  if (!bytes) {
    chunk_sync_.on_not_found(digest, standing());
  } else if (worker_ && worker_->phase == WorkerPhase::kReady && !worker_at_head()) {
    chunk_sync_.load(digest, *bytes);
    if (!chunk_sync_.is_reading()) sync_view();
  }
  pump();
}

void Replica::chunk_durable(const Digest& digest) {
  const bool was_missing = chunk_sync_.on_durable(digest);
  if (cell_ && session_) cell_->ending.propose_if_safe(*session_);
  if (was_missing && chunk_sync_.has_all()) host_.report_soon(session_id_);
  // Of many chunks not each one is a reason to look at all that are missing: a tick will do.
  if (was_missing && session_ && chunk_sync_.has_room(standing())) chunk_sync_.fetch(standing());
  if (worker_ && session_ && chunk_sync_.lacks_few()) sync_view();
  pump();
}

}  // namespace banyan::node
