// The live port::Disk: one RocksDB for all replicas of a host.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "port/disk.h"
#include "runtime/loop/loop.h"

namespace banyan::runtime {

/// A disk with group commit: while one batch is being synced on a pool thread, later ones gather and are
/// synced together. Chunks are read on another thread, after the writes that came before the call. Those for
/// which nobody waits are written and read on a third one, a few MiB at a time, which yields to all others.
class RocksDisk final : public port::Disk {
 public:
  /// Opens or creates the database in directory `path` (RocksStore::open). `fatal` is called on the loop when
  /// a write fails: after that nothing is acknowledged or answered any more, and the daemon is to end. `loop`
  /// must outlive the disk.
  static Result<std::unique_ptr<RocksDisk>> open(Loop& loop, const std::string& path,
                                                 std::function<void(std::string reason)> fatal);
  ~RocksDisk() override;

  Result<node::Recovered> recover() override;
  void write(std::vector<node::DiskWrite> batch, std::function<void()> durable) override;
  void store_chunk(const Digest& digest, Blob bytes, std::function<void()> durable) override;
  void load_replica(const SessionId& session,
                    std::function<void(std::optional<node::StoredReplica>)> done) override;
  void read_chunk(const node::ReadChunk& what, std::function<void(std::optional<Blob>)> done) override;

 private:
  struct Impl;
  explicit RocksDisk(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace banyan::runtime
