// Where a host reads chunks besides its own disk and its peers: a data store.
#pragma once

#include <functional>

#include "node/host_events.h"

namespace banyan::port {

/// Reads chunks and writes nothing. Callbacks run on the owner's thread, never inside the call. Each call
/// ends within a bounded time, whatever the store does.
class ChunkSource {
 public:
  virtual ~ChunkSource() = default;
  /// Fetches a chunk. It counts as denied when its key is not there, or has other bytes than the digest and
  /// the SHA-256 say.
  virtual void fetch(node::FetchChunk wanted, std::function<void(node::ChunkFetched)> done) = 0;
};

}  // namespace banyan::port
