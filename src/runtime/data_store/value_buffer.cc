#include "runtime/data_store/value_buffer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

namespace banyan::runtime {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> refused(const fs::path& where, std::uint64_t bytes, int error) {
  return fail(ErrorKind::kIo, "a value of " + std::to_string(bytes) + " bytes found no room in " +
                                  where.string() + ": " + strerror(error) +
                                  "; make room there or choose another directory with TMPDIR");
}

int open_nameless(const fs::path& folder) {
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  // The filesystem has no O_TMPFILE, so the file has a name for a moment.
  std::string name = (folder / "banyan-value-XXXXXX").string();
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

Result<std::shared_ptr<void>> map(int fd, std::uint64_t bytes, int protection, const fs::path& name) {
  void* address = mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED)
    return fail(ErrorKind::kIo, "mapping " + name.string() + " failed: " + strerror(errno));
  return std::shared_ptr<void>(address, [bytes](void* mapped) { munmap(mapped, bytes); });
}

}  // namespace

Result<ValueBuffer> ValueBuffer::allocate(std::uint64_t bytes, const fs::path& scratch) {
  if (bytes <= kMemoryMax) {
    std::shared_ptr<char[]> memory(new char[bytes]);  // not initialised, because it will be overwritten
    char* data = memory.get();
    return ValueBuffer(std::move(memory), data, bytes);
  }
  const int fd = open_nameless(scratch);
  if (fd < 0) return refused(scratch, bytes, errno);
  // The room is reserved now: a page that finds no room later would be a SIGBUS.
  const int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  auto mapped = error == 0 ? map(fd, bytes, PROT_READ | PROT_WRITE, scratch) : refused(scratch, bytes, error);
  close(fd);
  if (!mapped) return tl::unexpected(mapped.error());
  char* data = static_cast<char*>(mapped->get());
  return ValueBuffer(std::move(*mapped), data, bytes);
}

Result<Blob> map_file(const fs::path& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fail(errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
                "opening " + file.string() + " failed: " + strerror(errno));
  struct stat status{};
  CHECK(fstat(fd, &status) == 0, "an open file has a size");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes == 0) {
    close(fd);
    return Blob();
  }
  auto mapped = map(fd, bytes, PROT_READ, file);
  close(fd);
  if (!mapped) return tl::unexpected(mapped.error());
  const auto* data = static_cast<const char*>(mapped->get());
  return Blob(std::move(*mapped), {data, bytes});
}

}  // namespace banyan::runtime
