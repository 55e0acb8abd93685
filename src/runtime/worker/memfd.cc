#include "runtime/worker/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace banyan::runtime {
namespace {

constexpr std::size_t kVectorsMax = 1024;  // IOV_MAX
constexpr std::size_t kPageBytes = 4096;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

Result<Done> write_all(int fd, std::span<iovec> vectors) {
  while (!vectors.empty()) {
    const auto count = static_cast<int>(std::min(vectors.size(), kVectorsMax));
    const ssize_t result = writev(fd, vectors.data(), count);
    if (result < 0) {
      if (errno == EINTR) continue;
      return fail(ErrorKind::kIo, system_error("cannot write to a memfd").message);
    }
    auto written = static_cast<std::size_t>(result);
    while (!vectors.empty() && written >= vectors.front().iov_len) {
      written -= vectors.front().iov_len;
      vectors = vectors.subspan(1);
    }
    if (written > 0) {
      vectors.front().iov_base = static_cast<char*>(vectors.front().iov_base) + written;
      vectors.front().iov_len -= written;
    }
  }
  return Done{};
}

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>> socket_pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return tl::unexpected(system_error("cannot create a socket pair"));
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

Result<UniqueFd> write_sealed_memfd(std::span<const Blob> blobs) {
  static std::array<char, kBlobAlignment> padding{};
  std::vector<iovec> vectors;
  for (const Blob& blob : blobs) {
    vectors.push_back({const_cast<char*>(blob.view().data()), blob.size()});
    if (const std::size_t tail = blob.size() % kBlobAlignment; tail != 0)
      vectors.push_back({padding.data(), kBlobAlignment - tail});
  }
  std::erase_if(vectors, [](const iovec& it) { return it.iov_len == 0; });
  UniqueFd memfd(memfd_create("banyan-state", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memfd.get() < 0) return tl::unexpected(system_error("cannot create a memfd"));
  if (const auto written = write_all(memfd.get(), vectors); !written) return tl::unexpected(written.error());
  if (fcntl(memfd.get(), F_ADD_SEALS, kSeals) != 0)
    return tl::unexpected(system_error("cannot seal a memfd"));
  return memfd;
}

Result<Blob> map_sealed_memfd(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || (seals & F_SEAL_WRITE) == 0)
    return fail(ErrorKind::kInvalid,
                "a file descriptor that is no memfd sealed against shrinking and writing");
  struct stat status{};
  if (fstat(fd, &status) != 0) return tl::unexpected(system_error("cannot read the size of a memfd"));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return Blob();
  void* at = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return tl::unexpected(system_error("cannot map a memfd"));
  const std::shared_ptr<const void> owner(at,
                                          [size](const void* it) { munmap(const_cast<void*>(it), size); });
  return Blob(owner, {static_cast<const char*>(at), size});
}

Result<LeasePage> LeasePage::create() {
  UniqueFd memfd(memfd_create("banyan-lease", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memfd.get() < 0 || ftruncate(memfd.get(), kPageBytes) != 0 ||
      fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return tl::unexpected(system_error("cannot create a lease page"));
  void* at = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd.get(), 0);
  if (at == MAP_FAILED) return tl::unexpected(system_error("cannot map a lease page"));
  return LeasePage(std::move(memfd), {at, [](void* it) { munmap(it, kPageBytes); }});
}

void LeasePage::set(std::optional<Time> deadline) {
  const std::int64_t ns = deadline ? std::max<std::int64_t>(1, deadline->time_since_epoch().count()) : 0;
  std::atomic_ref(*static_cast<std::int64_t*>(page_.get())).store(ns, std::memory_order_release);
}

}  // namespace banyan::runtime
