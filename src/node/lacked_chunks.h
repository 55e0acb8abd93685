// What others have said that they do not have.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace banyan::node {

/// Which peers lack a chunk, and whether the data store does, as each of them said when it was asked.
class LackedChunks {
 public:
  void add(const HostId& peer, const Digest& digest) { by_peers_[digest].insert(peer); }
  /// The data store has not what was once there.
  void add_denied(const Digest& digest) { denied_.insert(digest); }
  /// The chunk is here, or is not needed any more.
  void forget(const Digest& digest);
  /// The peer has it now.
  void forget(const HostId& peer, const Digest& digest);
  /// What peers have said: it may have changed.
  void forget_peers() { by_peers_.clear(); }

  [[nodiscard]] bool empty() const { return by_peers_.empty() && denied_.empty(); }
  [[nodiscard]] bool is_denied(const Digest& digest) const { return denied_.contains(digest); }
  [[nodiscard]] bool is_lacked(const Digest& digest) const { return by_peers_.contains(digest); }
  /// Some peer has said so, and all of these have.
  [[nodiscard]] bool is_lacked_by_all(const std::vector<HostId>& peers, const Digest& digest) const;
  [[nodiscard]] const std::set<Digest>& denied() const { return denied_; }
  [[nodiscard]] const std::map<Digest, std::set<HostId>>& by_peers() const { return by_peers_; }
  /// Those of `peers` that have not said that they lack it.
  [[nodiscard]] std::vector<HostId> may_have(const Digest& digest, const std::vector<HostId>& peers) const;

 private:
  std::map<Digest, std::set<HostId>> by_peers_;
  std::set<Digest> denied_;
};

}  // namespace banyan::node
