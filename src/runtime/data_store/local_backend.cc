#include "runtime/data_store/local_backend.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/data_store/retry.h"
#include "runtime/data_store/value_buffer.h"

namespace banyan::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "BanyanV1";
constexpr std::size_t kStep = 1 << 20;  // so many bytes go between two looks at the stop token
constexpr auto kLeftoverAge = std::chrono::hours(24);

class OpenFile {
 public:
  OpenFile(const fs::path& path, int flags, mode_t mode = 0)
      : fd_(open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

std::string advice(int error) {
  if (error == ENOSPC || error == EDQUOT) return "; make room on that disk";
  if (error == EIO) return "; the disk may be failing: check the kernel's log and copy the store elsewhere";
  if (error == EROFS) return "; its filesystem is mounted read-only, which a failing disk also leads to";
  if (error == EACCES || error == EPERM) return "; give this user the right to read and write there";
  if (error == ENOTDIR || error == EISDIR || error == EEXIST || error == ENOTEMPTY)
    return "; in a directory a key cannot be the beginning of another key's path";
  return "";
}

/// The error of `doing` something with `path`, as errno says it.
tl::unexpected<Error> failed(const std::string& doing, const fs::path& path, int error) {
  ErrorKind kind = ErrorKind::kIo;
  if (error == EACCES || error == EPERM) kind = ErrorKind::kDenied;
  if (error == ENOTDIR || error == EISDIR || error == EEXIST || error == ENOTEMPTY)
    kind = ErrorKind::kInvalid;
  return fail(kind, doing + " " + path.string() + " failed: " + strerror(error) + advice(error));
}

tl::unexpected<Error> absent(const std::string& key, const fs::path& root) {
  return fail(ErrorKind::kNotFound, "the store " + root.string() + " has no '" + key + "'");
}

void put_number(char* to, std::uint64_t number) {
  for (int byte = 0; byte < 8; ++byte) to[byte] = static_cast<char>(number >> (56 - 8 * byte));
}

std::uint64_t number_at(const char* from) {
  std::uint64_t number = 0;
  for (int byte = 0; byte < 8; ++byte) number = number << 8 | static_cast<unsigned char>(from[byte]);
  return number;
}

using Trailer = std::array<char, LocalBackend::kTrailerBytes>;

Trailer trailer_of(std::uint64_t bytes, const Digest& checksum) {
  Trailer trailer{};
  put_number(trailer.data(), checksum.high);
  put_number(trailer.data() + 8, checksum.low);
  put_number(trailer.data() + 16, bytes);
  std::ranges::copy(kMagic, trailer.data() + 24);
  return trailer;
}

/// How many bytes the value has in a file of `size` bytes; a file that is too short for a trailer shows as
/// empty.
std::uint64_t value_bytes(std::uint64_t size) {
  return size < LocalBackend::kTrailerBytes ? 0 : size - LocalBackend::kTrailerBytes;
}

}  // namespace

FileCalls system_file_calls() { return {::write, ::read, ::fsync}; }

Result<std::unique_ptr<StoreBackend>> LocalBackend::open(fs::path root, StoreOptions options,
                                                         FileCalls calls) {
  auto backend = std::unique_ptr<LocalBackend>(new LocalBackend(std::move(root), std::move(options), calls));
  // The root's own name is up to whoever made the root, and nothing in `.incoming` counts as stored yet.
  backend->durable_.insert((backend->root_ / "x").parent_path());
  backend->durable_.insert(backend->incoming());
  if (auto done = backend->make_directory(backend->incoming()); !done) return tl::unexpected(done.error());
  backend->drop_old_leftovers();
  return std::unique_ptr<StoreBackend>(std::move(backend));
}

/// Makes a directory, with those around it, durable: before that nothing in it counts as stored.
Result<Done> LocalBackend::make_directory(const fs::path& folder) {
  const bool fresh = mkdir(folder.c_str(), 0777) == 0;
  std::error_code error;
  if (!fresh && errno == EEXIST && !fs::is_directory(folder, error))
    return failed("creating the directory", folder, ENOTDIR);
  if (fresh || errno == EEXIST) {  // another process may have made it and not yet synced its name
    {
      const std::lock_guard lock(mutex_);
      if (!fresh && durable_.contains(folder)) return Done{};
    }
    if (auto done = sync_directory(folder.parent_path()); !done) return done;
    const std::lock_guard lock(mutex_);
    durable_.insert(folder);
    return Done{};
  }
  if (errno != ENOENT || !folder.has_relative_path()) return failed("creating the directory", folder, errno);
  if (auto done = make_directory(folder.parent_path()); !done) return done;
  return make_directory(folder);
}

Result<Done> LocalBackend::sync_directory(const fs::path& folder) {
  const OpenFile directory(folder, O_RDONLY | O_DIRECTORY);
  if (directory.fd() < 0) return failed("opening", folder, errno);
  // Some network filesystems have no fsync for directories; they say so with EINVAL.
  if (calls_.fsync(directory.fd()) != 0 && errno != EINVAL) return failed("syncing", folder, errno);
  return Done{};
}

void LocalBackend::drop_old_leftovers() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(incoming(), error)) {
    const auto written = entry.last_write_time(error);
    if (!error && fs::file_time_type::clock::now() - written > kLeftoverAge) fs::remove(entry.path(), error);
  }
}

Result<Done> LocalBackend::write_file(int fd, const Blob& value, const Digest& checksum, Meter& meter) {
  const Trailer trailer = trailer_of(value.size(), checksum);
  for (std::string_view rest : {value.view(), std::string_view(trailer.data(), trailer.size())}) {
    while (!rest.empty()) {
      if (options_.stop.stop_requested()) return tl::unexpected(closing_error());
      const ssize_t count = calls_.write(fd, rest.data(), std::min(rest.size(), kStep));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return failed("writing to the store", root_, errno);
      rest.remove_prefix(static_cast<std::size_t>(count));
      meter.moved();
    }
  }
  // It is not tried again: after an fsync that failed, a second one can succeed although the bytes are lost.
  if (calls_.fsync(fd) != 0) return failed("syncing a file of the store", root_, errno);
  return Done{};
}

Result<Done> LocalBackend::put(const std::string& key, const Blob& value, const Digest& checksum,
                               Meter& meter) {
  const fs::path path = root_ / key;
  if (auto done = make_directory(path.parent_path()); !done) return done;
  const fs::path unfinished = incoming() / thread_rng().uuid();
  bool created = false;
  auto stored = [&]() -> Result<Done> {
    const OpenFile file(unfinished, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file.fd() < 0) return failed("creating", unfinished, errno);
    created = true;
    if (auto done = write_file(file.fd(), value, checksum, meter); !done) return done;
    if (rename(unfinished.c_str(), path.c_str()) != 0) return failed("renaming a file to", path, errno);
    return Done{};
  }();
  if (!stored) {
    if (created) unlink(unfinished.c_str());
    return stored;
  }
  return sync_directory(path.parent_path());
}

Result<Done> LocalBackend::read_exactly(int fd, char* to, std::uint64_t count, Meter& meter) {
  while (count > 0) {
    if (options_.stop.stop_requested()) return tl::unexpected(closing_error());
    const ssize_t got = calls_.read(fd, to, std::min<std::uint64_t>(count, kStep));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("reading from the store", root_, errno);
    if (got == 0)
      return fail(ErrorKind::kCorrupt, "a file of the store " + root_.string() + " ends too early");
    meter.moved();
    to += got;
    count -= static_cast<std::uint64_t>(got);
  }
  return Done{};
}

Result<Fetched> LocalBackend::get(const std::string& key, Meter& meter) {
  const fs::path path = root_ / key;
  const OpenFile file(path, O_RDONLY);
  struct stat status{};
  if (file.fd() < 0 || fstat(file.fd(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return absent(key, root_);
    return failed("opening", path, errno);
  }
  if (S_ISDIR(status.st_mode)) return absent(key, root_);
  const auto bytes = value_bytes(static_cast<std::uint64_t>(status.st_size));
  auto buffer = ValueBuffer::allocate(bytes, options_.scratch_directory());
  if (!buffer) return tl::unexpected(buffer.error());
  Trailer trailer{};
  if (auto done = read_exactly(file.fd(), buffer->data(), bytes, meter); !done)
    return tl::unexpected(done.error());
  if (auto done = read_exactly(file.fd(), trailer.data(), trailer.size(), meter); !done)
    return tl::unexpected(done.error());
  const Digest checksum{number_at(trailer.data()), number_at(trailer.data() + 8)};
  if (trailer_of(bytes, checksum) != trailer)
    return fail(ErrorKind::kCorrupt,
                "'" + key + "' in the store " + root_.string() +
                    " does not end with a checksum: it is cut short, damaged, or no file "
                    "that Banyan wrote; put it again");
  return Fetched{std::move(*buffer).blob(), checksum};
}

Result<port::StoredValue> LocalBackend::head(const std::string& key) {
  struct stat status{};
  const fs::path path = root_ / key;
  if (stat(path.c_str(), &status) != 0 && errno != ENOENT && errno != ENOTDIR)
    return failed("looking for", path, errno);
  if (!S_ISREG(status.st_mode)) return absent(key, root_);
  return port::StoredValue{key, value_bytes(static_cast<std::uint64_t>(status.st_size))};
}

Result<Done> LocalBackend::remove(const std::string& key) {
  const fs::path path = root_ / key;
  if (unlink(path.c_str()) == 0) return sync_directory(path.parent_path());
  // Where the path is a directory, or leads through a file, there is no value to remove.
  if (errno == ENOENT || errno == ENOTDIR || errno == EISDIR) return Done{};
  return failed("removing", path, errno);
}

Result<std::vector<port::StoredValue>> LocalBackend::list(const std::string& prefix) {
  std::vector<port::StoredValue> found;
  const fs::path start = root_ / prefix.substr(0, prefix.rfind('/') + 1);
  std::error_code error;
  if (!fs::is_directory(start, error)) {
    const bool none =
        !error || error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
    if (!none) return failed("listing", start, error.value());
    return found;
  }
  auto entry = fs::recursive_directory_iterator(start, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (options_.stop.stop_requested()) return tl::unexpected(closing_error());
    const std::string key = entry->path().lexically_relative(root_).string();
    std::error_code gone;  // another call may remove the file at the same time
    if (entry->is_directory(gone)) {
      const bool reached = key.starts_with(prefix) || prefix.starts_with(key + "/");
      if (!reached || !port::check_key(key)) entry.disable_recursion_pending();
      continue;
    }
    if (!key.starts_with(prefix) || !port::check_key(key) || !entry->is_regular_file(gone)) continue;
    const std::uint64_t size = entry->file_size(gone);
    if (gone) continue;
    if (found.size() == kListMax)
      return fail(ErrorKind::kTooLarge, "the store " + root_.string() + " has more than " +
                                            std::to_string(kListMax) + " values below '" + prefix +
                                            "'; list a longer prefix");
    found.push_back({key, value_bytes(size)});
  }
  if (error) return failed("listing", start, error.value());
  return found;
}

}  // namespace banyan::runtime
