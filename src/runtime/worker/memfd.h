// Memory behind file descriptors that processes share.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "runtime/fd/unique_fd.h"

namespace banyan::runtime {

/// Both ends of a Unix stream socket, close-on-exec.
Result<std::pair<UniqueFd, UniqueFd>> socket_pair();

/// Each blob of a memfd starts at a multiple of this.
inline constexpr std::size_t kBlobAlignment = 64;

/// Writes the blobs one after another, each at the next multiple of kBlobAlignment, and seals the memfd. It
/// copies every byte, so many bytes are not for the loop's thread.
Result<UniqueFd> write_sealed_memfd(std::span<const Blob> blobs);

/// Maps all bytes of another process's memfd, read-only and without a copy. kInvalid unless the memfd is
/// sealed against shrinking (reading a truncated mapping would be a SIGBUS here) and against writing (its
/// bytes could change after their digest was computed).
Result<Blob> map_sealed_memfd(int fd);

/// A page shared with a worker that holds the deadline of the executor lease (docs/internals/worker.md).
class LeasePage {
 public:
  static Result<LeasePage> create();

  /// Sets the deadline, a time on CLOCK_MONOTONIC; nothing means that no lease is needed.
  void set(std::optional<Time> deadline);
  /// The file descriptor for the worker: close-on-exec, valid as long as the page.
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  LeasePage(UniqueFd fd, std::shared_ptr<void> page) : fd_(std::move(fd)), page_(std::move(page)) {}

  UniqueFd fd_;
  std::shared_ptr<void> page_;
};

}  // namespace banyan::runtime
