#include "runtime/data_store/redis_backend.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "runtime/data_store/test_server.h"
#include "runtime/data_store/test_store.h"

namespace banyan::runtime {
namespace {

constexpr const char* kServer = "/usr/bin/redis-server";
constexpr std::size_t kPart = kRedisPartBytes;

/// A redis-server that the test has for itself.
struct Redis {
  explicit Redis(std::vector<std::string> more = {}) : options(std::move(more)) { start(); }
  void start() {
    std::vector<std::string> command{kServer,         "--port", std::to_string(port), "--bind", "127.0.0.1",
                                     "--save",        "",       "--appendonly",       "no",     "--dir",
                                     directory.path()};
    command.insert(command.end(), options.begin(), options.end());
    server = std::make_unique<TestServer>(command, port, directory.path() / "log");
  }
  [[nodiscard]] std::string url(std::uint16_t at) const {
    return "redis://127.0.0.1:" + std::to_string(at) + "/2";
  }
  [[nodiscard]] std::string url() const { return url(port); }
  /// The server's answer to a command of the test, as text.
  std::string tell(const std::vector<std::string_view>& command) const {
    auto connection =
        RedisConnection::open({.host = "127.0.0.1", .port = port, .database = 2}, kPatientLimits, {});
    if (!connection) return connection.error().message;
    const auto reply = (*connection)->call(command);
    if (!reply) return reply.error().message;
    if ((*reply)->type == REDIS_REPLY_INTEGER) return std::to_string((*reply)->integer);
    return std::string(text_of(reply->get()).value_or("nothing"));
  }

  std::vector<std::string> options;
  TestDirectory directory;
  std::uint16_t port = free_port();
  std::unique_ptr<TestServer> server;
};

class RedisStore : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kServer)) GTEST_SKIP() << kServer << " is not installed";
  }
};

template <class T>
void expect_error(const Result<T>& result, ErrorKind kind, const std::string& part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, kind) << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

TEST_F(RedisStore, KeepsValues) {
  const Redis redis;
  auto store = open_store(redis.url());
  check_store(*store, {0, 1, 5000, kPart - 1, kPart, 3 * kPart, 3 * kPart + 17});
  EXPECT_EQ(redis.tell({"DBSIZE"}), "0") << "parts are left";
}

TEST_F(RedisStore, PartsDoNotExpireOnceTheyAreAValue) {
  const Redis redis;
  auto store = open_store(redis.url());
  ASSERT_TRUE(store->put("key", test_bytes(2 * kPart)));
  const std::string generation = redis.tell({"HGET", "banyan:key", "parts"});
  EXPECT_EQ(redis.tell({"TTL", "banyan-part:" + generation + ":1"}), "-1");
}

TEST_F(RedisStore, ReportsTransfers) {
  const Redis redis;
  std::vector<port::Transfer> seen;
  StoreOptions options;
  options.observer = [&](const port::Transfer& transfer) { seen.push_back(transfer); };
  auto store = open_store(redis.url(), options);
  ASSERT_TRUE(store->put("key", test_bytes(3 * kPart)));
  ASSERT_TRUE(store->get("key"));
  ASSERT_EQ(seen.size(), 2U);
  for (const port::Transfer& transfer : seen) {
    EXPECT_EQ(transfer.bytes, 3 * kPart);
    EXPECT_LT(transfer.latency, transfer.total);
  }
}

TEST_F(RedisStore, NeedsThePassword) {
  const Redis redis({"--requirepass", "open sesame"});
  const std::string at = "127.0.0.1:" + std::to_string(redis.port);
  expect_error(open_store(redis.url())->get("key"), ErrorKind::kDenied, "REDIS_PASSWORD");
  expect_error(open_store("redis://:wrong@" + at)->get("key"), ErrorKind::kDenied, "REDIS_PASSWORD");
  EXPECT_TRUE(open_store("redis://:open%20sesame@" + at)->put("key", test_bytes(1)));
  StoreOptions options;
  options.settings["REDIS_PASSWORD"] = "open sesame";
  EXPECT_TRUE(open_store("redis://" + at, options)->put("key", test_bytes(1)));
  EXPECT_TRUE(open_store("redis://default:open%20sesame@" + at)->put("key", test_bytes(1)));
}

TEST_F(RedisStore, SaysThatTheServerIsDown) {
  Redis redis;
  auto store = open_store(redis.url(), {.limits = kQuickLimits});
  ASSERT_TRUE(store->put("key", test_bytes(10)));
  redis.server->kill();
  expect_error(store->get("key"), ErrorKind::kUnavailable,
               "is it running and reachable from here? (tried 3 times)");
  expect_error(store->put("key", test_bytes(10)), ErrorKind::kUnavailable, "127.0.0.1");
}

TEST_F(RedisStore, ComesBackWithTheServer) {
  Redis redis;
  auto store = open_store(redis.url(), {.limits = {.attempts = 30, .pause = 100ms, .pause_max = 1s}});
  ASSERT_TRUE(store->put("key", test_bytes(10)));
  redis.server->kill();
  std::jthread writer([&] {
    const auto done = store->put("key", test_bytes(20));
    EXPECT_TRUE(done) << done.error().message;
  });
  std::this_thread::sleep_for(300ms);
  redis.start();
}

TEST_F(RedisStore, AServerThatHangsIsGivenUp) {
  const Redis redis;
  FaultProxy proxy(redis.port);
  proxy.silent = true;
  auto store = open_store(redis.url(proxy.port()), {.limits = kQuickLimits});
  const auto start = std::chrono::steady_clock::now();
  expect_error(store->get("key"), ErrorKind::kUnavailable, "does not answer");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  EXPECT_EQ(proxy.connections(), 3);
}

TEST_F(RedisStore, ASlowServerIsWaitedFor) {
  const Redis redis;
  FaultProxy proxy(redis.port);
  proxy.delay_ms = 200;
  auto store = open_store(redis.url(proxy.port()), {.limits = kPatientLimits});
  ASSERT_TRUE(store->put("key", test_bytes(100)));
  EXPECT_EQ(proxy.connections(), 1);
}

TEST_F(RedisStore, ACutConnectionIsMadeAgain) {
  const Redis redis;
  ASSERT_TRUE(open_store(redis.url())->put("key", test_bytes(3 * kPart)));
  FaultProxy proxy(redis.port);
  proxy.cut_after_bytes = 6'000'000;
  proxy.cuts = 1;
  auto store = open_store(redis.url(proxy.port()), {.limits = kPatientLimits});
  const auto got = store->get("key");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(*got == test_bytes(3 * kPart));
  EXPECT_EQ(proxy.connections(), 2);
}

TEST_F(RedisStore, ACommitWhoseAnswerGotLostKeepsItsParts) {
  const Redis redis;
  FaultProxy proxy(redis.port);
  auto store = open_store(redis.url(proxy.port()), {.limits = kPatientLimits});
  // SELECT and two SETEX are answered by +OK; then the answer to the script is cut.
  proxy.cut_after_bytes = 15;
  proxy.cuts = 1;
  ASSERT_TRUE(store->put("key", test_bytes(2 * kPart)));
  EXPECT_EQ(proxy.connections(), 2);
  const auto got = store->get("key");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(redis.tell({"DBSIZE"}), "3");
}

TEST_F(RedisStore, NoPartStaysWhenTheAnswerGetsLost) {
  const Redis redis;
  ASSERT_TRUE(open_store(redis.url())->put("key", test_bytes(3 * kPart, 1)));
  EXPECT_EQ(redis.tell({"DBSIZE"}), "4");
  {
    FaultProxy proxy(redis.port);
    auto store = open_store(redis.url(proxy.port()), {.limits = kPatientLimits});
    proxy.cut_after_bytes = 15;  // as above, the answer to the script is cut
    proxy.cuts = 1;
    ASSERT_TRUE(store->put("key", test_bytes(2 * kPart, 2)));
    EXPECT_EQ(redis.tell({"DBSIZE"}), "3");
  }
  FaultProxy proxy(redis.port);
  auto store = open_store(redis.url(proxy.port()), {.limits = kPatientLimits});
  proxy.cut_after_bytes = 5;  // only SELECT is answered
  proxy.cuts = 1;
  ASSERT_TRUE(store->remove("key"));
  EXPECT_EQ(redis.tell({"DBSIZE"}), "0");
}

TEST_F(RedisStore, AFullServerRefusesSmallValuesToo) {
  Redis redis;
  redis.tell({"CONFIG", "SET", "maxmemory", "8mb"});
  auto store = open_store(redis.url());
  int stored = 0;
  while (stored < 50 && store->put("key" + std::to_string(stored), test_bytes(1 << 20))) ++stored;
  EXPECT_GT(stored, 0);
  EXPECT_LT(stored, 10);
  EXPECT_TRUE(store->get("key0"));
}

TEST_F(RedisStore, FindsDamageWhereverItIs) {
  const Redis redis;
  auto store = open_store(redis.url());
  const auto damaged = [&](const std::vector<std::string_view>& command) {
    EXPECT_TRUE(store->put("small", Blob(std::string("a small value"))));
    EXPECT_TRUE(store->put("large", test_bytes(2 * kPart)));
    redis.tell(command);
  };
  damaged({"HSET", "banyan:small", "bytes", "a smalL value"});
  expect_error(store->get("small"), ErrorKind::kCorrupt, "checksum");
  damaged({"HSET", "banyan:small", "bytes", "a small"});
  expect_error(store->get("small"), ErrorKind::kCorrupt, "size");
  damaged({"HDEL", "banyan:small", "xxh3"});
  expect_error(store->get("small"), ErrorKind::kCorrupt, "no checksum");
  damaged({"HDEL", "banyan:small", "bytes"});
  expect_error(store->get("small"), ErrorKind::kCorrupt, "no parts");

  damaged({"PING"});
  const std::string part = "banyan-part:" + redis.tell({"HGET", "banyan:large", "parts"}) + ":1";
  redis.tell({"SETRANGE", part, "1000", "damage"});
  expect_error(store->get("large"), ErrorKind::kCorrupt, "checksum");
  redis.tell({"APPEND", part, "x"});
  expect_error(store->get("large"), ErrorKind::kCorrupt, "part 1");
  redis.tell({"DEL", part});
  expect_error(store->get("large"), ErrorKind::kCorrupt, "part 1");
  EXPECT_EQ(redis.tell({"EXISTS", "banyan:large"}), "1");
}

TEST_F(RedisStore, FindsBytesThatTheNetworkChanged) {
  const Redis redis;
  FaultProxy proxy(redis.port);
  auto store = open_store(redis.url(proxy.port()));
  ASSERT_TRUE(store->put("key", Blob(std::string("a small value"))));
  proxy.replace("small", "smoll");
  expect_error(store->get("key"), ErrorKind::kCorrupt, "checksum");
}

TEST_F(RedisStore, ReadsOneValueWhileItIsReplaced) {
  const Redis redis;
  auto store = open_store(redis.url());
  ASSERT_TRUE(store->put("key", test_bytes(2 * kPart, 0)));
  std::atomic<bool> over = false;
  std::jthread writer([&] {
    for (std::uint64_t seed = 1; seed < 15; ++seed)
      EXPECT_TRUE(store->put("key", test_bytes(2 * kPart, seed % 2)));
    over = true;
  });
  const Blob values[] = {test_bytes(2 * kPart, 0), test_bytes(2 * kPart, 1)};
  while (!over) {
    const auto got = store->get("key");
    if (got) {
      EXPECT_TRUE(*got == values[0] || *got == values[1]);
    } else {  // a reader that is too slow gets an error, and never a mixture of two values
      EXPECT_EQ(got.error().kind, ErrorKind::kUnavailable) << got.error().message;
    }
  }
  writer.join();
  EXPECT_TRUE(store->get("key"));
  EXPECT_EQ(redis.tell({"DBSIZE"}), "3");
}

TEST_F(RedisStore, AFullServerIsToldAndTheOldValueStays) {
  const Redis redis({"--maxmemory", "20mb", "--maxmemory-policy", "noeviction"});
  auto store = open_store(redis.url());
  ASSERT_TRUE(store->put("key", test_bytes(100)));
  expect_error(store->put("key", test_bytes(6 * kPart)), ErrorKind::kIo, "maxmemory");
  const auto got = store->get("key");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->size(), 100U);
  EXPECT_EQ(redis.tell({"DBSIZE"}), "1") << "parts are left";
}

TEST_F(RedisStore, LeavesOtherProgramsKeysAlone) {
  const Redis redis;
  auto store = open_store(redis.url());
  redis.tell({"SET", "theirs", "1"});
  expect_error(store->get("theirs"), ErrorKind::kNotFound, "theirs");
  redis.tell({"SET", "banyan:theirs", "1"});
  EXPECT_TRUE(store->list("")->empty());
  expect_error(store->put("theirs", test_bytes(1)), ErrorKind::kInvalid, "another program");
  EXPECT_EQ(redis.tell({"GET", "banyan:theirs"}), "1");
}

TEST_F(RedisStore, IsClosedInAnInstantWhileTheServerHangs) {
  const Redis redis;
  FaultProxy proxy(redis.port);
  proxy.silent = true;
  Loop loop;
  auto store = data_store_at(loop, redis.url(proxy.port())).value_or(nullptr);
  ASSERT_TRUE(store);
  for (int call = 0; call < 10; ++call) store->get("key", [](const Result<Blob>&) { FAIL(); });
  loop.io().run_for(200ms);
  const auto start = std::chrono::steady_clock::now();
  store.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
}

TEST(RedisUrl, SaysWhatIsWrong) {
  expect_error(blocking_store_at("redis:///0"), ErrorKind::kInvalid, "names no Redis server");
  expect_error(blocking_store_at("redis://host/zero"), ErrorKind::kInvalid, "no number");
  expect_error(blocking_store_at("redis://host/-1"), ErrorKind::kInvalid, "no number");
  expect_error(blocking_store_at("redis://host?tls=1"), ErrorKind::kInvalid, "no option 'tls'");
  expect_error(blocking_store_at("rediss://host"), ErrorKind::kInvalid, "scheme 'rediss'");
}

TEST(RedisError, FindsTheCodeAlsoInAScriptsMessage) {
  const RedisAddress address{.host = "h"};
  EXPECT_EQ(redis_error(address, "LOADING Redis is loading").kind, ErrorKind::kUnavailable);
  EXPECT_EQ(redis_error(address, "ERR Error running script: @user_script:1: WRONGTYPE Operation").kind,
            ErrorKind::kInvalid);
  EXPECT_EQ(redis_error(address, "OOM command not allowed").kind, ErrorKind::kIo);
  EXPECT_EQ(redis_error(address, "ERR ZOOM").kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace banyan::runtime
