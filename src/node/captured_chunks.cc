#include "node/captured_chunks.h"

namespace banyan::node {

void CapturedChunks::add(const Digest& digest, const Blob& bytes) {
  if (!chunks_.emplace(digest, Kept{.bytes = bytes}).second) return;
  bytes_ += bytes.size();
  order_.push_back(digest);
}

const Blob* CapturedChunks::find(const Digest& digest) const {
  const auto found = chunks_.find(digest);
  return found != chunks_.end() ? &found->second.bytes : nullptr;
}

std::vector<Digest> CapturedChunks::take_due() {
  std::vector<Digest> due;
  while (!order_.empty()) {
    const auto found = chunks_.find(order_.front());
    if (found == chunks_.end() || found->second.under_way) {
      order_.pop_front();
      continue;
    }
    const std::uint64_t size = found->second.bytes.size();
    if (under_way_ > 0 && under_way_ + size > at_once_) break;
    found->second.under_way = true;
    under_way_ += size;
    due.push_back(found->first);
    order_.pop_front();
  }
  return due;
}

void CapturedChunks::drop(const Digest& digest) {
  const auto found = chunks_.find(digest);
  if (found == chunks_.end()) return;
  bytes_ -= found->second.bytes.size();
  if (found->second.under_way) under_way_ -= found->second.bytes.size();
  chunks_.erase(found);
}

}  // namespace banyan::node
