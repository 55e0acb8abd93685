#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "blocks.h"
#include "memory.h"

namespace banyan {

/// The blocks of a pickle that is too long to be held while it is written. They are cut as it grows, and lie
/// in a Spool until this object is destroyed, except for those that are known already.
class Spill {
 public:
  /// Whether nobody will ask for the bytes of a block. It may throw.
  using Known = std::function<bool(const BlockDigest&)>;

  Spill(std::shared_ptr<Spool> spool, Known known) : spool_(std::move(spool)), known_(std::move(known)) {}
  ~Spill();
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  /// Takes the next blocks of the pickle, as far as `bytes` allow cutting them. Returns how many bytes they
  /// have. Throws std::system_error.
  std::size_t take(std::span<const std::byte> bytes, Blocks::End end);

  struct Placed {
    Block block;
    std::optional<std::size_t> at;  ///< The offset in the spool; none when the block was known.
  };
  [[nodiscard]] const std::vector<Placed>& blocks() const { return blocks_; }
  [[nodiscard]] const std::shared_ptr<Spool>& spool() const { return spool_; }

 private:
  std::shared_ptr<Spool> spool_;
  Known known_;
  std::vector<Placed> blocks_;
};

}  // namespace banyan
