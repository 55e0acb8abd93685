#include "raft/device.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace banyan::bench {

namespace {

constexpr std::size_t kBlock = 4096;

/// A file that the destructor removes.
class Scratch {
 public:
  explicit Scratch(const std::filesystem::path& directory)
      : path_(directory / "device"), fd_(open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {}
  ~Scratch() {
    if (fd_ >= 0) close(fd_);
    unlink(path_.c_str());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Writes block `number`, waits until it is durable, and returns the time in ns; 0 when that failed.
  [[nodiscard]] std::uint64_t write_block(std::uint64_t number) const {
    const std::string block(kBlock, static_cast<char>('a' + number % 26));
    const auto start = std::chrono::steady_clock::now();
    const bool written = pwrite(fd_, block.data(), kBlock, static_cast<off_t>(number * kBlock)) ==
                             static_cast<ssize_t>(kBlock) &&
                         fdatasync(fd_) == 0;
    const auto took = std::chrono::steady_clock::now() - start;
    return written ? static_cast<std::uint64_t>(std::chrono::nanoseconds(took).count()) : 0;
  }

 private:
  std::filesystem::path path_;
  int fd_;
};

}  // namespace

Result<DeviceTimes> measure_device(const std::filesystem::path& directory, int count) {
  struct statfs where{};
  if (statfs(directory.c_str(), &where) != 0)
    return fail(ErrorKind::kIo, "cannot look at " + directory.string());
  if (where.f_type == TMPFS_MAGIC || where.f_type == RAMFS_MAGIC)
    return fail(
        ErrorKind::kInvalid,
        directory.string() + " is in memory, nothing is durable there; name a folder on a disk with --dir");
  const Scratch scratch(directory);
  DeviceTimes times;
  for (int i = 0; i < count; ++i) times.append.push_back(scratch.write_block(static_cast<std::uint64_t>(i)));
  for (int i = 0; i < count; ++i)
    times.in_place.push_back(scratch.write_block(static_cast<std::uint64_t>(i)));
  for (auto* samples : {&times.append, &times.in_place}) {
    std::ranges::sort(*samples);
    if (samples->empty() || samples->front() == 0)
      return fail(ErrorKind::kIo, "cannot write to " + directory.string() + "; is it full?");
  }
  return times;
}

}  // namespace banyan::bench
