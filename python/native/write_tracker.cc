#include "write_tracker.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace banyan {
namespace {

// From Linux 6.7's headers (linux/userfaultfd.h, linux/fs.h), because those of Debian 12 are of version 6.1.
constexpr int kUserModeOnly = 1;                      // UFFD_USER_MODE_ONLY, which everyone may use.
constexpr std::uint64_t kWpUnpopulated = 1ULL << 13;  // UFFD_FEATURE_WP_UNPOPULATED
constexpr std::uint64_t kWpAsync = 1ULL << 15;        // UFFD_FEATURE_WP_ASYNC
constexpr std::uint64_t kPageIsWritten = 1 << 1;      // PAGE_IS_WRITTEN
constexpr std::uint64_t kPageIsPresent = 1 << 3;      // PAGE_IS_PRESENT
constexpr std::uint64_t kScanWriteProtect = 1 << 0;   // PM_SCAN_WP_MATCHING
constexpr std::uint64_t kScanCheckWatched = 1 << 1;   // PM_SCAN_CHECK_WPASYNC

struct PageRegion {  // struct page_region
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t categories;
};
struct ScanArguments {  // struct pm_scan_arg
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t walk_end;
  std::uint64_t vec;
  std::uint64_t vec_len;
  std::uint64_t max_pages;
  std::uint64_t category_inverted;
  std::uint64_t category_mask;
  std::uint64_t category_anyof_mask;
  std::uint64_t return_mask;
};
constexpr auto kPagemapScan = _IOWR('f', 16, ScanArguments);

}  // namespace

WriteTracker::WriteTracker() : owner_(getpid()) {
  faults_ = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kUserModeOnly));
  if (faults_ < 0) return;
  uffdio_api api{.api = UFFD_API, .features = kWpUnpopulated | kWpAsync, .ioctls = 0};
  if (ioctl(faults_, UFFDIO_API, &api) == 0) pagemap_ = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

WriteTracker::~WriteTracker() {
  if (pagemap_ >= 0) close(pagemap_);
  if (faults_ >= 0) close(faults_);
}

bool WriteTracker::usable() const { return pagemap_ >= 0 && getpid() == owner_; }

Range WriteTracker::pages_in(const Range& bytes) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return {(bytes.begin + page - 1) / page * page, bytes.end / page * page};
}

bool WriteTracker::watch(const Range& pages) {
  if (!usable() || pages.empty()) return false;
  uffdio_register request{.range = {.start = pages.begin, .len = pages.end - pages.begin},
                          .mode = UFFDIO_REGISTER_MODE_WP,
                          .ioctls = 0};
  return ioctl(faults_, UFFDIO_REGISTER, &request) == 0;
}

void WriteTracker::unwatch(const Range& pages) {
  if (!usable() || pages.empty()) return;
  uffdio_range range{.start = pages.begin, .len = pages.end - pages.begin};
  // It fails when the memory is gone, which then is not watched either.
  ioctl(faults_, UFFDIO_UNREGISTER, &range);
}

std::optional<std::vector<Range>> WriteTracker::take_written(const Range& pages) {
  std::vector<Range> written;
  if (!usable()) return std::nullopt;
  std::array<PageRegion, 256> found{};
  ScanArguments scan{};
  scan.size = sizeof(scan);
  scan.flags = kScanWriteProtect | kScanCheckWatched;
  scan.end = pages.end;
  scan.vec = reinterpret_cast<std::uint64_t>(found.data());
  scan.vec_len = found.size();
  // A page that is not present counts as well: its allocator may have given it back, and it would
  // return as zeros.
  scan.category_inverted = kPageIsPresent;
  scan.category_anyof_mask = kPageIsWritten | kPageIsPresent;
  scan.return_mask = kPageIsWritten;
  for (scan.start = pages.begin; scan.start < pages.end; scan.start = scan.walk_end) {
    const int count = ioctl(pagemap_, kPagemapScan, &scan);
    if (count < 0) return std::nullopt;
    for (int i = 0; i < count; ++i) {
      const auto& region = found[static_cast<std::size_t>(i)];
      written.push_back({region.start, region.end});
    }
  }
  return written;
}

}  // namespace banyan
