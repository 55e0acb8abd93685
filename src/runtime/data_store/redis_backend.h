// Values in a Redis server.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/data_store/backend.h"
#include "runtime/data_store/redis_connection.h"

namespace banyan::runtime {

/// Keeps each key in a hash `banyan:KEY` with the size, the digest and the bytes. Beyond kRedisPartBytes the
/// bytes lie in keys `banyan-part:GENERATION:NUMBER`, which are written first and would expire, until an
/// atomic script makes the hash name them and keeps them. It needs Redis 4 or later with scripts, and no
/// cluster.
class RedisBackend final : public StoreBackend {
 public:
  RedisBackend(RedisAddress address, StoreOptions options)
      : address_(std::move(address)), options_(std::move(options)) {}

  Result<Done> put(const std::string& key, const Blob& value, const Digest& checksum, Meter& meter) override;
  Result<Fetched> get(const std::string& key, Meter& meter) override;
  Result<port::StoredValue> head(const std::string& key) override;
  Result<Done> remove(const std::string& key) override;
  Result<std::vector<port::StoredValue>> list(const std::string& prefix) override;

 private:
  /// The hash of a key as the server has it.
  struct Record {
    std::uint64_t size = 0;
    Digest checksum;
    Blob bytes;              ///< the value, when `generation` is empty
    std::string generation;  ///< the name that the keys of the parts have in them
    std::uint64_t part_bytes = 0;
  };

  /// Calls `work` with a connection, and again with another one while the server cannot be reached.
  template <class Work>
  auto with_connection(Work work) -> decltype(work(std::declval<RedisConnection&>()));
  Result<std::unique_ptr<RedisConnection>> take_connection();
  void give_back(std::unique_ptr<RedisConnection> connection);

  Result<Done> put_parts(const std::string& generation, const Blob& value, Meter& meter);
  Result<Record> read_record(const std::string& key, Meter& meter);
  Result<Fetched> get_parts(const std::string& key, const Record& record, Meter& meter);
  void drop_parts(const std::string& generation, std::uint64_t size, std::uint64_t part_bytes);
  [[nodiscard]] tl::unexpected<Error> corrupt(const std::string& key, const std::string& why) const;

  RedisAddress address_;
  StoreOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RedisConnection>> idle_;
};

}  // namespace banyan::runtime
