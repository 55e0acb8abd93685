#include "node/held_chunks.h"

namespace banyan::node {

void HeldChunks::add(const ExecutionId& execution, const Digest& digest) {
  if (held_[execution].insert(digest).second) chunks_.use(digest);
}

void HeldChunks::release(const ExecutionId& execution) {
  const auto held = held_.find(execution);
  if (held == held_.end()) return;
  for (const Digest& digest : held->second) chunks_.unuse(digest);
  held_.erase(held);
}

void HeldChunks::release_ended(const session::Session& session) {
  for (auto it = held_.begin(); it != held_.end();) {
    const auto held = it++;
    if (session.find(held->first) != nullptr) release(held->first);
  }
}

void HeldChunks::release_all() {
  while (!held_.empty()) release(ExecutionId(held_.begin()->first));
}

}  // namespace banyan::node
