#include "runtime/net/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace banyan::runtime {

namespace {

constexpr std::size_t kKeyFileMax = 16 << 10;

/// A file descriptor that is closed with its scope.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

tl::unexpected<Error> io_failure(const char* what, const std::filesystem::path& path) {
  return fail(ErrorKind::kIo, std::string("cannot ") + what + " " + path.string() + ": " +
                                  std::strerror(errno) +
                                  "; check who owns the file and its folder, and whether the disk is full");
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Makes a renamed file's name durable.
bool sync_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const OpenFile opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some network filesystems have no fsync for directories; they say so with EINVAL.
  return opened.is_open() && (fsync(opened.fd()) == 0 || errno == EINVAL);
}

}  // namespace

Result<std::optional<KeyFile>> read_key_file(const std::filesystem::path& path) {
  // Without O_NONBLOCK, a named pipe in the file's place would stop the daemon here.
  const OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) {
    if (errno == ENOENT) return std::optional<KeyFile>();
    return io_failure("read", path);
  }
  struct stat status{};
  if (fstat(file.fd(), &status) != 0) return io_failure("read", path);
  if (!S_ISREG(status.st_mode))
    return fail(ErrorKind::kInvalid, path.string() + " is no regular file; move it away");
  KeyFile result{.text = std::string(kKeyFileMax + 1, '\0'), .mode = status.st_mode & 07777U};
  std::size_t size = 0;
  while (size < result.text.size()) {
    const ssize_t got = read(file.fd(), result.text.data() + size, result.text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_failure("read", path);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kKeyFileMax)
    return fail(ErrorKind::kInvalid, path.string() + " is too large to hold a key; move it away");
  result.text.resize(size);
  return std::optional(std::move(result));
}

Result<Done> write_key_file(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path fresh = path.string() + ".new";
  unlink(fresh.c_str());  // a daemon that died here has left it, perhaps with another mode
  {
    const OpenFile file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.is_open() || !write_all(file.fd(), text) || fsync(file.fd()) != 0)
      return io_failure("write", fresh);
  }
  if (rename(fresh.c_str(), path.c_str()) != 0 || !sync_folder(path)) return io_failure("write", path);
  return Done{};
}

}  // namespace banyan::runtime
