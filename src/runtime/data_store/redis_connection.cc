#include "runtime/data_store/redis_connection.h"

#include <string.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>

namespace banyan::runtime {
namespace {

/// A transfer slower than this counts as one that stands still.
constexpr std::uint64_t kBytesPerSecondMin = 64 << 10;

timeval to_timeval(Duration time) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  return {.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
}

Time now() { return Time(std::chrono::steady_clock::now().time_since_epoch()); }

/// Whether an error has this code. Redis before version 7 puts the code of an error that a script met into
/// the middle of the text.
bool has_code(const std::string& text, std::string_view code) {
  for (std::size_t at = text.find(code); at != std::string::npos; at = text.find(code, at + 1)) {
    const std::size_t end = at + code.size();
    if ((at == 0 || text[at - 1] == ' ') && (end == text.size() || text[end] == ' ')) return true;
  }
  return false;
}

RedisReply owned(void* reply) { return {static_cast<redisReply*>(reply), freeReplyObject}; }

}  // namespace

std::string RedisAddress::shown() const {
  return "redis://" + host + ":" + std::to_string(port) + "/" + std::to_string(database);
}

std::optional<std::string_view> text_of(const redisReply* reply) {
  if (reply == nullptr || (reply->type != REDIS_REPLY_STRING && reply->type != REDIS_REPLY_STATUS))
    return std::nullopt;
  return std::string_view(reply->str, reply->len);
}

Error redis_error(const RedisAddress& address, const std::string& text) {
  struct Meaning {
    std::string_view code;
    ErrorKind kind;
    std::string_view advice;
  };
  static constexpr std::string_view kPassword =
      "; put the password into the URL (redis://:password@host) or into REDIS_PASSWORD";
  static constexpr Meaning kMeanings[] = {
      {"NOAUTH", ErrorKind::kDenied, kPassword},
      {"WRONGPASS", ErrorKind::kDenied, kPassword},
      {"NOPERM", ErrorKind::kDenied, "; give this user's ACL the keys banyan* and the commands it names"},
      {"OOM", ErrorKind::kIo, "; raise the server's maxmemory or remove values"},
      {"MISCONF", ErrorKind::kIo, "; the server cannot save to its disk: see its log"},
      {"WRONGTYPE", ErrorKind::kInvalid,
       "; another program uses keys that begin with 'banyan': take another database"},
      {"MOVED", ErrorKind::kInvalid,
       "; a Redis Cluster cannot be a data store: name a server that stands alone"},
      {"CROSSSLOT", ErrorKind::kInvalid,
       "; a Redis Cluster cannot be a data store: name a server that stands alone"},
      {"LOADING", ErrorKind::kUnavailable, ""},
      {"BUSY", ErrorKind::kUnavailable, ""},
      {"TRYAGAIN", ErrorKind::kUnavailable, ""},
      {"MASTERDOWN", ErrorKind::kUnavailable, ""},
      {"NOREPLICAS", ErrorKind::kUnavailable, ""},
      {"READONLY", ErrorKind::kUnavailable, "; the server is a replica: name its master"},
  };
  const std::string what = "the Redis server at " + address.shown() + " says: " + text;
  for (const Meaning& meaning : kMeanings)
    if (has_code(text, meaning.code)) return {meaning.kind, what + std::string(meaning.advice)};
  if (text.find("max number of clients") != std::string::npos) return {ErrorKind::kUnavailable, what};
  // So AUTH answers where the server has no password, or, with Redis before version 6, where the password is
  // wrong.
  if (text.find("invalid password") != std::string::npos || text.find("AUTH") != std::string::npos)
    return {ErrorKind::kDenied, what + std::string(kPassword)};
  return {ErrorKind::kInvalid, what};
}

void RedisConnection::Closing::operator()() const noexcept { shutdown(fd, SHUT_RDWR); }

RedisConnection::RedisConnection(redisContext* context, RedisAddress address, Duration limit,
                                 const std::stop_token& stop)
    : context_(context, redisFree),
      address_(std::move(address)),
      limit_(limit),
      on_stop_(stop, Closing{context->fd}) {}

tl::unexpected<Error> RedisConnection::broken(const std::string& why) const {
  return fail(ErrorKind::kUnavailable, "the Redis server at " + address_.shown() + " does not answer: " +
                                           why + "; is it running and reachable from here?");
}

Time RedisConnection::deadline_for(std::uint64_t bytes) const {
  return now() + limit_ + std::chrono::seconds(bytes / kBytesPerSecondMin);
}

Result<std::unique_ptr<RedisConnection>> RedisConnection::open(const RedisAddress& address,
                                                               const RequestLimits& limits,
                                                               const std::stop_token& stop) {
  redisContext* context =
      redisConnectWithTimeout(address.host.c_str(), address.port, to_timeval(limits.connect));
  if (context == nullptr) return fail(ErrorKind::kUnavailable, "no memory for a connection to Redis");
  const std::string wrong = context->err == 0 ? "" : context->errstr;
  std::unique_ptr<RedisConnection> connection(new RedisConnection(context, address, limits.answer, stop));
  if (!wrong.empty()) return connection->broken(wrong);
  redisSetTimeout(context, to_timeval(limits.answer));
  redisEnableKeepAlive(context);
  if (address.password) {
    std::vector<std::string_view> auth{"AUTH"};
    if (!address.user.empty()) auth.emplace_back(address.user);
    auth.emplace_back(*address.password);
    if (auto reply = connection->call(auth); !reply) return tl::unexpected(reply.error());
  }
  const std::string database = std::to_string(address.database);
  if (auto reply = connection->call({"SELECT", database}); !reply) return tl::unexpected(reply.error());
  return connection;
}

void RedisConnection::append(const std::vector<std::string_view>& command) {
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  for (const std::string_view word : command) {
    words.push_back(word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), words.data(), sizes.data());
}

// hiredis' own loop limits each read and not the whole, so that a server which sends a byte now and then
// would hold us for ever.
Result<Done> RedisConnection::flush(Time deadline, Meter* meter) {
  for (int written = 0; written == 0;) {
    if (redisBufferWrite(context_.get(), &written) != REDIS_OK) return broken(context_->errstr);
    if (meter != nullptr) meter->moved();
    if (now() > deadline) return broken("it takes in too slowly");
  }
  return Done{};
}

Result<RedisReply> RedisConnection::next(Time deadline, Meter* meter) {
  for (;;) {
    void* reply = nullptr;
    if (redisGetReplyFromReader(context_.get(), &reply) != REDIS_OK) return broken(context_->errstr);
    if (reply != nullptr) return owned(reply);
    if (now() > deadline) return broken("it answers too slowly");
    if (redisBufferRead(context_.get()) != REDIS_OK) return broken(context_->errstr);
    if (meter != nullptr) meter->moved();
  }
}

Result<RedisReply> RedisConnection::call(const std::vector<std::string_view>& command, Meter* meter,
                                         port::Transfer::Way way) {
  append(command);
  std::uint64_t bytes = 0;
  for (const std::string_view word : command) bytes += word.size();
  const bool puts = way == port::Transfer::Way::kPut;
  if (auto done = flush(deadline_for(bytes), puts ? meter : nullptr); !done)
    return tl::unexpected(done.error());
  auto reply = next(deadline_for(kRedisPartBytes), puts ? nullptr : meter);
  if (reply && (*reply)->type == REDIS_REPLY_ERROR)
    return tl::unexpected(redis_error(address_, std::string((*reply)->str, (*reply)->len)));
  return reply;
}

Result<std::vector<RedisReply>> RedisConnection::call_all(
    const std::vector<std::vector<std::string>>& commands) {
  for (const auto& command : commands) append({command.begin(), command.end()});
  const Time deadline = deadline_for(kRedisPartBytes);
  if (auto done = flush(deadline, nullptr); !done) return tl::unexpected(done.error());
  std::vector<RedisReply> replies;
  for (std::size_t count = 0; count < commands.size(); ++count) {
    auto reply = next(deadline, nullptr);
    if (!reply) return tl::unexpected(reply.error());
    replies.push_back(std::move(*reply));
  }
  return replies;
}

}  // namespace banyan::runtime
