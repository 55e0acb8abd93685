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

/// Values are cut into blocks so that a small change stores and sends little. Memory (arrays) at fixed
/// multiples; a pickle, in which an insertion moves what follows, where its content says so (a gear hash as
/// in FastCDC, Xia et al. 2016).
class Blocks {
 public:
  static constexpr std::size_t kSize = std::size_t{256} << 10;

  /// The block that some memory is stored as. May throw: the memory is then asked for again.
  using Reader = std::function<Block(std::span<const std::byte>)>;
  /// How memory is cut: so many bytes of it become one block, as they are or in another form.
  struct Cut {
    std::size_t unit = kSize;
    bool other_form = false;
    friend bool operator==(const Cut&, const Cut&) = default;
  };

  /// Of a pickle: a quarter of kSize to four times kSize each.
  static std::vector<Block> of_pickle(std::span<const std::byte> bytes);
  /// Whether a pickle ends with some bytes.
  enum class End : std::uint8_t { kHere, kLater };
  /// The size of the first block of a pickle that goes on with `bytes`. 0 when that depends on what follows.
  static std::size_t first_of_pickle(std::span<const std::byte> bytes, End end) {
    return end == End::kLater && bytes.size() < 4 * kSize ? 0 : next_cut(bytes);
  }
  /// Of memory, remembering what it was: of large buffers only what was written since is read again, where
  /// the kernel tells (WriteTracker). The buffer may be written meanwhile: then the next call sees it.
  std::vector<Block> of_memory(std::span<const std::byte> bytes) { return of_memory(bytes, {}, as_it_is); }
  /// The same where the memory is stored in another form: `reader` says how, for one unit of it at most.
  std::vector<Block> of_memory(std::span<const std::byte> bytes, const Cut& cut, const Reader& reader);

  /// Whether what `of_memory` said of a buffer of this size is remembered: below, reading costs less.
  static bool remembers(std::size_t size, const Cut& cut) {
    return size >= (cut.other_form ? kOtherFormMin : kRememberedMin);
  }
  /// What it said last of the buffer that begins at `address`, as far as it is remembered.
  [[nodiscard]] std::span<const Block> remembered(std::uintptr_t address) const;
  /// Remembers what was just written to a buffer, so that it is not read again; `blocks` as `of_memory` would
  /// say. Not where its writers cannot be watched.
  void remember(std::span<const std::byte> bytes, const Cut& cut, std::vector<Block> blocks);
  /// The buffer at `address` is another one now.
  void forget(std::uintptr_t address);

 private:
  static constexpr std::size_t kRememberedMin = std::size_t{1} << 20;
  static constexpr std::size_t kOtherFormMin = std::size_t{1} << 16;  ///< to put it into that takes longer
  struct Known {
    std::size_t size = 0;
    Cut cut;
    std::vector<Block> blocks;
    std::vector<bool> stale;  ///< blocks to be read again
    BlockDigest head = {};    ///< of what lies before the first whole page
    BlockDigest tail = {};    ///< of what lies after the last one
    bool read = false;        ///< `blocks` are those of an earlier look
    bool watched = false;
    int quiet = 0;           ///< looks in succession that found nothing new
    std::uint64_t used = 0;  ///< when it was asked for last

    /// The blocks from that byte on are to be read again.
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

/// The blocks of this process's memory, for whoever holds the mutex: memory can be watched by one only, and
/// who has it changes.
struct SharedBlocks {
  std::recursive_mutex mutex;  // encoding an object may run a finaliser
  Blocks blocks;

  static SharedBlocks& get();
};

/// The digest of some bytes.
BlockDigest digest_of(std::span<const std::byte> bytes);

}  // namespace banyan
