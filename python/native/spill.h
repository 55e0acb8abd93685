#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "blocks.h"
#include "memory.h"

namespace banyan {

/// The blocks of a pickle that is too long to be held while it is written. They are cut as it grows, and lie
/// in a Spool until this is destroyed; those that are known already do not.
class Spill {
 public:
  explicit Spill(std::shared_ptr<Spool> spool) : spool_(std::move(spool)) {}
  ~Spill();
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  /// Nobody will ask for the bytes of such a block.
  void know(const BlockDigest& digest) { known_.insert(digest); }
  /// Takes the blocks that the pickle goes on with, as far as `bytes` say, of which `more` follow: how many
  /// bytes these have. Throws std::system_error.
  std::size_t take(std::span<const std::byte> bytes, bool more);

  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  /// Where a block lies in the spool; nothing of one that was known. Throws std::out_of_range.
  [[nodiscard]] std::optional<std::size_t> at(std::size_t index) const { return places_.at(index); }
  [[nodiscard]] const std::shared_ptr<Spool>& spool() const { return spool_; }

 private:
  std::shared_ptr<Spool> spool_;
  std::unordered_set<BlockDigest, BlockDigest::Hash> known_;
  std::vector<Block> blocks_;
  std::vector<std::optional<std::size_t>> places_;
};

}  // namespace banyan
