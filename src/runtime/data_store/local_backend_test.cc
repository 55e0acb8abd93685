#include "runtime/data_store/local_backend.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "runtime/data_store/retry.h"
#include "runtime/data_store/test_store.h"
#include "runtime/data_store/value_buffer.h"

namespace banyan::runtime {
namespace {

namespace fs = std::filesystem;

std::string url_of(const fs::path& folder) { return "file://" + folder.string(); }

/// A store with the system calls of the test.
BlockingStore store_with(const fs::path& folder, FileCalls calls) {
  auto backend = LocalBackend::open(folder, {}, calls);
  if (!backend) throw std::runtime_error(backend.error().message);
  return {std::move(*backend), {}};
}

std::size_t files_in(const fs::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) count += entry.is_regular_file() ? 1 : 0;
  return count;
}

void flip_byte(const fs::path& file, std::int64_t offset) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(offset);
  const int byte = stream.get();
  stream.seekp(offset);
  stream.put(static_cast<char>(byte ^ 1));
}

TEST(LocalStore, KeepsValues) {
  const TestDirectory directory;
  auto store = open_store(url_of(directory.path() / "a" / "store"));
  check_store(*store, {0, 1, 4096, (1 << 20) + 3, 5 << 20});
  EXPECT_EQ(files_in(directory.path()), 0U);
}

TEST(LocalStore, AFileIsTheValueAndATrailer) {
  const TestDirectory directory;
  auto store = open_store(url_of(directory.path()));
  ASSERT_TRUE(store->put("exports/s.banyan", Blob(std::string("hello"))));
  std::ifstream file(directory.path() / "exports/s.banyan", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(bytes.substr(0, 5), "hello");
  EXPECT_EQ(bytes.size(), 5 + LocalBackend::kTrailerBytes);
}

TEST(LocalStore, ALargeValueLiesInAMappedFile) {
  const TestDirectory directory;
  auto store = open_store(url_of(directory.path()));
  const Blob large = test_bytes(ValueBuffer::kMemoryMax + 12345);
  ASSERT_TRUE(store->put("large", large));
  const auto got = store->get("large");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(*got == large);
}

TEST(LocalStore, AFileIsMappedForAPut) {
  const TestDirectory directory;
  std::ofstream(directory.path() / "input", std::ios::binary) << "of a file";
  std::ofstream(directory.path() / "empty") << "";
  EXPECT_EQ(map_file(directory.path() / "input")->view(), "of a file");
  EXPECT_EQ(map_file(directory.path() / "empty")->view(), "");
  EXPECT_EQ(map_file(directory.path() / "none").error().kind, ErrorKind::kNotFound);
}

TEST(LocalStore, FindsEveryDamagedByteAndEveryCut) {
  const TestDirectory directory;
  auto store = open_store(url_of(directory.path()));
  const fs::path file = directory.path() / "value";
  const auto corrupt = [&] {
    const auto got = store->get("value");
    return !got && got.error().kind == ErrorKind::kCorrupt;
  };
  const std::size_t bytes = 100 + LocalBackend::kTrailerBytes;
  for (std::size_t at = 0; at < bytes; ++at) {
    ASSERT_TRUE(store->put("value", test_bytes(100)));
    flip_byte(file, static_cast<std::int64_t>(at));
    EXPECT_TRUE(corrupt()) << "byte " << at;
    EXPECT_TRUE(fs::exists(file));
  }
  for (std::size_t left = 0; left < bytes; ++left) {
    ASSERT_TRUE(store->put("value", test_bytes(100)));
    fs::resize_file(file, left);
    EXPECT_TRUE(corrupt()) << left << " bytes left";
  }
  ASSERT_TRUE(store->put("value", test_bytes(100)));
  std::ofstream(file, std::ios::app) << "more";
  EXPECT_TRUE(corrupt());
}

TEST(LocalStore, AnotherChunkUnderAChunksKeyIsCorrupt) {
  const TestDirectory directory;
  auto store = open_store(url_of(directory.path()));
  const Blob one = test_bytes(50, 1);
  const Blob two = test_bytes(50, 2);
  const std::string key_one = port::chunk_key(digest_of(one.view()));
  const std::string key_two = port::chunk_key(digest_of(two.view()));
  ASSERT_TRUE(store->put(key_one, one));
  ASSERT_TRUE(store->put(key_two, two));
  fs::copy_file(directory.path() / key_two, directory.path() / key_one, fs::copy_options::overwrite_existing);
  const auto got = store->get(key_one);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::kCorrupt);
}

TEST(LocalStore, AFullDiskIsToldAndTheOldValueStays) {
  const TestDirectory directory;
  auto calls = system_file_calls();
  auto store = store_with(directory.path(), calls);
  ASSERT_TRUE(store.put("value", test_bytes(10)));
  calls.write = [](int, const void*, std::size_t) -> ssize_t {
    errno = ENOSPC;
    return -1;
  };
  auto full = store_with(directory.path(), calls);
  const auto done = full.put("value", test_bytes(20));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::kIo);
  EXPECT_NE(done.error().message.find("make room"), std::string::npos) << done.error().message;
  EXPECT_TRUE(*store.get("value") == test_bytes(10));
  EXPECT_EQ(files_in(directory.path()), 1U);
}

TEST(LocalStore, AFailedSyncIsNotTriedAgain) {
  const TestDirectory directory;
  auto store = store_with(directory.path(), system_file_calls());
  ASSERT_TRUE(store.put("value", test_bytes(10)));
  static int syncs = 0;
  syncs = 0;
  auto calls = system_file_calls();
  calls.fsync = [](int) {
    ++syncs;
    errno = EIO;
    return -1;
  };
  auto broken = store_with(directory.path(), calls);
  const auto done = broken.put("value", test_bytes(20));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::kIo);
  EXPECT_NE(done.error().message.find("the disk may be failing"), std::string::npos) << done.error().message;
  EXPECT_EQ(syncs, 1);
  EXPECT_TRUE(*store.get("value") == test_bytes(10));
}

TEST(LocalStore, AnUnreadableSectorIsTold) {
  const TestDirectory directory;
  ASSERT_TRUE(store_with(directory.path(), system_file_calls()).put("value", test_bytes(10)));
  auto calls = system_file_calls();
  calls.read = [](int, void*, std::size_t) -> ssize_t {
    errno = EIO;
    return -1;
  };
  const auto got = store_with(directory.path(), calls).get("value");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::kIo);
}

TEST(LocalStore, ACrashInAPutLeavesTheOldValueOrTheNew) {
  const TestDirectory directory;
  auto store = open_store(url_of(directory.path()));
  ASSERT_TRUE(store->put("value", test_bytes(3 << 20, 1)));
  static int left = 0;
  for (int steps = 0; steps < 8; ++steps) {
    const pid_t child = fork();
    if (child == 0) {  // the child dies at its step: writes of 1 MiB each, then syncs
      for (int i = 0; i < steps; ++i)
        (void)thread_rng().uuid();  // so that names differ from those of earlier children
      left = steps;
      auto calls = system_file_calls();
      calls.write = [](int fd, const void* bytes, std::size_t count) {
        if (left-- == 0) _exit(9);
        return ::write(fd, bytes, count);
      };
      calls.fsync = [](int fd) {
        if (left-- == 0) _exit(9);
        return ::fsync(fd);
      };
      auto dying = store_with(directory.path(), calls);
      (void)dying.put("value", test_bytes(3 << 20, 2)).has_value();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), steps < 6 ? 9 : 0) << "step " << steps;
    const auto got = store->get("value");
    ASSERT_TRUE(got) << "after step " << steps << ": " << got.error().message;
    EXPECT_TRUE(*got == test_bytes(3 << 20, 1) || *got == test_bytes(3 << 20, 2)) << "after step " << steps;
    EXPECT_EQ(store->list("")->size(), 1U);
  }
}

TEST(LocalStore, DropsWhatACrashLeftADayAgo) {
  const TestDirectory directory;
  const fs::path incoming = directory.path() / ".incoming";
  fs::create_directory(incoming);
  std::ofstream(incoming / "old") << "x";
  std::ofstream(incoming / "new") << "x";
  fs::last_write_time(incoming / "old", fs::file_time_type::clock::now() - std::chrono::hours(25));
  auto store = open_store(url_of(directory.path()));
  EXPECT_FALSE(fs::exists(incoming / "old"));
  EXPECT_TRUE(fs::exists(incoming / "new"));
  EXPECT_TRUE(store->list("")->empty());
}

TEST(LocalStore, AKeyCannotLeadThroughAValue) {
  const TestDirectory directory;
  auto store = open_store(url_of(directory.path()));
  ASSERT_TRUE(store->put("a", test_bytes(1)));
  ASSERT_TRUE(store->put("d/e", test_bytes(1)));
  for (const char* key : {"a/b", "d"}) {
    const auto done = store->put(key, test_bytes(1));
    ASSERT_FALSE(done) << key;
    EXPECT_EQ(done.error().kind, ErrorKind::kInvalid) << done.error().message;
    EXPECT_EQ(store->get(key).error().kind, ErrorKind::kNotFound);
    EXPECT_EQ(store->head(key).error().kind, ErrorKind::kNotFound);
    EXPECT_TRUE(store->remove(key));
  }
}

TEST(LocalStore, NeedsADirectoryThatItMayUse) {
  EXPECT_EQ(blocking_store_at("file:///dev/null/store").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(blocking_store_at("file://var/store").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(blocking_store_at("file:///").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(blocking_store_at("file:///tmp/x?y=1").error().kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace banyan::runtime
