#include "runtime/control/sqlite_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/random.h"

namespace banyan::runtime {
namespace {

class SqliteStoreTest : public testing::Test {
 protected:
  SqliteStoreTest()
      : path_(std::filesystem::temp_directory_path() /
              ("banyan-store-" + Rng(std::random_device{}()).uuid())) {}
  ~SqliteStoreTest() override {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_.string() + suffix);
  }
  void put(SqliteStore& store, const std::string& key, const std::string& value) {
    store.put(key, value, [this] { loop_.stop(); });
    loop_.run();
    loop_.io().restart();
  }

  Loop loop_;
  std::filesystem::path path_;
};

TEST_F(SqliteStoreTest, RecordsComeBackAndEmptyOnesAreGone) {
  {
    auto store = SqliteStore::open(loop_, path_, [](const std::string& reason) { FAIL() << reason; });
    ASSERT_TRUE(store.has_value());
    put(**store, "session/1", std::string("with\0zero", 9));
    put(**store, "session/2", "old");
    put(**store, "session/2", "new");
    put(**store, "cell/1", "x");
    put(**store, "cell/1", "");
  }
  auto store = SqliteStore::open(loop_, path_, [](const std::string&) {});
  ASSERT_TRUE(store.has_value());
  const auto records = (*store)->load();
  ASSERT_TRUE(records.has_value());
  EXPECT_EQ(*records, (std::map<std::string, std::string>{{"session/1", std::string("with\0zero", 9)},
                                                          {"session/2", "new"}}));
}

TEST_F(SqliteStoreTest, RecordsAreAcknowledgedInOrderAndTheLastOneWins) {
  std::vector<int> order;
  {
    auto store = SqliteStore::open(loop_, path_, [](const std::string& reason) { FAIL() << reason; });
    ASSERT_TRUE(store.has_value());
    for (int i = 0; i < 100; ++i) {
      (*store)->put("key", std::to_string(i), [&, i] {
        order.push_back(i);
        if (i == 99) loop_.stop();
      });
    }
    loop_.run();
    loop_.io().restart();
  }
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  auto store = SqliteStore::open(loop_, path_, [](const std::string&) {});
  ASSERT_TRUE(store.has_value());
  EXPECT_EQ((*store)->load()->at("key"), "99");
}

TEST_F(SqliteStoreTest, ASecondGatewayIsRefused) {
  auto store = SqliteStore::open(loop_, path_, [](const std::string&) {});
  ASSERT_TRUE(store.has_value());
  const auto second = SqliteStore::open(loop_, path_, [](const std::string&) {});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, ErrorKind::kConflict);
  EXPECT_NE(second.error().message.find("in use"), std::string::npos) << second.error().message;
  store->reset();
  EXPECT_TRUE(SqliteStore::open(loop_, path_, [](const std::string&) {}).has_value());
}

TEST_F(SqliteStoreTest, AFileOfALaterVersionIsRefusedAndKept) {
  {
    ASSERT_TRUE(SqliteStore::open(loop_, path_, [](const std::string&) {}).has_value());
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA user_version = 2", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto store = SqliteStore::open(loop_, path_, [](const std::string&) {});
    ASSERT_FALSE(store.has_value());
    EXPECT_EQ(store.error().kind, ErrorKind::kConflict);
    EXPECT_NE(store.error().message.find("version 2"), std::string::npos) << store.error().message;
  }
}

TEST_F(SqliteStoreTest, AFailedWriteIsFatalAndAcknowledgesNothing) {
  int acknowledged = 0;
  std::string fatal;
  auto store = SqliteStore::open(loop_, path_, [&](const std::string& reason) {
    fatal = reason;
    loop_.stop();
  });
  ASSERT_TRUE(store.has_value());
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto ignored = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 64 << 10, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  (*store)->put("large", std::string(1 << 20, 'x'), [&] { ++acknowledged; });
  (*store)->put("next", "y", [&] { ++acknowledged; });
  loop_.run();
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, ignored);
  EXPECT_NE(fatal.find("control store"), std::string::npos) << fatal;
  (*store)->put("later", "z", [&] { ++acknowledged; });
  loop_.io().restart();
  loop_.io().poll();
  EXPECT_EQ(acknowledged, 0);
}

TEST_F(SqliteStoreTest, AFileThatIsNoDatabaseIsRefused) {
  std::ofstream(path_) << std::string(4096, 'x');
  const auto store = SqliteStore::open(loop_, path_, [](const std::string&) {});
  ASSERT_FALSE(store.has_value());
  EXPECT_NE(store.error().message.find(path_.string()), std::string::npos);
}

}  // namespace
}  // namespace banyan::runtime
