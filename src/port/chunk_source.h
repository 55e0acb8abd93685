// Where a host reads chunks besides its own disk and its peers: a data store.
#pragma once

#include <functional>

#include "node/host_events.h"

namespace banyan::port {

/// Reads only. Callbacks run on the owner's thread, never inside the call; each call ends within a bounded
/// time, whatever the store does.
class ChunkSource {
 public:
  virtual ~ChunkSource() = default;
  /// Denied is a key that is not there, and one with other bytes than those of the digest and SHA-256.
  virtual void fetch(node::FetchChunk wanted, std::function<void(node::ChunkFetched)> done) = 0;
};

}  // namespace banyan::port
