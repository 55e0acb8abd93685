#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "write_tracker.h"

namespace banyan {

/// XXH3-128 of some bytes: their content address, as the host agents use it.
struct BlockDigest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// 32 lower-case hex digits.
  [[nodiscard]] std::string hex() const;
  friend bool operator==(const BlockDigest&, const BlockDigest&) = default;
  struct Hash {
    std::size_t operator()(const BlockDigest& digest) const { return digest.low; }
  };
};

/// A part of a value, stored and sent as a whole.
struct Block {
  BlockDigest digest;
  std::size_t size = 0;
};

/// Cuts values into blocks, so that after a small change little has to be stored and sent. Memory (arrays) is
/// cut at fixed multiples. A pickle, in which an insertion moves what follows, is cut where its content says
/// so (by a gear hash as in FastCDC, Xia et al. 2016).
class Blocks {
 public:
  static constexpr std::size_t kSize = std::size_t{256} << 10;

  /// Makes the block that some memory is stored as. If it throws, the memory is read again at the next call.
  using Reader = std::function<Block(std::span<const std::byte>)>;
  /// How memory is cut: `unit` bytes of it become one block, as they are or in another form.
  struct Cut {
    std::size_t unit = kSize;
    bool other_form = false;
    friend bool operator==(const Cut&, const Cut&) = default;
  };

  /// The blocks of a pickle, each of a quarter of kSize to four times kSize, except that the last
  /// may be smaller.
  static std::vector<Block> of_pickle(std::span<const std::byte> bytes);
  /// Whether the pickle ends with the given bytes.
  enum class End : std::uint8_t { kHere, kLater };
  /// The size of the first block of the rest of a pickle, which begins with `bytes`. 0 when it depends on
  /// what follows.
  static std::size_t first_of_pickle(std::span<const std::byte> bytes, End end) {
    return end == End::kLater && bytes.size() < 4 * kSize ? 0 : next_cut(bytes);
  }
  /// The blocks of memory. Large buffers are remembered: if the kernel tells which pages were written since
  /// the last call (WriteTracker), only those are read again. If the buffer is written to during the call,
  /// the next call sees that.
  std::vector<Block> of_memory(std::span<const std::byte> bytes) { return of_memory(bytes, {}, as_it_is); }
  /// The same for memory that is stored in another form: `reader` makes it, for one unit of memory at most.
  std::vector<Block> of_memory(std::span<const std::byte> bytes, const Cut& cut, const Reader& reader);

  /// Whether what `of_memory` returned for a buffer of this size is remembered. Smaller ones are
  /// quicker to read.
  static bool remembers(std::size_t size, const Cut& cut) {
    return size >= (cut.other_form ? kOtherFormMin : kRememberedMin);
  }
  /// What `of_memory` returned last for the buffer that begins at `address`; empty if it is not remembered.
  [[nodiscard]] std::span<const Block> remembered(std::uintptr_t address) const;
  /// Remembers a buffer that was just filled, so that it is not read again. `blocks` are what `of_memory`
  /// would return. Does nothing if its pages cannot be watched.
  void remember(std::span<const std::byte> bytes, const Cut& cut, std::vector<Block> blocks);
  /// The buffer at `address` is another one now.
  void forget(std::uintptr_t address);

 private:
  static constexpr std::size_t kRememberedMin = std::size_t{1} << 20;
  /// Lower, because another form takes longer to make.
  static constexpr std::size_t kOtherFormMin = std::size_t{1} << 16;
  struct Known {
    std::size_t size = 0;
    Cut cut;
    std::vector<Block> blocks;
    std::vector<bool> stale;  ///< Blocks that have to be read again.
    BlockDigest head = {};    ///< Of what lies before the first whole page.
    BlockDigest tail = {};    ///< Of what lies after the last whole page.
    bool read = false;        ///< Whether `blocks` are those of an earlier look.
    bool watched = false;
    int quiet = 0;           ///< How many looks in succession found no change.
    std::uint64_t used = 0;  ///< The number of the look that used this last.

    /// The blocks from the one with this byte on have to be read again.
    void forget_from(std::size_t at) {
      std::fill(stale.begin() + static_cast<std::ptrdiff_t>(at / cut.unit), stale.end(), true);
    }
  };

  static std::size_t next_cut(std::span<const std::byte> bytes);
  Known& known(std::uintptr_t address, std::size_t size, const Cut& cut);
  void note_written(const Range& pages, Known& asked);
  static void look_at_ends(std::span<const std::byte> bytes, const Range& pages, Known& memory,
                           const Reader& reader);
  void forget(std::unordered_map<std::uintptr_t, Known>::iterator it);
  static void read(std::span<const std::byte> bytes, Known& known, const Reader& reader);
  static Block as_it_is(std::span<const std::byte> bytes);

  WriteTracker tracker_;
  std::unordered_map<std::uintptr_t, Known> known_;
  std::uint64_t looks_ = 0;
};

/// The blocks of this process's memory, for whoever holds the mutex. All share one object, because a page can
/// be watched by one WriteTracker only, and the memory at an address may be another buffer's later.
struct SharedBlocks {
  std::recursive_mutex mutex;  // Recursive, because encoding an object may run a finaliser.
  Blocks blocks;

  static SharedBlocks& get();
};

BlockDigest digest_of(std::span<const std::byte> bytes);

}  // namespace banyan
