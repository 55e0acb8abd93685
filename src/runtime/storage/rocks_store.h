// What a host's disk holds, in RocksDB. Calls block; rocks_disk.h has the asynchronous ones.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/host_events.h"

namespace banyan::runtime {

/// A chunk that is written, but for the record that makes it exist.
struct PlacedChunk {
  Digest digest;
  std::string record;
};

/// One database in a folder, locked against a second process. Errors name the folder and what to do.
class RocksStore {
 public:
  /// Opens or creates the store. A torn tail of the write-ahead log is dropped (it was never acknowledged);
  /// damage before it is kCorrupt. kConflict for another format, kIo for everything else.
  static Result<std::unique_ptr<RocksStore>> open(const std::filesystem::path& folder);
  ~RocksStore();

  /// Reads everything except the chunks' bytes. To be called once, before store().
  Result<node::Recovered> recover();
  /// Reads one replica. kNotFound, kCorrupt. May run on any thread, also during store().
  [[nodiscard]] Result<node::StoredReplica> load_replica(const SessionId& session) const;
  /// Makes the writes durable, all or none, in their order, and after them the chunks that place() has
  /// written. One call at a time. After a failure the store must not be used any more, because what reached
  /// the disk is unknown.
  Result<Done> store(const std::vector<node::DiskWrite>& writes, const std::vector<PlacedChunk>& placed = {});
  /// Writes chunks to where they stay. Their bytes are durable then; they exist once store() has written
  /// their records. One call at a time, which may be on another thread than store(). A failure is as one of
  /// store().
  Result<std::vector<PlacedChunk>> place(const std::vector<node::PutChunk>& chunks);
  /// Whether chunks have left since give_room_back(), which gives the file system their room. It may run on
  /// any thread, also during store().
  [[nodiscard]] bool has_room_to_give() const;
  void give_room_back();
  /// Reads a chunk; nothing when it is absent or damaged. May run on any thread, also during store().
  [[nodiscard]] std::optional<Blob> load_chunk(const Digest& digest) const;

 private:
  struct Impl;
  explicit RocksStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace banyan::runtime
