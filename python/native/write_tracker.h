#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace banyan {

/// Addresses [begin, end) of this process.
struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  [[nodiscard]] bool empty() const { return begin >= end; }
  [[nodiscard]] bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
};

/// Tells which pages were written, by whomever, since it was asked last: userfaultfd's asynchronous write
/// protection and PAGEMAP_SCAN (Linux 6.7 and later; Documentation/admin-guide/mm/userfaultfd.rst,
/// pagemap.rst). A first write to a page costs its writer a page fault (1 to 2 µs) after each question. No
/// thread, no signal.
class WriteTracker {
 public:
  /// Does not watch anything where the kernel does not offer it, or forbids it.
  WriteTracker();
  ~WriteTracker();
  WriteTracker(const WriteTracker&) = delete;
  WriteTracker& operator=(const WriteTracker&) = delete;

  /// Begins to watch whole pages: the next take_written names them all. False when that is not possible.
  bool watch(const Range& pages);
  void unwatch(const Range& pages);
  /// What was written since the last call, in order, and begins anew. Nothing when the pages are not (or no
  /// longer) watched as a whole: then anything may have been.
  std::optional<std::vector<Range>> take_written(const Range& pages);

  /// The whole pages inside.
  static Range pages_in(const Range& bytes);

 private:
  [[nodiscard]] bool usable() const;

  int faults_ = -1;
  int pagemap_ = -1;
  pid_t owner_;  ///< a child that user code forks has the descriptors, and they mean its parent's memory
};

}  // namespace banyan
