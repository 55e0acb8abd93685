#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace banyan {
namespace {

constexpr std::size_t kVectorsMax = 1024;  // IOV_MAX

std::system_error failure(const char* what) { return {errno, std::generic_category(), what}; }

void write_all(int fd, std::size_t at, std::vector<iovec> vectors) {
  std::size_t next = 0;
  while (next < vectors.size()) {
    const auto count = std::min(vectors.size() - next, kVectorsMax);
    ssize_t written = pwritev(fd, &vectors[next], static_cast<int>(count), static_cast<off_t>(at));
    if (written < 0) {
      if (errno == EINTR) continue;
      throw failure("cannot write to a memfd");
    }
    at += static_cast<std::size_t>(written);
    while (next < vectors.size() && static_cast<std::size_t>(written) >= vectors[next].iov_len) {
      written -= static_cast<ssize_t>(vectors[next].iov_len);
      ++next;
    }
    if (written > 0) {
      vectors[next].iov_base = static_cast<char*>(vectors[next].iov_base) + written;
      vectors[next].iov_len -= static_cast<std::size_t>(written);
    }
  }
}

}  // namespace

Spool::~Spool() {
  if (fd_ >= 0) close(fd_);
}

void Spool::check_open() const {
  if (sealed_) throw std::logic_error("a memfd that is sealed already");
}

void Spool::open() {
  check_open();
  if (fd_ >= 0) return;
  fd_ = memfd_create("banyan-state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd_ < 0) throw failure("cannot create a memfd");
}

void Spool::add(std::span<const std::span<const std::byte>> blobs) {
  static constexpr std::array<std::byte, kBlobAlignment> kPadding{};
  open();
  std::vector<iovec> vectors;
  vectors.reserve(2 * blobs.size());
  std::size_t size = 0;
  for (const auto blob : blobs) {
    if (blob.empty()) continue;
    vectors.push_back({const_cast<std::byte*>(blob.data()), blob.size()});
    const auto padding = (kBlobAlignment - blob.size() % kBlobAlignment) % kBlobAlignment;
    if (padding != 0) vectors.push_back({const_cast<std::byte*>(kPadding.data()), padding});
    size += blob.size() + padding;
  }
  write_all(fd_, end_, std::move(vectors));
  end_ += size;
}

void Spool::read(std::size_t at, std::span<std::byte> to) const {
  check_open();
  while (!to.empty()) {
    const ssize_t got = pread(fd_, to.data(), to.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = ENODATA;
    if (got <= 0) throw failure("cannot read a memfd");
    at += static_cast<std::size_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
}

void Spool::drop(std::size_t at, std::size_t size) noexcept {
  if (fd_ >= 0)
    (void)fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                    static_cast<off_t>(size));
}

int Spool::seal() {
  open();
  if (fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    throw failure("cannot seal a memfd");
  sealed_ = true;
  return std::exchange(fd_, -1);
}

Mapping::Mapping(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0) {
    const auto error = failure("cannot read the size of a memfd");
    close(fd);
    throw error;
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) {
    close(fd);
    return;
  }
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  const auto error = failure("cannot map a memfd");
  close(fd);
  if (at == MAP_FAILED) throw error;
  bytes_ = {static_cast<std::byte*>(at), size};
}

Mapping::Mapping(std::size_t size) {
  if (size == 0) return;
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw failure("cannot allocate memory for a value");
  madvise(at, size, MADV_HUGEPAGE);
  bytes_ = {static_cast<std::byte*>(at), size};
}

Mapping::~Mapping() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace banyan
