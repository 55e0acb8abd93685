#include "runtime/storage/chunk_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <span>

#include "runtime/failpoint/failpoint.h"

namespace banyan::runtime {

namespace {

constexpr std::uint64_t kBlock = 1 << 20;     // so much is packed at a time
constexpr std::uint64_t kFileMax = 64 << 20;  // then the next file is begun
constexpr std::string_view kExtension = ".chunks";
constexpr std::size_t kLengthBytes = 4;    // of a packed block, in front of it
constexpr std::uint64_t kDiskBlock = 512;  // bytes, the unit of st_blocks
constexpr std::uint64_t kSlack = 1 << 20;  // what file systems keep beside the bytes themselves

std::array<char, kLengthBytes> encode_length(std::uint64_t length) {
  std::array<char, kLengthBytes> bytes{};
  for (std::size_t i = kLengthBytes; i-- > 0; length >>= 8) bytes[i] = static_cast<char>(length);
  return bytes;
}

std::uint64_t decode_length(const std::array<char, kLengthBytes>& bytes) {
  std::uint64_t length = 0;
  for (const char byte : bytes) length = length << 8 | static_cast<unsigned char>(byte);
  return length;
}

bool read_at(int fd, std::uint64_t offset, std::span<char> to) {
  while (!to.empty()) {
    const ssize_t got = pread(fd, to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool write_at(int fd, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    offset += static_cast<std::uint64_t>(wrote);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

/// Gives the room of these bytes back, where the file system can; they read as zeros from then on.
void punch(int fd, std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return;
  (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(length));
}

std::optional<std::uint64_t> number_of(const std::filesystem::path& path) {
  const std::string name = path.stem().string();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  return is_number && path.extension() == kExtension ? std::optional(number) : std::nullopt;
}

/// Cuts off what is behind the last of the places, which are in order, and makes holes between them.
void keep_in_file(const std::filesystem::path& path, std::span<const ChunkPlace> used) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  struct stat status{};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) return;
  const std::uint64_t end = used.back().offset + used.back().length;
  std::uint64_t sum = 0;
  for (const ChunkPlace& place : used) sum += place.length;
  if (static_cast<std::uint64_t>(status.st_size) > end)
    (void)!ftruncate(file.get(), static_cast<off_t>(end));  // that it failed costs room, and nothing else
  if (static_cast<std::uint64_t>(status.st_blocks) * kDiskBlock <= sum + kSlack) return;
  std::uint64_t from = 0;
  for (const ChunkPlace& place : used) {
    if (place.offset > from) punch(file.get(), from, place.offset - from);
    from = std::max(from, place.offset + place.length);
  }
}

}  // namespace

std::filesystem::path ChunkFiles::path_of(std::uint64_t number) const {
  return folder_ / (std::to_string(number) + std::string(kExtension));
}

tl::unexpected<Error> ChunkFiles::failed(const std::string& doing) const {
  const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
  Error error = system_error(doing + " in " + folder_.string() + " failed");
  error.message += full ? "; make room on the disk" : "; check the disk";
  return tl::unexpected(std::move(error));
}

Result<std::unique_ptr<ChunkFiles>> ChunkFiles::open(std::filesystem::path folder) {
  std::unique_ptr<ChunkFiles> files(new ChunkFiles(std::move(folder)));
  std::error_code error;
  std::filesystem::create_directory(files->folder_, error);
  if (error) {
    errno = error.value();
    return files->failed("making the folder of chunks");
  }
  for (const auto& entry : std::filesystem::directory_iterator(files->folder_, error)) {
    if (const auto number = number_of(entry.path())) {
      files->files_[*number];
      files->last_number_ = std::max(files->last_number_, *number);
    }
  }
  if (error) {
    errno = error.value();
    return files->failed("listing the chunks");
  }
  return files;
}

void ChunkFiles::keep_only(std::vector<ChunkPlace> used) {
  std::ranges::sort(used);
  auto next = used.begin();
  while (next != used.end()) {
    const std::uint64_t number = next->file;
    const auto end = std::find_if(next, used.end(), [&](const auto& one) { return one.file != number; });
    for (auto one = next; one != end; ++one) files_[number].used += one->length;
    keep_in_file(path_of(number), {next, end});
    next = end;
  }
  // Where a file is lost that has records, no other one may take its number.
  if (!used.empty()) last_number_ = std::max(last_number_, used.back().file);
  remove_empty();
}

std::uint64_t ChunkFiles::begin_file() {
  const std::scoped_lock lock(mutex_);
  files_[++last_number_].open = true;
  return last_number_;
}

void ChunkFiles::note_used(const ChunkPlace& place) {
  const std::scoped_lock lock(mutex_);
  files_[place.file].used += place.length;
}

void ChunkFiles::end_file(std::uint64_t number) {
  {
    const std::scoped_lock lock(mutex_);
    files_[number].open = false;
  }
  remove_empty();
}

/// Not under the lock: whoever writes a commit may wait for that, and a thread that yields may be here.
void ChunkFiles::remove_empty() {
  std::vector<std::uint64_t> empty;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [number, file] : files_)
      if (file.used == 0 && !file.open) empty.push_back(number);
    for (const std::uint64_t number : empty) files_.erase(number);
  }
  for (const std::uint64_t number : empty) unlink(path_of(number).c_str());
}

bool ChunkFiles::read(const ChunkPlace& place, std::string& bytes) const {
  const UniqueFd file(::open(path_of(place.file).c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return false;
  const std::size_t before = bytes.size();
  bytes.reserve(before + place.size);
  std::uint64_t at = place.offset;
  const std::uint64_t end = place.offset + place.length;
  thread_local std::string packed;  // its memory is used again for the next block
  while (at < end) {
    std::array<char, kLengthBytes> length_bytes{};
    if (!read_at(file.get(), at, length_bytes)) return false;
    const std::uint64_t length = decode_length(length_bytes);
    at += kLengthBytes;
    if (length == 0 || length > end - at) return false;
    if (packed.size() < length) packed.resize(length);
    if (!read_at(file.get(), at, {packed.data(), length})) return false;
    if (!unpack({packed.data(), length}, bytes)) return false;
    at += length;
  }
  return bytes.size() - before == place.size;
}

void ChunkFiles::drop(const std::vector<ChunkPlace>& places) {
  {
    const std::scoped_lock lock(mutex_);
    for (const ChunkPlace& place : places) {
      const auto found = files_.find(place.file);
      if (found != files_.end()) found->second.used -= std::min(found->second.used, place.length);
    }
  }
  remove_empty();
  for (const ChunkPlace& place : places) {
    const UniqueFd file(::open(path_of(place.file).c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() >= 0) punch(file.get(), place.offset, place.length);
  }
}

Result<Done> ChunkFiles::Writer::begin() {
  if (file_.get() >= 0 && end_ < kFileMax) return Done{};
  if (auto done = sync(); !done) return done;
  finish();
  number_ = files_.begin_file();
  file_ = UniqueFd(::open(files_.path_of(number_).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file_.get() < 0) return files_.failed("making a file of chunks");
  end_ = 0;
  is_new_ = true;
  return Done{};
}

void ChunkFiles::Writer::finish() {
  if (std::exchange(file_, UniqueFd()).get() >= 0) files_.end_file(number_);
}

Result<ChunkPlace> ChunkFiles::Writer::append(std::string_view bytes) {
  if (auto done = begin(); !done) return tl::unexpected(done.error());
  ChunkPlace place{.file = number_, .offset = end_, .length = 0, .size = bytes.size()};
  dirty_ = true;
  for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(bytes.size(), kBlock))) {
    if (auto done = write_block(bytes.substr(0, kBlock)); !done) return tl::unexpected(done.error());
    failpoint("store.block");
  }
  place.length = end_ - place.offset;
  files_.note_used(place);
  return place;
}

Result<Done> ChunkFiles::Writer::write_block(std::string_view block) {
  const std::string_view packed = packer_.pack(block);
  const auto length = encode_length(packed.size());
  if (!write_at(file_.get(), end_, {length.data(), length.size()}) ||
      !write_at(file_.get(), end_ + kLengthBytes, packed))
    return files_.failed("writing a chunk");
  end_ += kLengthBytes + packed.size();
  return Done{};
}

Result<Done> ChunkFiles::Writer::sync() {
  if (!std::exchange(dirty_, false)) return Done{};
  if (fdatasync(file_.get()) != 0) return files_.failed("writing chunks");
  if (std::exchange(is_new_, false)) {
    const UniqueFd folder(::open(files_.folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0 || fsync(folder.get()) != 0) return files_.failed("writing the folder of chunks");
  }
  failpoint("store.flushed");
  return Done{};
}

}  // namespace banyan::runtime
