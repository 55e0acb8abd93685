#include "node/lacked_chunks.h"

#include <algorithm>
#include <iterator>

namespace banyan::node {

void LackedChunks::forget(const Digest& digest) {
  by_peers_.erase(digest);
  denied_.erase(digest);
}

void LackedChunks::forget(const HostId& peer, const Digest& digest) {
  if (const auto lacked = by_peers_.find(digest); lacked != by_peers_.end()) lacked->second.erase(peer);
}

bool LackedChunks::is_lacked_by_all(const std::vector<HostId>& peers, const Digest& digest) const {
  const auto lacked = by_peers_.find(digest);
  return lacked != by_peers_.end() &&
         std::ranges::all_of(peers, [&](const HostId& peer) { return lacked->second.contains(peer); });
}

std::vector<HostId> LackedChunks::may_have(const Digest& digest, const std::vector<HostId>& peers) const {
  const auto lacked = by_peers_.find(digest);
  if (lacked == by_peers_.end()) return peers;
  std::vector<HostId> left;
  std::ranges::copy_if(peers, std::back_inserter(left),
                       [&](const HostId& peer) { return !lacked->second.contains(peer); });
  return left;
}

}  // namespace banyan::node
