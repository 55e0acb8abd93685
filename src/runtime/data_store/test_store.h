// For tests: what every data store must do, and waiting for callbacks.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/data_store/data_store_at.h"

namespace banyan::runtime {

/// A directory that is removed with the test.
class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "banyan-store-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// So many bytes, random, so that no compression or repetition hides a mistake.
Blob test_bytes(std::size_t count, std::uint64_t seed = 1);

/// Opens the store of a URL; the test fails when that does not work.
std::unique_ptr<BlockingStore> open_store(const std::string& url, StoreOptions options = {});

/// Puts, gets, overwrites, lists and removes values of `sizes`: what port::DataStore promises of every store
/// that works. The store is empty, before and after.
void check_store(BlockingStore& store, const std::vector<std::size_t>& sizes);

/// Runs the loop until `condition`, at most half a minute.
bool until(Loop& loop, const std::function<bool()>& condition);

/// Limits for tests of stores that are down: they fail quickly.
inline const RequestLimits kQuickLimits{
    .attempts = 3, .connect = 500ms, .answer = 500ms, .pause = 10ms, .pause_max = 50ms};

/// Limits for servers that do answer, on a busy machine.
inline const RequestLimits kPatientLimits{
    .attempts = 3, .connect = 10s, .answer = 10s, .pause = 10ms, .pause_max = 50ms};

}  // namespace banyan::runtime
