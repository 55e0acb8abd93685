#include "runtime/data_store/redis_backend.h"

#include <string.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "runtime/data_store/quiet_pipes.h"
#include "runtime/data_store/retry.h"
#include "runtime/data_store/value_buffer.h"

namespace banyan::runtime {
namespace {

using Way = port::Transfer::Way;

constexpr std::string_view kKeys = "banyan:";
/// How long parts live that no hash names yet: longer than any put takes. What a put that died has left goes
/// then.
constexpr std::string_view kPartSeconds = "604800";
constexpr std::size_t kIdleMax = 4;
constexpr int kReplacedMax = 10;

/// The script that makes a value visible. KEYS: the hash, then the parts. ARGV: size, digest, generation (or
/// empty), bytes of a part, the bytes. HSET is the first command that writes, because it is the one that a
/// server without room refuses.
constexpr std::string_view kCommit = R"(
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then return redis.error_reply('OOM a part of the value was evicted') end
end
local kept = ARGV[3]
local old = redis.call('HMGET', KEYS[1], 'parts', 'size', 'part_bytes')
if kept == '' then
  redis.call('HSET', KEYS[1], 'size', ARGV[1], 'xxh3', ARGV[2], 'bytes', ARGV[5])
  redis.call('HDEL', KEYS[1], 'parts', 'part_bytes')
else
  redis.call('HSET', KEYS[1], 'size', ARGV[1], 'xxh3', ARGV[2], 'parts', kept, 'part_bytes', ARGV[4])
  redis.call('HDEL', KEYS[1], 'bytes')
end
for i = 2, #KEYS do redis.call('PERSIST', KEYS[i]) end
)";

constexpr std::string_view kRemove = R"(
local kept = ''
local old = redis.call('HMGET', KEYS[1], 'parts', 'size', 'part_bytes')
redis.call('DEL', KEYS[1])
)";

/// The end of both scripts: the parts of the value that was there before are removed in the same step, so
/// that they go even when the script's answer is lost.
constexpr std::string_view kDropOld = R"(
if old[1] and old[1] ~= kept then
  for n = 0, math.ceil(tonumber(old[2]) / tonumber(old[3])) - 1 do
    redis.call('UNLINK', 'banyan-part:' .. old[1] .. ':' .. string.format('%d', n))
  end
end
return 1)";

std::string hash_key(const std::string& key) { return std::string(kKeys) + key; }

std::string part_key(const std::string& generation, std::uint64_t number) {
  return "banyan-part:" + generation + ":" + std::to_string(number);
}

std::uint64_t part_count(std::uint64_t size, std::uint64_t part_bytes) {
  return (size + part_bytes - 1) / part_bytes;
}

std::optional<std::uint64_t> number_in(std::optional<std::string_view> text) {
  std::uint64_t number = 0;
  if (!text || text->empty()) return std::nullopt;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text->data() + text->size()) return std::nullopt;
  return number;
}

/// A pattern of SCAN that matches the keys that begin with `prefix`.
std::string glob(const std::string& prefix) {
  std::string pattern;
  for (const char letter : std::string(kKeys) + prefix) {
    if (std::string_view("*?[]\\^-").find(letter) != std::string_view::npos) pattern += '\\';
    pattern += letter;
  }
  return pattern + "*";
}

bool is_array(const redisReply& reply, std::size_t size) {
  return reply.type == REDIS_REPLY_ARRAY && reply.elements == size;
}

}  // namespace

Result<std::unique_ptr<RedisConnection>> RedisBackend::take_connection() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return RedisConnection::open(address_, options_.limits, options_.stop);
}

void RedisBackend::give_back(std::unique_ptr<RedisConnection> connection) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kIdleMax) idle_.push_back(std::move(connection));
}

template <class Work>
auto RedisBackend::with_connection(Work work) -> decltype(work(std::declval<RedisConnection&>())) {
  const QuietPipes quiet;
  return retry(options_.limits, options_.stop, [&]() -> decltype(work(std::declval<RedisConnection&>())) {
    auto connection = take_connection();
    if (!connection) return tl::unexpected(connection.error());
    auto result = work(**connection);
    if (result || result.error().kind != ErrorKind::kUnavailable) {
      give_back(std::move(*connection));
    } else {
      const std::lock_guard lock(mutex_);
      idle_.clear();  // the server has most likely closed these as well
    }
    return result;
  });
}

tl::unexpected<Error> RedisBackend::corrupt(const std::string& key, const std::string& why) const {
  return fail(ErrorKind::kCorrupt, "'" + key + "' in " + address_.shown() + " is damaged: " + why +
                                       "; put it again from another copy");
}

Result<Done> RedisBackend::put_parts(const std::string& generation, const Blob& value, Meter& meter) {
  const std::uint64_t count = part_count(value.size(), kRedisPartBytes);
  for (std::uint64_t number = 0; number < count; ++number) {
    const std::string name = part_key(generation, number);
    const std::string_view bytes = value.view().substr(number * kRedisPartBytes, kRedisPartBytes);
    auto stored = with_connection([&](RedisConnection& redis) {
      return redis.call({"SETEX", name, kPartSeconds, bytes}, &meter, Way::kPut);
    });
    if (!stored) return tl::unexpected(stored.error());
  }
  return Done{};
}

Result<Done> RedisBackend::put(const std::string& key, const Blob& value, const Digest& checksum,
                               Meter& meter) {
  const bool split = value.size() > kRedisPartBytes;
  const std::string generation = split ? thread_rng().uuid() : "";
  if (split) {
    if (auto done = put_parts(generation, value, meter); !done) {
      drop_parts(generation, value.size(), kRedisPartBytes);
      return done;
    }
  }
  std::vector<std::string> names{hash_key(key)};
  for (std::uint64_t number = 0; split && number < part_count(value.size(), kRedisPartBytes); ++number)
    names.push_back(part_key(generation, number));
  const std::string count = std::to_string(names.size());
  const std::string size = std::to_string(value.size());
  const std::string digest = to_hex(checksum);
  const std::string part_bytes = std::to_string(kRedisPartBytes);
  const std::string script = std::string(kCommit) + std::string(kDropOld);
  std::vector<std::string_view> command{"EVAL", script, count};
  command.insert(command.end(), names.begin(), names.end());
  command.insert(command.end(), {size, digest, generation, part_bytes});
  command.push_back(split ? std::string_view() : value.view());
  const auto replaced = with_connection(
      [&](RedisConnection& redis) { return redis.call(command, split ? nullptr : &meter, Way::kPut); });
  if (!replaced) {
    // With kUnavailable the script may have run, with only its answer lost: then the parts belong to the
    // value.
    if (split && replaced.error().kind != ErrorKind::kUnavailable)
      drop_parts(generation, value.size(), kRedisPartBytes);
    return tl::unexpected(replaced.error());
  }
  return Done{};
}

/// Removes parts where that works. Parts that stay only cost room until they expire.
void RedisBackend::drop_parts(const std::string& generation, std::uint64_t size, std::uint64_t part_bytes) {
  std::vector<std::vector<std::string>> commands;
  for (std::uint64_t number = 0; number < part_count(size, part_bytes); ++number)
    commands.push_back({"UNLINK", part_key(generation, number)});
  const QuietPipes quiet;
  auto connection = take_connection();
  if (connection && (*connection)->call_all(commands)) give_back(std::move(*connection));
}

Result<RedisBackend::Record> RedisBackend::read_record(const std::string& key, Meter& meter) {
  const std::string name = hash_key(key);
  const auto reply = with_connection([&](RedisConnection& redis) {
    return redis.call({"HMGET", name, "size", "xxh3", "bytes", "parts", "part_bytes"}, &meter);
  });
  if (!reply) return tl::unexpected(reply.error());
  if (!is_array(**reply, 5)) return corrupt(key, "its hash does not read");
  const auto field = [&](std::size_t at) { return text_of((*reply)->element[at]); };
  if (!field(0) && !field(1) && !field(2) && !field(3))
    return fail(ErrorKind::kNotFound, "the store " + address_.shown() + " has no '" + key + "'");
  const auto size = number_in(field(0));
  const auto checksum = digest_from_hex(field(1).value_or(""));
  if (!size || !checksum) return corrupt(key, "it has no size or no checksum");
  Record record{.size = *size, .checksum = *checksum};
  if (const auto bytes = field(2)) {
    if (bytes->size() != *size) return corrupt(key, "it has another size than it says");
    record.bytes = Blob(*reply, *bytes);
    return record;
  }
  record.generation = field(3).value_or("");
  record.part_bytes = number_in(field(4)).value_or(0);
  if (record.generation.empty() || record.part_bytes == 0 || record.part_bytes > (512 << 20) ||
      *size > kValueMax)
    return corrupt(key, "its hash names no parts");
  return record;
}

Result<Fetched> RedisBackend::get_parts(const std::string& key, const Record& record, Meter& meter) {
  auto buffer = ValueBuffer::allocate(record.size, options_.scratch_directory());
  if (!buffer) return tl::unexpected(buffer.error());
  for (std::uint64_t number = 0; number < part_count(record.size, record.part_bytes); ++number) {
    const std::string name = part_key(record.generation, number);
    const auto reply =
        with_connection([&](RedisConnection& redis) { return redis.call({"GET", name}, &meter); });
    if (!reply) return tl::unexpected(reply.error());
    const auto bytes = text_of(reply->get());
    const std::uint64_t start = number * record.part_bytes;
    if (!bytes || bytes->size() != std::min(record.part_bytes, record.size - start))
      return corrupt(key, "part " + std::to_string(number) + " is missing or cut");
    memcpy(buffer->data() + start, bytes->data(), bytes->size());
  }
  return Fetched{std::move(*buffer).blob(), record.checksum};
}

Result<Fetched> RedisBackend::get(const std::string& key, Meter& meter) {
  std::string missed;
  for (int replaced = 0;; ++replaced) {
    auto record = read_record(key, meter);
    if (!record) return tl::unexpected(record.error());
    if (record->generation.empty()) return Fetched{std::move(record->bytes), record->checksum};
    auto fetched = get_parts(key, *record, meter);
    // The parts are gone when the value was replaced or removed meanwhile: then another record, or none, is
    // there.
    if (fetched || fetched.error().kind != ErrorKind::kCorrupt || record->generation == missed)
      return fetched;
    missed = record->generation;
    if (replaced == kReplacedMax)
      return fail(ErrorKind::kUnavailable, "'" + key + "' in " + address_.shown() +
                                               " is replaced faster than it can be read; try again");
  }
}

Result<port::StoredValue> RedisBackend::head(const std::string& key) {
  const std::string name = hash_key(key);
  const auto reply =
      with_connection([&](RedisConnection& redis) { return redis.call({"HGET", name, "size"}); });
  if (!reply) return tl::unexpected(reply.error());
  if ((*reply)->type == REDIS_REPLY_NIL)
    return fail(ErrorKind::kNotFound, "the store " + address_.shown() + " has no '" + key + "'");
  const auto size = number_in(text_of(reply->get()));
  if (!size) return corrupt(key, "it has no size");
  return port::StoredValue{key, *size};
}

Result<Done> RedisBackend::remove(const std::string& key) {
  const std::string name = hash_key(key);
  const std::string script = std::string(kRemove) + std::string(kDropOld);
  const auto removed =
      with_connection([&](RedisConnection& redis) { return redis.call({"EVAL", script, "1", name}); });
  if (!removed) return tl::unexpected(removed.error());
  return Done{};
}

Result<std::vector<port::StoredValue>> RedisBackend::list(const std::string& prefix) {
  std::map<std::string, std::uint64_t> found;  // a map, because SCAN may name a key twice
  const std::string pattern = glob(prefix);
  std::string cursor = "0";
  do {
    const auto page = with_connection([&](RedisConnection& redis) {
      return redis.call({"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"});
    });
    if (!page) return tl::unexpected(page.error());
    const auto next = is_array(**page, 2) ? text_of((*page)->element[0]) : std::nullopt;
    if (!next) return fail(ErrorKind::kCorrupt, address_.shown() + " does not answer SCAN as Redis does");
    cursor = *next;
    const redisReply& names = *(*page)->element[1];
    std::vector<std::vector<std::string>> commands;
    for (std::size_t at = 0; at < names.elements; ++at)
      commands.push_back({"HGET", std::string(text_of(names.element[at]).value_or("")), "size"});
    const auto sizes = with_connection([&](RedisConnection& redis) { return redis.call_all(commands); });
    if (!sizes) return tl::unexpected(sizes.error());
    for (std::size_t at = 0; at < commands.size(); ++at) {
      const redisReply& reply = *(*sizes)[at];
      if (reply.type == REDIS_REPLY_ERROR && !std::string_view(reply.str, reply.len).starts_with("WRONGTYPE"))
        return fail(ErrorKind::kUnavailable, address_.shown() + " does not tell what it has: " + reply.str);
      const auto size = number_in(text_of(&reply));  // no size: the key was removed meanwhile, or is not ours
      if (!size || !commands[at][1].starts_with(kKeys)) continue;
      std::string key = commands[at][1].substr(kKeys.size());
      if (port::check_key(key)) found[std::move(key)] = *size;
    }
    if (found.size() > kListMax)
      return fail(ErrorKind::kTooLarge, "the store " + address_.shown() + " has more than " +
                                            std::to_string(kListMax) + " values below '" + prefix +
                                            "'; list a longer prefix");
  } while (cursor != "0");
  std::vector<port::StoredValue> values;
  for (const auto& [key, size] : found) values.push_back({key, size});
  return values;
}

}  // namespace banyan::runtime
