// What a host's disk holds, in RocksDB. Blocking; rocks_disk.h is its asynchronous face.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "node/host_events.h"

namespace banyan::runtime {

/// One database in a folder, locked against a second process. Errors name the folder and what to do.
class RocksStore {
 public:
  /// Opens or creates it. A torn tail of the write-ahead log is dropped (it was never acknowledged); damage
  /// before it is kCorrupt. kConflict for another format, kIo for the rest.
  static Result<std::unique_ptr<RocksStore>> open(const std::filesystem::path& folder);
  ~RocksStore();

  /// Everything but the chunks' bytes. Call once, before store().
  Result<node::Recovered> recover();
  /// One replica. kNotFound, kCorrupt. Any thread, also during store().
  [[nodiscard]] Result<node::StoredReplica> load_replica(const SessionId& session) const;
  /// Makes all writes durable, all or nothing, in their order; with one fsync, unless they have large chunks.
  /// One call at a time. After a failure the store is not to be used: what reached the disk is unknown.
  Result<Done> store(const std::vector<node::DiskWrite>& writes);
  /// Nothing when it is absent or damaged. Any thread, also during store().
  [[nodiscard]] std::optional<Blob> load_chunk(const Digest& digest) const;

 private:
  struct Impl;
  explicit RocksStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace banyan::runtime
