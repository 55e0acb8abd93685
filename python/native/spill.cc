#include "spill.h"

namespace banyan {

Spill::~Spill() {
  for (const auto& [block, at] : blocks_)
    if (at) spool_->drop(*at, block.size);
}

std::size_t Spill::take(std::span<const std::byte> bytes, Blocks::End end) {
  std::vector<std::span<const std::byte>> news;
  const std::size_t before = blocks_.size();
  std::size_t taken = 0;
  std::size_t at = spool_->end();
  try {
    while (taken < bytes.size()) {
      const auto rest = bytes.subspan(taken);
      const auto block = rest.first(Blocks::first_of_pickle(rest, end));
      if (block.empty()) break;
      taken += block.size();
      const auto& [is, place] = blocks_.emplace_back(Block{digest_of(block), block.size()}, std::nullopt);
      if (known_(is.digest)) continue;
      news.push_back(block);
      blocks_.back().at = at;
      at += (block.size() + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
    }
    if (!news.empty()) spool_->add(news);
  } catch (...) {
    blocks_.resize(before);
    throw;
  }
  return taken;
}

}  // namespace banyan
