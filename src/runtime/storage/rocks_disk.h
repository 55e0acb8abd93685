// The live port::Disk: one RocksDB for all replicas of a host.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "port/disk.h"
#include "runtime/loop/loop.h"

namespace banyan::runtime {

/// Group commit: while one batch is being synced on a pool thread, later ones gather, and are synced
/// together. A torn tail of the write-ahead log is dropped at open (it was never acknowledged); corruption
/// before it is an error.
class RocksDisk final : public port::Disk {
 public:
  /// Opens or creates the database in directory `path`. `fatal` is called on the loop when a write fails:
  /// after that nothing is acknowledged any more, and the daemon is to end. `loop` outlives the disk.
  /// kCorrupt, kIo.
  static Result<std::unique_ptr<RocksDisk>> open(Loop& loop, const std::string& path,
                                                 std::function<void(std::string reason)> fatal);
  ~RocksDisk() override;

  Result<std::vector<node::StoredReplica>> recover() override;
  void write(std::vector<node::DiskWrite> batch, std::function<void()> durable) override;
  void read_chunk(const Digest& digest, std::function<void(std::optional<Blob>)> done) override;

 private:
  struct Impl;
  explicit RocksDisk(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace banyan::runtime
