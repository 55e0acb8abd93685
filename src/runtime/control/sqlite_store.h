// The live port::ControlStore: SQLite in a file of the gateway.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "port/disk.h"
#include "runtime/loop/loop.h"

namespace banyan::runtime {

/// Keys and values in one table. Records become durable in order; those that come while a transaction is
/// being synced go into the next one. The file is locked against a second gateway.
class SqliteStore final : public port::ControlStore {
 public:
  /// Opens or creates the database file `path`. `fatal` is called on the loop when a write fails: after that
  /// nothing is acknowledged any more, and the daemon is to end. `loop` must outlive the store. kIo,
  /// kCorrupt; kConflict for a file that is in use or of another version.
  static Result<std::unique_ptr<SqliteStore>> open(Loop& loop, const std::string& path,
                                                   std::function<void(std::string reason)> fatal);
  ~SqliteStore() override;

  Result<std::map<std::string, std::string>> load() override;
  void put(std::string key, std::string value, std::function<void()> durable) override;

 private:
  struct Impl;
  explicit SqliteStore(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace banyan::runtime
