// One connection to a Redis server.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/data_store/backend.h"
#include "runtime/data_store/options.h"

namespace banyan::runtime {

/// Where a Redis server is, and what it knows us by.
struct RedisAddress {
  std::string host;
  std::uint16_t port = 6379;
  std::string user;  ///< empty for Redis' default user
  std::optional<std::string> password;
  int database = 0;

  /// The address for messages, without secrets: "redis://host:port/database".
  [[nodiscard]] std::string shown() const;
};

/// One key of the server holds at most so many bytes. Redis refuses more than 512 MiB, and while it takes in
/// or hands out one key it serves nobody else.
inline constexpr std::uint64_t kRedisPartBytes = std::uint64_t{4} << 20;

/// A reply that is no error.
using RedisReply = std::shared_ptr<redisReply>;

/// The text of a reply; nothing when the reply is nil or something else.
std::optional<std::string_view> text_of(const redisReply* reply);

/// What an error reply of Redis means for a caller. The protocol's code is the first word of `text`.
Error redis_error(const RedisAddress& address, const std::string& text);

/// A connection whose calls block; one thread at a time. After a call that failed with kUnavailable it must
/// not be used.
class RedisConnection {
 public:
  /// Connects, authenticates and selects the database. Ends early when `stop` is requested.
  static Result<std::unique_ptr<RedisConnection>> open(const RedisAddress& address,
                                                       const RequestLimits& limits,
                                                       const std::stop_token& stop);

  /// Sends a command and waits for its reply. `meter` is told when bytes of a value move in the direction
  /// `way`.
  Result<RedisReply> call(const std::vector<std::string_view>& command, Meter* meter = nullptr,
                          port::Transfer::Way way = port::Transfer::Way::kGet);
  /// Sends several commands at once. One that failed has a REDIS_REPLY_ERROR in its place.
  Result<std::vector<RedisReply>> call_all(const std::vector<std::vector<std::string>>& commands);

 private:
  struct Closing {
    int fd;
    void operator()() const noexcept;
  };
  RedisConnection(redisContext* context, RedisAddress address, Duration limit, const std::stop_token& stop);

  void append(const std::vector<std::string_view>& command);
  Result<Done> flush(Time deadline, Meter* meter);
  Result<RedisReply> next(Time deadline, Meter* meter);
  [[nodiscard]] tl::unexpected<Error> broken(const std::string& why) const;
  [[nodiscard]] Time deadline_for(std::uint64_t bytes) const;

  std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
  RedisAddress address_;
  Duration limit_;
  std::stop_callback<Closing> on_stop_;
};

}  // namespace banyan::runtime
