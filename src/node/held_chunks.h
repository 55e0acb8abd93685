// Chunks that have to stay on this host for the commit of a cell whose end is not known yet.
#pragma once

#include <map>
#include <set>

#include "core/session/session.h"
#include "node/host_chunks.h"

namespace banyan::node {

/// A chunk that is here for a coming commit counts as used until that cell's end is known, also where an
/// earlier commit that is applied meanwhile ends its other use.
class HeldChunks {
 public:
  /// It outlives this.
  explicit HeldChunks(HostChunks& chunks) : chunks_(chunks) {}

  void add(const ExecutionId& execution, const Digest& digest);
  void release(const ExecutionId& execution);
  /// Releases what is held for those cells whose end the session knows.
  void release_ended(const session::Session& session);
  void release_all();
  [[nodiscard]] bool empty() const { return held_.empty(); }

 private:
  HostChunks& chunks_;
  std::map<ExecutionId, std::set<Digest>> held_;
};

}  // namespace banyan::node
