#include "runtime/data_store/data_store_at.h"

#include <gtest/gtest.h>
#include <thread>

#include "runtime/data_store/test_store.h"

namespace banyan::runtime {
namespace {

TEST(DataStoreAt, RefusesAnUnknownScheme) {
  Loop loop;
  const auto store = data_store_at(loop, "gopher://hole");
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(store.error().message,
            "no data store has the scheme 'gopher'; there are file:///directory, redis://host:port/database "
            "and s3://bucket/prefix");
}

TEST(DataStoreAt, AnswersOnTheLoopNeverInsideTheCall) {
  const TestDirectory directory;
  Loop loop;
  auto store = data_store_at(loop, "file://" + directory.path().string()).value_or(nullptr);
  ASSERT_TRUE(store);
  const auto here = std::this_thread::get_id();
  int answers = 0;
  const auto answered = [&] {
    EXPECT_TRUE(std::this_thread::get_id() == here);
    ++answers;
  };
  store->put("a/b", test_bytes(100), [&](const Result<Done>& done) {
    EXPECT_TRUE(done);
    answered();
  });
  EXPECT_EQ(answers, 0);
  ASSERT_TRUE(until(loop, [&] { return answers == 1; }));
  store->get("a/b", [&](const Result<Blob>& got) {
    EXPECT_TRUE(got && *got == test_bytes(100));
    answered();
  });
  store->head("a/b", [&](const Result<port::StoredValue>& head) {
    EXPECT_TRUE(head && head->bytes == 100);
    answered();
  });
  store->list("a/", [&](const Result<std::vector<port::StoredValue>>& list) {
    EXPECT_TRUE(list && list->size() == 1);
    answered();
  });
  ASSERT_TRUE(until(loop, [&] { return answers == 4; }));
  store->remove("a/b", [&](const Result<Done>& done) {
    EXPECT_TRUE(done);
    answered();
  });
  ASSERT_TRUE(until(loop, [&] { return answers == 5; }));
}

TEST(DataStoreAt, ReportsEachFinishedTransfer) {
  const TestDirectory directory;
  Loop loop;
  std::vector<port::Transfer> seen;
  StoreOptions options;
  options.observer = [&](const port::Transfer& transfer) { seen.push_back(transfer); };
  auto store = data_store_at(loop, "file://" + directory.path().string(), options).value_or(nullptr);
  ASSERT_TRUE(store);
  bool got = false;
  store->put("key", test_bytes(5000), [&](const Result<Done>&) {
    store->get("none",
               [&](const Result<Blob>&) { store->get("key", [&](const Result<Blob>&) { got = true; }); });
  });
  ASSERT_TRUE(until(loop, [&] { return got; }));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].way, port::Transfer::Way::kPut);
  EXPECT_EQ(seen[1].way, port::Transfer::Way::kGet);
  for (const port::Transfer& transfer : seen) {
    EXPECT_EQ(transfer.bytes, 5000U);
    EXPECT_GT(transfer.latency.count(), 0);
    EXPECT_GE(transfer.total, transfer.latency);
    EXPECT_LT(transfer.total, 30s);
  }
}

TEST(DataStoreAt, IsSilentAfterItWasDestroyed) {
  const TestDirectory directory;
  Loop loop;
  bool called = false;
  auto store = data_store_at(loop, "file://" + directory.path().string()).value_or(nullptr);
  ASSERT_TRUE(store);
  for (int call = 0; call < 50; ++call)
    store->put("key", test_bytes(100), [&](const Result<Done>&) { called = true; });
  store.reset();
  loop.io().run_for(50ms);
  EXPECT_FALSE(called);
}

TEST(DataStoreAt, ItsQueueIsBounded) {
  const TestDirectory directory;
  Loop loop;
  auto store = data_store_at(loop, "file://" + directory.path().string()).value_or(nullptr);
  ASSERT_TRUE(store);
  // A call counts until the loop has given its answer, so this many calls at once are too many.
  std::size_t refused = 0;
  std::size_t answers = 0;
  const std::size_t calls = kWaitingMax + 100;
  for (std::size_t call = 0; call < calls; ++call)
    store->head("none", [&](const Result<port::StoredValue>& head) {
      ++answers;
      refused += head.error().kind == ErrorKind::kUnavailable ? 1 : 0;
    });
  ASSERT_TRUE(until(loop, [&] { return answers == calls; }));
  EXPECT_EQ(refused, 96U);
  bool again = false;
  store->head("none", [&](const Result<port::StoredValue>& head) {
    EXPECT_EQ(head.error().kind, ErrorKind::kNotFound);
    again = true;
  });
  EXPECT_TRUE(until(loop, [&] { return again; }));
}

}  // namespace
}  // namespace banyan::runtime
