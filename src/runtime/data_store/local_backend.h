// Values as files in a directory.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>

#include "runtime/data_store/backend.h"
#include "runtime/data_store/options.h"

namespace banyan::runtime {

/// The system calls that fail on a full or broken disk. Tests put others in their place.
struct FileCalls {
  ssize_t (*write)(int, const void*, std::size_t);
  ssize_t (*read)(int, void*, std::size_t);
  int (*fsync)(int);
};
/// The calls of the system.
FileCalls system_file_calls();

/// Keeps each key in a file below the directory: the value, then kTrailerBytes with its digest and size. A
/// put writes a file in `.incoming`, syncs it, renames it and syncs the directory, so that a crash leaves the
/// old value or the new one. What a crash has left in `.incoming` is removed a day later.
class LocalBackend final : public StoreBackend {
 public:
  static constexpr std::size_t kTrailerBytes = 32;

  /// Opens the store, and creates the directory where it is missing. kIo, kDenied.
  static Result<std::unique_ptr<StoreBackend>> open(std::filesystem::path root, StoreOptions options,
                                                    FileCalls calls = system_file_calls());

  Result<Done> put(const std::string& key, const Blob& value, const Digest& checksum, Meter& meter) override;
  Result<Fetched> get(const std::string& key, Meter& meter) override;
  Result<port::StoredValue> head(const std::string& key) override;
  Result<Done> remove(const std::string& key) override;
  Result<std::vector<port::StoredValue>> list(const std::string& prefix) override;

 private:
  LocalBackend(std::filesystem::path root, StoreOptions options, FileCalls calls)
      : root_(std::move(root)), options_(std::move(options)), calls_(calls) {}

  [[nodiscard]] std::filesystem::path incoming() const { return root_ / ".incoming"; }
  Result<Done> make_directory(const std::filesystem::path& folder);
  Result<Done> sync_directory(const std::filesystem::path& folder);
  Result<Done> write_file(int fd, const Blob& value, const Digest& checksum, Meter& meter);
  Result<Done> read_exactly(int fd, char* to, std::uint64_t count, Meter& meter);
  void drop_old_leftovers();

  std::filesystem::path root_;
  StoreOptions options_;
  FileCalls calls_;
  std::mutex mutex_;
  std::set<std::filesystem::path> durable_;  ///< the directories whose names this process has synced
};

}  // namespace banyan::runtime
