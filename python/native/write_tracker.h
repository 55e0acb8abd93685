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

/// Tells which pages were written, by whomever, since the last call. It uses userfaultfd's asynchronous write
/// protection and PAGEMAP_SCAN (Linux 6.7 and later; Documentation/admin-guide/mm/userfaultfd.rst,
/// pagemap.rst). After each call, the first write to a page costs its writer a page fault (1 to 2 µs). It
/// needs no thread and no signal.
class WriteTracker {
 public:
  /// Watches nothing if the kernel does not offer this, or forbids it.
  WriteTracker();
  ~WriteTracker();
  WriteTracker(const WriteTracker&) = delete;
  WriteTracker& operator=(const WriteTracker&) = delete;

  /// Begins to watch whole pages; the next take_written returns all of them. False when that is not possible.
  bool watch(const Range& pages);
  void unwatch(const Range& pages);
  /// What was written since the last call, in order. None when the pages are not, or no longer, all watched:
  /// then anything may have been written.
  std::optional<std::vector<Range>> take_written(const Range& pages);

  /// The whole pages inside a range.
  static Range pages_in(const Range& bytes);

 private:
  [[nodiscard]] bool usable() const;

  int faults_ = -1;
  int pagemap_ = -1;
  /// A child that user code forks has the same descriptors, but they refer to its parent's memory.
  pid_t owner_;
};

}  // namespace banyan
