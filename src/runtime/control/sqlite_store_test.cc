#include "runtime/control/sqlite_store.h"

#include <gtest/gtest.h>

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

TEST_F(SqliteStoreTest, AFileThatIsNoDatabaseIsRefused) {
  std::ofstream(path_) << std::string(4096, 'x');
  const auto store = SqliteStore::open(loop_, path_, [](const std::string&) {});
  ASSERT_FALSE(store.has_value());
  EXPECT_NE(store.error().message.find(path_.string()), std::string::npos);
}

}  // namespace
}  // namespace banyan::runtime
