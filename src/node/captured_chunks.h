// Chunks of large values that are in this host's memory, on their way to its disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace banyan::node {

/// The first step of a large value: its cell has ended, later cells may write on, and its bytes are here
/// (docs/internals/glossary.md, "captured"). They go to the disk oldest first and a little at a time, so that
/// what is superseded meanwhile is never written.
class CapturedChunks {
 public:
  /// At most `at_once` bytes are on their way to the disk at a time, or one chunk.
  explicit CapturedChunks(std::uint64_t at_once) : at_once_(at_once) {}

  /// Keeps the chunk until on_landed() or drop().
  void add(const Digest& digest, const Blob& bytes);
  /// Its bytes; nullptr when they are not here.
  [[nodiscard]] const Blob* find(const Digest& digest) const;
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Those whose turn it is: the caller writes them now. It is asked again when something has landed or was
  /// added.
  std::vector<Digest> take_due();
  /// It is on the disk.
  void on_landed(const Digest& digest) { drop(digest); }
  /// Nothing refers to the chunk any more: where it has not been written yet, it never is.
  void drop(const Digest& digest);

 private:
  struct Kept {
    Blob bytes;
    bool under_way = false;
  };

  const std::uint64_t at_once_;
  std::map<Digest, Kept> chunks_;
  std::deque<Digest> order_;  ///< those that are not under way, oldest first; some were dropped since
  std::uint64_t bytes_ = 0;
  std::uint64_t under_way_ = 0;  ///< bytes
};

}  // namespace banyan::node
