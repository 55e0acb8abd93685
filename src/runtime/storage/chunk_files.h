// The bytes of a host's large chunks, in files that are only written at their ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "runtime/fd/unique_fd.h"
#include "runtime/storage/packing.h"

namespace banyan::runtime {

/// Where the bytes of a chunk lie.
struct ChunkPlace {
  std::uint64_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  ///< in the file, where they are packed
  std::uint64_t size = 0;    ///< of the chunk

  friend auto operator<=>(const ChunkPlace&, const ChunkPlace&) = default;
};

/// Files in a folder, numbered, of about 64 MiB each. A chunk is written once, to the end of the file that
/// its writer has open, in blocks of 1 MiB that are packed. Somebody else keeps which chunk lies where; what
/// has no such record is not there. The room of a chunk that is dropped is given back to the file system at
/// once where that can make holes in files, and anyhow with the last chunk of its file.
///
/// Calls block. Writers, read() and drop() may be used on different threads at a time.
class ChunkFiles {
 public:
  /// Creates the folder if there is none.
  static Result<std::unique_ptr<ChunkFiles>> open(std::filesystem::path folder);

  /// To be called once, before all that is below: these places are in use, and all else that the files hold
  /// was left behind by a crash.
  void keep_only(std::vector<ChunkPlace> used);

  /// Appends chunks. For one thread at a time.
  class Writer {
   public:
    explicit Writer(ChunkFiles& files) : files_(files) {}
    ~Writer() { finish(); }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    /// Writes a chunk. It is not durable before the next sync().
    Result<ChunkPlace> append(std::string_view bytes);
    Result<Done> sync();

   private:
    Result<Done> begin();
    Result<Done> write_block(std::string_view block);
    void finish();

    ChunkFiles& files_;
    Packer packer_;
    UniqueFd file_;
    std::uint64_t number_ = 0;
    std::uint64_t end_ = 0;
    bool is_new_ = false;  ///< its name is not durable yet
    bool dirty_ = false;
  };

  /// Appends the bytes at the place to `bytes`; false when they cannot be read, or are not whole.
  [[nodiscard]] bool read(const ChunkPlace& place, std::string& bytes) const;
  /// The places are not used any more, and no durable record names them.
  void drop(const std::vector<ChunkPlace>& places);

 private:
  struct File {
    std::uint64_t used = 0;  ///< bytes
    bool open = false;       ///< a writer appends to it
  };

  explicit ChunkFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  [[nodiscard]] std::filesystem::path path_of(std::uint64_t number) const;
  [[nodiscard]] tl::unexpected<Error> failed(const std::string& doing) const;
  std::uint64_t begin_file();
  void note_used(const ChunkPlace& place);
  void end_file(std::uint64_t number);
  void remove_empty();

  const std::filesystem::path folder_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::map<std::uint64_t, File> files_;
  std::uint64_t last_number_ = 0;
};

}  // namespace banyan::runtime
