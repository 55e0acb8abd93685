#include "spill.h"

namespace banyan {

Spill::~Spill() {
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    if (places_[i]) spool_->drop(*places_[i], blocks_[i].size);
}

std::size_t Spill::take(std::span<const std::byte> bytes, bool more) {
  std::vector<std::span<const std::byte>> news;
  std::vector<Block> blocks;
  std::vector<std::optional<std::size_t>> places;
  std::size_t taken = 0;
  std::size_t end = spool_->end();
  while (taken < bytes.size()) {
    const auto rest = bytes.subspan(taken);
    const auto block = rest.first(Blocks::first_of_pickle(rest, more));
    if (block.empty()) break;
    taken += block.size();
    blocks.push_back({digest_of(block), block.size()});
    if (known_.contains(blocks.back().digest)) {
      places.emplace_back();
    } else {
      places.emplace_back(end);
      news.push_back(block);
      end += (block.size() + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
    }
  }
  if (!news.empty()) spool_->add(news);
  blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
  places_.insert(places_.end(), places.begin(), places.end());
  return taken;
}

}  // namespace banyan
