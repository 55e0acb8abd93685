#include "runtime/data_store/s3_backend.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "runtime/data_store/test_server.h"
#include "runtime/data_store/test_store.h"

namespace banyan::runtime {
namespace {

constexpr std::size_t kPart = 5 << 20;

/// A server that checks signatures: the one at $BANYAN_TEST_S3_PORT of loopback, with the bucket `bucket` and
/// the credentials of the environment, or else tests/s3/server.py.
class S3Server {
 public:
  S3Server() {
    if (const char* running = getenv("BANYAN_TEST_S3_PORT")) {
      port_ = static_cast<std::uint16_t>(atoi(running));
      return;
    }
    const std::string python = BANYAN_SOURCE_DIR "/build/s3-server/bin/python";
    if (!std::filesystem::exists(python)) {
      missing_ = python + " is not there: ./dev test unit installs it";
      return;
    }
    port_ = free_port();
    const auto keys = directory_.path() / "keys";
    server_ =
        std::make_unique<TestServer>(std::vector<std::string>{python, BANYAN_SOURCE_DIR "/tests/s3/server.py",
                                                              std::to_string(port_), keys},
                                     port_, directory_.path() / "log");
    for (int waited = 0; waited < 600 && !std::filesystem::exists(keys); ++waited)
      std::this_thread::sleep_for(50ms);
    std::ifstream(keys) >> owner_[0] >> owner_[1] >> stranger_[0] >> stranger_[1];
  }

  [[nodiscard]] const std::string& missing() const { return missing_; }
  [[nodiscard]] bool has_stranger() const { return !stranger_[0].empty(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] StoreOptions owner() const { return options(owner_[0], owner_[1]); }
  [[nodiscard]] StoreOptions stranger() const { return options(stranger_[0], stranger_[1]); }

 private:
  static StoreOptions options(const std::string& id, const std::string& secret) {
    StoreOptions options;
    options.limits = kQuickLimits;
    options.limits.answer = 5s;
    options.s3_part_bytes = kPart;
    if (!id.empty()) options.settings = {{"AWS_ACCESS_KEY_ID", id}, {"AWS_SECRET_ACCESS_KEY", secret}};
    return options;
  }

  TestDirectory directory_;
  std::uint16_t port_ = 0;
  std::string missing_;
  std::string owner_[2];
  std::string stranger_[2];
  std::unique_ptr<TestServer> server_;
};

class S3Store : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new S3Server(); }
  static void TearDownTestSuite() { delete std::exchange(server_, nullptr); }
  void SetUp() override {
    if (!server().missing().empty()) GTEST_SKIP() << server().missing();
    unsetenv("http_proxy");
  }

  static const S3Server& server() { return *server_; }
  /// The URL of a place in the bucket that this test has for itself, reached at `port`.
  static std::string url(std::uint16_t port, const std::string& bucket = "bucket") {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    return "s3://" + bucket + "/tests/" + test + "?endpoint=http://127.0.0.1:" + std::to_string(port);
  }
  static std::string url() { return url(server().port()); }
  static std::unique_ptr<BlockingStore> store() { return open_store(url(), server().owner()); }
  static std::unique_ptr<BlockingStore> store(const FaultProxy& proxy) {
    return open_store(url(proxy.port()), server().owner());
  }
  /// Makes a request of the test's own, below its place in the bucket.
  static S3Response raw(S3Request request) {
    const StoreOptions options = server().owner();
    const S3Address address = *s3_address(*parse_store_url(url()), options);
    S3Http http(address, *s3_credentials(options), options);
    if (!request.key.empty()) request.key = address.prefix + request.key;
    auto response = http.send(request);
    if (!response) throw std::runtime_error(response.error().message);
    return std::move(*response);
  }

 private:
  static S3Server* server_;
};

S3Server* S3Store::server_ = nullptr;

template <class T>
void expect_error(const Result<T>& result, ErrorKind kind, const std::string& part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, kind) << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

std::string answer(const std::string& status, const std::string& body = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}

TEST_F(S3Store, KeepsValues) { check_store(*store(), {0, 1, 5000, kPart - 1, kPart, 3 * kPart + 17}); }

TEST_F(S3Store, AnObjectIsTheValueAsItIs) {
  ASSERT_TRUE(store()->put("key", Blob(std::string("hello"))));
  EXPECT_EQ(raw({.method = "GET", .key = "key"}).body, "hello");
}

TEST_F(S3Store, ListsAllPages) {
  FaultProxy proxy(server().port());
  const auto entry = [](const std::string& key) {
    return "<Contents><Key>tests/ListsAllPages/" + key + "</Key><Size>3</Size></Contents>";
  };
  proxy.answer_with(
      {answer("200 OK", "<ListBucketResult>" + entry("b") +
                            "<NextContinuationToken>1/a+</NextContinuationToken></ListBucketResult>"),
       answer("200 OK",
              "<ListBucketResult>" + entry("not a key") + entry("a&amp;") + "</ListBucketResult>")});
  const auto found = store(proxy)->list("");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, (std::vector<port::StoredValue>{{"a&", 3}, {"b", 3}}));
  EXPECT_EQ(proxy.connections(), 2);
}

TEST_F(S3Store, ReportsTransfers) {
  std::vector<port::Transfer> seen;
  StoreOptions options = server().owner();
  options.observer = [&](const port::Transfer& transfer) { seen.push_back(transfer); };
  auto measured = open_store(url(), options);
  ASSERT_TRUE(measured->put("key", test_bytes(2 * kPart)));
  ASSERT_TRUE(measured->get("key"));
  ASSERT_EQ(seen.size(), 2U);
  for (const port::Transfer& transfer : seen) {
    EXPECT_EQ(transfer.bytes, 2 * kPart);
    EXPECT_GT(transfer.latency.count(), 0);
    EXPECT_LT(transfer.latency, transfer.total);
  }
}

TEST_F(S3Store, NeedsTheRightCredentials) {
  StoreOptions wrong = server().owner();
  wrong.settings["AWS_ACCESS_KEY_ID"] = wrong.setting("AWS_ACCESS_KEY_ID").value_or("");
  wrong.settings["AWS_SECRET_ACCESS_KEY"] = "wrong";
  expect_error(open_store(url(), wrong)->get("key"), ErrorKind::kDenied, "AWS_SECRET_ACCESS_KEY");
  expect_error(open_store(url(), wrong)->put("key", test_bytes(10)), ErrorKind::kDenied,
               "AWS_SECRET_ACCESS_KEY");
  expect_error(open_store(url(), wrong)->head("key"), ErrorKind::kDenied, "check the credentials");
  wrong.settings["AWS_ACCESS_KEY_ID"] = "AKIANOBODY";
  expect_error(open_store(url(), wrong)->list(""), ErrorKind::kDenied, "AWS_ACCESS_KEY_ID");
  if (!server().has_stranger()) return;
  expect_error(open_store(url(), server().stranger())->get("key"), ErrorKind::kDenied,
               "give these credentials");
}

TEST_F(S3Store, NeedsABucketThatIsThere) {
  auto none = open_store(url(server().port(), "no-such-bucket"), server().owner());
  expect_error(none->put("key", test_bytes(1)), ErrorKind::kInvalid, "create the bucket");
  expect_error(none->put("key", test_bytes(2 * kPart)), ErrorKind::kInvalid, "create the bucket");
  expect_error(none->get("key"), ErrorKind::kInvalid, "create the bucket");
  expect_error(none->list(""), ErrorKind::kInvalid, "create the bucket");
}

TEST_F(S3Store, SaysThatTheServerIsDown) {
  auto down = open_store(url(free_port()), server().owner());
  expect_error(down->get("key"), ErrorKind::kUnavailable, "reachable from here? (tried 3 times)");
  expect_error(down->put("key", test_bytes(2 * kPart)), ErrorKind::kUnavailable, "127.0.0.1");
}

TEST_F(S3Store, WaitsOutAServerThatIsBusy) {
  FaultProxy proxy(server().port());
  for (const char* status : {"503 Slow Down", "500 Internal Server Error", "429 Too Many Requests"}) {
    proxy.answer_with(answer(status), 2);
    const auto done = store(proxy)->put("key", test_bytes(100));
    EXPECT_TRUE(done) << status << ": " << done.error().message;
  }
  EXPECT_EQ(proxy.connections(), 9);
}

TEST_F(S3Store, GivesUpOnAServerThatStaysBusy) {
  FaultProxy proxy(server().port());
  proxy.answer_with(answer("503 Slow Down", "<Error><Code>SlowDown</Code></Error>"), 100);
  expect_error(store(proxy)->get("key"), ErrorKind::kUnavailable, "503 SlowDown (tried 3 times)");
  EXPECT_EQ(proxy.connections(), 3);
}

TEST_F(S3Store, DoesNotRepeatWhatIsRefused) {
  FaultProxy proxy(server().port());
  proxy.answer_with(answer("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>"), 100);
  expect_error(store(proxy)->get("key"), ErrorKind::kDenied, "AccessDenied");
  EXPECT_EQ(proxy.connections(), 1);
}

TEST_F(S3Store, AServerThatHangsIsGivenUp) {
  FaultProxy proxy(server().port());
  proxy.silent = true;
  StoreOptions options = server().owner();
  options.limits.answer = 500ms;
  auto hanging = open_store(url(proxy.port()), options);
  const auto start = std::chrono::steady_clock::now();
  expect_error(hanging->get("key"), ErrorKind::kUnavailable, "nothing moved for too long");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  EXPECT_EQ(proxy.connections(), 3);
}

TEST_F(S3Store, ASlowServerIsWaitedFor) {
  FaultProxy proxy(server().port());
  proxy.delay_ms = 300;
  auto slow = store(proxy);
  EXPECT_TRUE(slow->put("key", test_bytes(100)));
  EXPECT_TRUE(slow->get("key"));
  EXPECT_LE(proxy.connections(), 2);  // a server that closes connections needs one for each request
}

TEST_F(S3Store, ACutConnectionIsMadeAgain) {
  ASSERT_TRUE(store()->put("key", test_bytes(3 * kPart)));
  FaultProxy proxy(server().port());
  proxy.cut_after_bytes = 3'000'000;
  proxy.cuts = 2;
  const auto got = store(proxy)->get("key");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(*got == test_bytes(3 * kPart));
  proxy.cut_after_bytes = 0;
  proxy.cuts = 2;
  const auto put = store(proxy)->put("key", test_bytes(2 * kPart));
  EXPECT_TRUE(put) << put.error().message;
}

TEST_F(S3Store, AnUploadThatFailsIsAborted) {
  FaultProxy proxy(server().port());
  StoreOptions options = server().owner();
  options.limits.attempts = 1;
  proxy.cut_before("ETag");
  expect_error(open_store(url(proxy.port()), options)->put("key", test_bytes(3 * kPart)),
               ErrorKind::kUnavailable, "does not answer");
  const std::string uploads = raw({.method = "GET", .query = {{"uploads", ""}}}).body;
  EXPECT_EQ(uploads.find("AnUploadThatFailsIsAborted/key"), std::string::npos) << uploads;
  expect_error(store()->get("key"), ErrorKind::kNotFound, "key");
}

TEST_F(S3Store, ACompletionWhoseAnswerGotLostIsFound) {
  FaultProxy proxy(server().port());
  proxy.cut_before("CompleteMultipartUploadResult");
  const auto done = store(proxy)->put("key", test_bytes(2 * kPart));
  ASSERT_TRUE(done) << done.error().message;
  const auto got = store()->get("key");
  ASSERT_TRUE(got);
  EXPECT_TRUE(*got == test_bytes(2 * kPart));
}

TEST_F(S3Store, FindsDamageWhereverItIs) {
  const auto overwrite = [](const std::string& key, const Digest& checksum, const std::string& bytes) {
    const S3Response response = raw({.method = "PUT",
                                     .key = key,
                                     .headers = {{"x-amz-meta-banyan-xxh3", to_hex(checksum)}},
                                     .body = bytes});
    EXPECT_EQ(response.status, 200);
  };
  auto damaged = store();
  ASSERT_TRUE(damaged->put("key", Blob(std::string("a small value"))));
  overwrite("key", digest_of("a small value"), "a smalL value");
  expect_error(damaged->get("key"), ErrorKind::kCorrupt, "checksum");
  const std::string chunk = port::chunk_key(digest_of("one"));
  overwrite(chunk, digest_of("two"), "two");
  expect_error(damaged->get(chunk), ErrorKind::kCorrupt, "checksum");
  raw({.method = "PUT", .key = "key", .body = "a small value"});
  expect_error(damaged->get("key"), ErrorKind::kCorrupt, "no checksum in its metadata");
  std::string large(test_bytes(2 * kPart).view());
  large[kPart + 5] = static_cast<char>(large[kPart + 5] ^ 1);
  overwrite("large", digest_of(test_bytes(2 * kPart).view()), large);
  expect_error(damaged->get("large"), ErrorKind::kCorrupt, "checksum");
}

TEST_F(S3Store, FindsBytesThatTheNetworkChanged) {
  ASSERT_TRUE(store()->put("key", Blob(std::string("a small value"))));
  FaultProxy proxy(server().port());
  proxy.replace("small", "smoll");
  expect_error(store(proxy)->get("key"), ErrorKind::kCorrupt, "checksum");
}

TEST_F(S3Store, ReadsOneValueWhileItIsReplaced) {
  ASSERT_TRUE(store()->put("key", test_bytes(2 * kPart, 0)));
  std::atomic<bool> over = false;
  std::jthread writer([&] {
    auto writing = store();
    for (std::uint64_t seed = 1; seed < 5; ++seed)
      EXPECT_TRUE(writing->put("key", test_bytes(2 * kPart, seed % 2)));
    over = true;
  });
  const Blob values[] = {test_bytes(2 * kPart, 0), test_bytes(2 * kPart, 1)};
  auto reading = store();
  while (!over) {
    const auto got = reading->get("key");
    if (got) {
      EXPECT_TRUE(*got == values[0] || *got == values[1]);
    } else {  // a reader that is too slow gets an error, and never a mixture of two values
      EXPECT_EQ(got.error().kind, ErrorKind::kUnavailable) << got.error().message;
    }
  }
  EXPECT_TRUE(reading->get("key"));
}

TEST_F(S3Store, AnotherRegionIsNamed) {
  FaultProxy proxy(server().port());
  proxy.answer_with(
      "HTTP/1.1 301 Moved Permanently\r\nx-amz-bucket-region: eu-west-1\r\nContent-Length: 0\r\n"
      "Connection: close\r\n\r\n",
      1);
  expect_error(store(proxy)->head("key"), ErrorKind::kInvalid, "add ?region=eu-west-1 to the URL");
}

TEST_F(S3Store, AnythingElseThatAnswersIsNoS3Server) {
  FaultProxy proxy(server().port());
  proxy.answer_with(answer("200 OK", "<html>hello</html>"), 100);
  expect_error(store(proxy)->get("key"), ErrorKind::kCorrupt, "no checksum");
  expect_error(store(proxy)->put("key", test_bytes(2 * kPart)), ErrorKind::kInvalid,
               "does not answer as S3 does");
  proxy.answer_with("hello\r\n", 100);
  expect_error(store(proxy)->get("key"), ErrorKind::kInvalid, "check the endpoint");
}

TEST_F(S3Store, AnAnswerThatIsTooLargeIsNotTakenIn) {
  FaultProxy proxy(server().port());
  proxy.answer_with(answer("200 OK", std::string(kPart + 1, 'x')), 1);
  expect_error(store(proxy)->get("key"), ErrorKind::kInvalid, "more than was asked for");
}

TEST_F(S3Store, IsClosedSoonWhileTheServerHangs) {
  FaultProxy proxy(server().port());
  proxy.silent = true;
  Loop loop;
  auto hanging = data_store_at(loop, url(proxy.port()), server().owner()).value_or(nullptr);
  ASSERT_TRUE(hanging);
  for (int call = 0; call < 10; ++call) hanging->get("key", [](const Result<Blob>&) { FAIL(); });
  loop.io().run_for(200ms);
  const auto start = std::chrono::steady_clock::now();
  hanging.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
}

}  // namespace
}  // namespace banyan::runtime
