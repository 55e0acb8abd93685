// Chunks that a replica has asked this host's disk for.
#pragma once

#include <cstddef>
#include <map>

#include "node/host_chunks.h"

namespace banyan::node {

/// Which they are, and whether somebody waits for them: a standby takes what others leave of disk and
/// processor. Once its replica is the executor, it asks anew.
class ChunkReads {
 public:
  /// Outlives this.
  explicit ChunkReads(HostChunks& chunks) : chunks_(chunks) {}

  /// Asks for it, unless it is asked for. `awaited`: somebody waits.
  void ask(const Digest& digest, bool awaited);
  /// The disk has answered. False when it was not asked.
  bool on_answer(const Digest& digest) { return asked_.erase(digest) > 0; }
  [[nodiscard]] std::size_t size() const { return asked_.size(); }
  [[nodiscard]] bool empty() const { return asked_.empty(); }
  /// Nobody wants the answers any more.
  void clear() { asked_.clear(); }

 private:
  HostChunks& chunks_;
  std::map<Digest, bool> asked_;  ///< true: awaited
};

}  // namespace banyan::node
