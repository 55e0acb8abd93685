#include "runtime/storage/rocks_disk.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/random.h"
#include "runtime/storage/rocks_store.h"

namespace banyan::runtime {
namespace {

const SessionId kA{"session-a"}, kB{"session-b"};

raft::Entry entry(std::uint64_t index, std::uint64_t term, const std::string& data) {
  return {{term}, {index}, raft::EntryType::kCommand, Blob(data)};
}

std::string random_bytes(std::size_t size) {
  Rng rng(5);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.next());
  return bytes;
}

/// How many bytes this process has written to all files.
std::uint64_t written_by_this_process() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  while (io >> name >> bytes && name != "wchar:") {
  }
  return bytes;
}

/// While it lives, no file of this process grows beyond `bytes`: writes fail as on a full device.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

class RocksDiskTest : public testing::Test {
 protected:
  RocksDiskTest()
      : path_(std::filesystem::temp_directory_path() /
              ("banyan-disk-" + Rng(std::random_device{}()).uuid())) {}
  ~RocksDiskTest() override {
    disk_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  void open() {
    const auto fails = [](const std::string& reason) { FAIL() << reason; };
    auto disk = RocksDisk::open(loop_, path_, fails);
    for (int i = 0; i < 100 && !disk; ++i, disk = RocksDisk::open(loop_, path_, fails)) let_run();
    ASSERT_TRUE(disk.has_value()) << disk.error().message;
    disk_ = std::move(*disk);
  }
  void write(std::vector<node::DiskWrite> batch) {
    disk_->write(std::move(batch), [this] { loop_.stop(); });
    loop_.run();
    loop_.io().restart();
  }
  /// In the background.
  void store(const std::string& bytes) {
    disk_->store_chunk(digest_of(bytes), Blob(bytes), [this] { loop_.stop(); });
    loop_.run();
    loop_.io().restart();
  }
  /// Of files that hold chunks.
  [[nodiscard]] std::uint64_t bytes_of_files() const {
    std::uint64_t sum = 0;
    for (const auto& file : std::filesystem::directory_iterator(path_ / "chunks")) {
      struct stat status{};
      if (stat(file.path().c_str(), &status) == 0) sum += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return sum;
  }
  /// Lets the background do what it has to do.
  void let_run() {
    loop_.io().restart();
    loop_.io().poll();
    loop_.io().restart();
    std::this_thread::sleep_for(20ms);
  }
  /// Room is given back there.
  [[nodiscard]] bool shrinks_below(std::uint64_t bytes) {
    for (int i = 0; i < 200 && bytes_of_files() >= bytes; ++i) let_run();
    return bytes_of_files() < bytes;
  }
  std::optional<Blob> read(const Digest& digest, bool in_background = false) {
    std::optional<Blob> found;
    disk_->read_chunk({digest, in_background}, [&](std::optional<Blob> bytes) {
      found = std::move(bytes);
      loop_.stop();
    });
    loop_.run();
    loop_.io().restart();
    return found;
  }
  /// The largest file of the store whose name has this extension.
  [[nodiscard]] std::filesystem::path file_ending(const std::string& extension) const {
    std::filesystem::path largest;
    for (const auto& file : std::filesystem::recursive_directory_iterator(path_)) {
      if (file.path().extension() == extension &&
          (largest.empty() || file.file_size() > std::filesystem::file_size(largest)))
        largest = file.path();
    }
    return largest;
  }
  static void flip_byte(const std::filesystem::path& path, double place) {
    ASSERT_FALSE(path.empty());
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const auto offset =
        static_cast<std::streamoff>(place * static_cast<double>(std::filesystem::file_size(path)));
    file.seekg(offset);
    const int byte = file.get();
    file.seekp(offset);
    file.put(static_cast<char>(byte ^ 0x40));
  }
  std::vector<node::StoredReplica> reopened() {
    disk_.reset();
    open();
    auto all = disk_->recover();
    EXPECT_TRUE(all.has_value());
    return all ? all->replicas : std::vector<node::StoredReplica>{};
  }

  Loop loop_;
  std::filesystem::path path_;
  std::unique_ptr<RocksDisk> disk_;
};

TEST_F(RocksDiskTest, WhatWasWrittenIsThereAgain) {
  open();
  write({node::PutMeta{kA, "meta"}, node::PutHardState{kA, {{3}, {1}, {2}}},
         node::PutEntries{kA, {entry(1, 1, "one"), entry(2, 3, "two")}, {0}}, node::PutMeta{kB, "other"}});
  const auto replicas = reopened();
  ASSERT_EQ(replicas.size(), 2U);
  EXPECT_EQ(replicas[0].session, kA);
  EXPECT_EQ(replicas[0].meta, "meta");
  EXPECT_EQ(replicas[0].hard_state.term, raft::Term{3});
  ASSERT_EQ(replicas[0].entries.size(), 2U);
  EXPECT_EQ(replicas[0].entries[1].data.view(), "two");
  EXPECT_TRUE(replicas[1].entries.empty());
}

TEST_F(RocksDiskTest, WhatAHostKnowsOfItsSpeedsIsReplaced) {
  open();
  EXPECT_EQ(disk_->recover()->speeds, "");
  write({node::PutSpeeds{"one"}});
  write({node::PutSpeeds{"two"}});
  disk_.reset();
  open();
  EXPECT_EQ(disk_->recover()->speeds, "two");
}

TEST_F(RocksDiskTest, EntriesReplaceWhatConflicts) {
  open();
  write({node::PutMeta{kA, ""},
         node::PutEntries{kA, {entry(1, 1, "a"), entry(2, 1, "b"), entry(3, 1, "c")}, {0}}});
  write({node::PutEntries{kA, {entry(2, 2, "B")}, {1}}});
  auto replicas = reopened();
  ASSERT_EQ(replicas[0].entries.size(), 2U);
  EXPECT_EQ(replicas[0].entries[1].data.view(), "B");
  write({node::PutEntries{kA, {}, {1}}});
  replicas = reopened();
  EXPECT_EQ(replicas[0].entries.size(), 1U) << "a cut without new entries";
}

TEST_F(RocksDiskTest, ASnapshotDropsTheLogBeforeIt) {
  open();
  write({node::PutMeta{kA, ""},
         node::PutEntries{kA, {entry(1, 1, "a"), entry(2, 1, "b"), entry(3, 1, "c")}, {0}}});
  write({node::PutSnapshot{kA, {{2}, {1}, {}, Blob("state")}}});
  const auto replicas = reopened();
  ASSERT_TRUE(replicas[0].snapshot.has_value());
  EXPECT_EQ(replicas[0].snapshot->data.view(), "state");
  ASSERT_EQ(replicas[0].entries.size(), 1U);
  EXPECT_EQ(replicas[0].entries[0].index, raft::Index{3});
}

TEST_F(RocksDiskTest, OneReplicaCanBeLoadedAfterTheWritesBeforeIt) {
  open();
  const auto load = [this](const SessionId& session) {
    std::optional<node::StoredReplica> found;
    disk_->load_replica(session, [&](std::optional<node::StoredReplica> stored) {
      found = std::move(stored);
      loop_.stop();
    });
    loop_.run();
    loop_.io().restart();
    return found;
  };
  EXPECT_FALSE(load(kA).has_value());
  disk_->write({node::PutMeta{kA, "meta"}, node::PutHardState{kA, {{3}, {1}, {2}}},
                node::PutEntries{kA, {entry(1, 1, "one"), entry(2, 3, "two")}, {0}},
                node::PutMeta{kB, "other"}, node::PutEntries{kB, {entry(1, 1, "other")}, {0}}},
               [] {});
  const auto found = load(kA);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->session, kA);
  EXPECT_EQ(found->meta, "meta");
  EXPECT_EQ(found->hard_state.term.value, 3U);
  ASSERT_EQ(found->entries.size(), 2U);
  EXPECT_EQ(found->entries[1].data.view(), "two");
  write({node::DropReplica{kA}});
  EXPECT_FALSE(load(kA).has_value());
}

TEST_F(RocksDiskTest, ADroppedReplicaIsGone) {
  open();
  write({node::PutMeta{kA, ""}, node::PutEntries{kA, {entry(1, 1, "a")}, {0}}, node::PutMeta{kB, ""}});
  write({node::DropReplica{kA}});
  const auto replicas = reopened();
  ASSERT_EQ(replicas.size(), 1U);
  EXPECT_EQ(replicas[0].session, kB);
}

TEST_F(RocksDiskTest, ChunksOfEverySizeComeBack) {
  open();
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{1} << 20, (std::size_t{3} << 20) + 17}) {
    const std::string bytes = random_bytes(size);
    const Digest digest = digest_of(bytes);
    EXPECT_FALSE(read(digest).has_value());
    write({node::PutChunk{digest, Blob(bytes)}});
    disk_.reset();
    open();
    EXPECT_EQ(disk_->recover()->chunks, std::vector<Digest>{digest});
    const auto back = read(digest);
    ASSERT_TRUE(back.has_value()) << size;
    EXPECT_EQ(back->view(), bytes);
    write({node::DropChunk{digest}});
    EXPECT_FALSE(read(digest).has_value());
  }
}

TEST_F(RocksDiskTest, WritesAreAcknowledgedInOrder) {
  open();
  std::vector<int> order;
  for (int i = 0; i < 50; ++i) {
    disk_->write({node::PutMeta{kA, std::to_string(i)}}, [&order, i, this] {
      order.push_back(i);
      if (i == 49) loop_.stop();
    });
  }
  loop_.run();
  ASSERT_EQ(order.size(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  loop_.io().restart();
  EXPECT_EQ(reopened()[0].meta, "49");
}

TEST_F(RocksDiskTest, ATornTailGoesAndWhatWasBeforeStays) {
  open();
  write({node::PutMeta{kA, "kept"}});
  write({node::PutMeta{kA, "torn"}});
  disk_.reset();
  for (const auto& file : std::filesystem::directory_iterator(path_)) {
    if (file.path().extension() == ".log" && std::filesystem::file_size(file) > 8)
      std::filesystem::resize_file(file, std::filesystem::file_size(file) - 3);
  }
  open();
  const auto all = disk_->recover();
  ASSERT_TRUE(all.has_value());
  ASSERT_EQ(all->replicas.size(), 1U);
  EXPECT_EQ(all->replicas[0].meta, "kept");
}

TEST_F(RocksDiskTest, DamageBeforeTheTailIsAnError) {
  open();
  for (int i = 0; i < 20; ++i) write({node::PutMeta{kA, std::string(1000, 'x')}});
  disk_.reset();
  flip_byte(file_ending(".log"), 0.5);
  const auto disk = RocksDisk::open(loop_, path_, [](const std::string&) {});
  ASSERT_FALSE(disk.has_value()) << "what was acknowledged after the damage would be lost";
  EXPECT_EQ(disk.error().kind, ErrorKind::kCorrupt) << disk.error().message;
  EXPECT_NE(disk.error().message.find(path_.string()), std::string::npos) << disk.error().message;
}

TEST_F(RocksDiskTest, ADamagedChunkReadsAsAbsentAndCanBeStoredAgain) {
  open();
  const std::string bytes = random_bytes((2 << 20) + 5);
  write({node::PutChunk{digest_of(bytes), Blob(bytes)}});
  disk_.reset();
  flip_byte(file_ending(".chunks"), 0.5);
  open();
  const auto found = disk_->recover();
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->chunks, std::vector<Digest>{digest_of(bytes)});
  EXPECT_FALSE(read(digest_of(bytes)).has_value());
  write({node::PutChunk{digest_of(bytes), Blob(bytes)}});
  EXPECT_TRUE(read(digest_of(bytes)).has_value());
}

TEST_F(RocksDiskTest, AChunkDroppedAndStoredInOneBatchIsThere) {
  open();
  const std::string bytes = random_bytes(3 << 20);
  const Digest digest = digest_of(bytes);
  write({node::PutChunk{digest, Blob(bytes)}});
  write({node::DropChunk{digest}, node::PutChunk{digest, Blob(bytes)}});
  ASSERT_TRUE(read(digest).has_value());
  EXPECT_EQ(read(digest)->view(), bytes);
  write({node::PutChunk{digest, Blob(bytes)}, node::DropChunk{digest}});
  EXPECT_FALSE(read(digest).has_value());
}

TEST_F(RocksDiskTest, AReadSeesTheWritesBeforeIt) {
  open();
  const std::string bytes = random_bytes(1 << 20);
  const Digest digest = digest_of(bytes);
  std::vector<std::string> order;
  const auto note = [&](const std::string& what) {
    return [&order, what, this](const std::optional<Blob>& found) {
      order.push_back(what + (found ? " found" : " absent"));
      if (order.size() == 2) loop_.stop();
    };
  };
  disk_->read_chunk({digest}, note("before"));
  disk_->write({node::PutChunk{digest, Blob(bytes)}}, [] {});
  disk_->read_chunk({digest}, note("after"));
  loop_.run();
  EXPECT_EQ(order, (std::vector<std::string>{"before absent", "after found"}));
}

TEST_F(RocksDiskTest, AReadInTheBackgroundSeesTheWritesBeforeItToo) {
  open();
  const std::string bytes = random_bytes(1 << 20);
  disk_->write({node::PutChunk{digest_of(bytes), Blob(bytes)}}, [] {});
  EXPECT_TRUE(read(digest_of(bytes), true).has_value());
}

/// The device is full in the middle of a chunk, in one way and the other.
TEST_F(RocksDiskTest, BytesOfAChunkThatWasNeverFinishedGo) {
  const std::string bytes = random_bytes(3 << 20);
  const node::PutChunk chunk{digest_of(bytes), Blob(bytes)};
  for (const bool in_background : {false, true}) {
    {
      let_run();  // what the last one gives back is done
      auto store = RocksStore::open(path_);
      ASSERT_TRUE(store.has_value());
      const FileLimit limit(2 << 20);
      const auto failed = in_background ? (*store)->place({chunk}).map([](auto&&) { return Done{}; })
                                        : (*store)->store({chunk});
      ASSERT_FALSE(failed.has_value());
      EXPECT_NE(failed.error().message.find("make room on the disk"), std::string::npos)
          << failed.error().message;
    }
    open();
    EXPECT_EQ(bytes_of_files(), 0U);
    EXPECT_FALSE(read(chunk.digest).has_value());
    write({chunk});
    EXPECT_TRUE(read(chunk.digest).has_value());
    write({node::DropChunk{chunk.digest}});
    disk_.reset();
  }
}

/// The process ends between the bytes and the record that makes the chunk exist.
TEST_F(RocksDiskTest, WhatHasNoRecordIsCutOffAndWhatHasOneStays) {
  const std::string kept = random_bytes(1 << 20), lost = kept + "more";
  {
    auto store = RocksStore::open(path_);
    ASSERT_TRUE(store.has_value());
    const auto first = (*store)->place({{digest_of(kept), Blob(kept)}});
    ASSERT_TRUE(first.has_value());
    ASSERT_TRUE((*store)->store({}, *first).has_value());
    ASSERT_TRUE((*store)->place({{digest_of(lost), Blob(lost)}}).has_value());
  }
  open();
  EXPECT_LT(bytes_of_files(), kept.size() + kept.size() / 2);
  EXPECT_EQ(disk_->recover()->chunks, std::vector<Digest>{digest_of(kept)});
  ASSERT_TRUE(read(digest_of(kept)).has_value());
  EXPECT_EQ(read(digest_of(kept))->view(), kept);
}

TEST_F(RocksDiskTest, ChunksInTheBackgroundAreThereOnceTheyAreDurable) {
  open();
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{3}, std::size_t{200} << 10, std::size_t{3} << 20}) {
    const std::string bytes = random_bytes(size);
    store(bytes);
    ASSERT_TRUE(read(digest_of(bytes)).has_value()) << size;
    disk_.reset();
    open();
    EXPECT_EQ(disk_->recover()->chunks, std::vector<Digest>{digest_of(bytes)});
    EXPECT_EQ(read(digest_of(bytes))->view(), bytes);
    write({node::DropChunk{digest_of(bytes)}});
    EXPECT_FALSE(read(digest_of(bytes)).has_value());
  }
}

TEST_F(RocksDiskTest, ACommitDoesNotWaitForTheBackground) {
  open();
  std::vector<std::string> order;
  for (int i = 0; i < 64; ++i) {
    std::string bytes = random_bytes(1 << 20);
    bytes[0] = static_cast<char>(i);
    const Digest digest = digest_of(bytes);
    disk_->store_chunk(digest, Blob(std::move(bytes)), [&order, i, this] {
      order.emplace_back("chunk");
      if (i == 63) loop_.stop();
    });
  }
  disk_->write({node::PutMeta{kA, "meta"}}, [&order] { order.emplace_back("commit"); });
  loop_.run();
  ASSERT_EQ(order.size(), 65U);
  EXPECT_LT(std::ranges::find(order, "commit") - order.begin(), 32);
}

TEST_F(RocksDiskTest, AChunkThatIsStoredAgainIsThereOnce) {
  open();
  const std::string bytes = random_bytes(2 << 20);
  for (int i = 0; i < 5; ++i) {
    write({node::PutChunk{digest_of(bytes), Blob(bytes)}});
    store(bytes);
  }
  EXPECT_TRUE(shrinks_below(3U << 20));
  EXPECT_EQ(read(digest_of(bytes))->view(), bytes);
}

TEST_F(RocksDiskTest, LargeChunksAreWrittenOnce) {
  open();
  std::vector<std::string> chunks;
  for (int i = 0; i < 40; ++i) chunks.push_back(random_bytes((1 << 20) + static_cast<std::size_t>(i)));
  std::vector<node::DiskWrite> batch;
  for (const auto& chunk : chunks) batch.emplace_back(node::PutChunk{digest_of(chunk), Blob(chunk)});
  batch.emplace_back(node::PutMeta{kA, "meta"});
  write(std::move(batch));
  EXPECT_LT(std::filesystem::file_size(file_ending(".log")), 1U << 20) << "not in the write-ahead log too";
  ASSERT_EQ(reopened().size(), 1U);
  for (const auto& chunk : chunks) {
    const auto found = read(digest_of(chunk));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->view(), chunk);
  }
  write({node::DropChunk{digest_of(chunks[0])}, node::PutChunk{digest_of(chunks[1]), Blob(chunks[1])}});
  (void)reopened();
  EXPECT_FALSE(read(digest_of(chunks[0])).has_value());
  EXPECT_TRUE(read(digest_of(chunks[1])).has_value());
}

TEST_F(RocksDiskTest, WhatLivesIsNotWrittenAgainAndTheRoomOfOthersIsGivenBack) {
  open();
  constexpr std::uint64_t kWrites = 24;
  std::vector<Digest> chunks;
  const auto before = written_by_this_process();
  for (std::uint64_t i = 0; i < kWrites; ++i) {
    std::vector<node::DiskWrite> batch;
    for (std::uint64_t j = 0; j < 8; ++j) {
      std::string chunk = random_bytes(1 << 20);
      chunk[0] = static_cast<char>(i), chunk[1] = static_cast<char>(j);
      chunks.push_back(digest_of(chunk));
      batch.emplace_back(node::PutChunk{chunks.back(), Blob(std::move(chunk))});
    }
    write(std::move(batch));
  }
  const auto once = kWrites * 8 << 20;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (i % 8 != 0) write({node::DropChunk{chunks[i]}});
  }
  EXPECT_LT(written_by_this_process() - before, once + once / 50);
  EXPECT_TRUE(shrinks_below(once / 4));
  for (std::size_t i = 0; i < chunks.size(); i += 8) EXPECT_TRUE(read(chunks[i]).has_value());
  for (std::size_t i = 0; i < chunks.size(); i += 8) write({node::DropChunk{chunks[i]}});
  disk_.reset();
  open();
  EXPECT_EQ(bytes_of_files(), 0U) << "a file without chunks goes";
}

std::vector<node::DiskWrite> large_batch(std::vector<Digest>& digests) {
  std::vector<node::DiskWrite> batch{node::PutMeta{kA, "meta"}};
  for (int i = 0; i < 30; ++i) {
    std::string chunk = random_bytes(1 << 20);
    chunk[0] = static_cast<char>(i);
    digests.push_back(digest_of(chunk));
    batch.emplace_back(node::PutChunk{digests.back(), Blob(std::move(chunk))});
  }
  return batch;
}

/// Not a test: the process of the test below, which stores and ends before anything is closed.
TEST(StoringProcess, DISABLED_Store) {
  const char* const folder = std::getenv("BANYAN_TEST_STORE");
  ASSERT_NE(folder, nullptr);
  auto store = RocksStore::open(folder);
  std::vector<Digest> digests;
  _exit(store && (*store)->store(large_batch(digests)) ? 0 : 1);
}

TEST_F(RocksDiskTest, WhatWasAcknowledgedSurvivesTheProcess) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  setenv("BANYAN_TEST_STORE", path_.c_str(), 1);
  ASSERT_EQ(
      std::system(
          (self + " --gtest_also_run_disabled_tests --gtest_filter=StoringProcess.* >/dev/null").c_str()),
      0);
  open();
  std::vector<Digest> digests;
  (void)large_batch(digests);
  const auto found = disk_->recover();
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->replicas.size(), 1U);
  for (const Digest& digest : digests) EXPECT_TRUE(read(digest).has_value());
}

TEST_F(RocksDiskTest, AFailedWriteInTheBackgroundIsFatalOnceAndAcknowledgesNothing) {
  int acknowledged = 0;
  std::vector<std::string> fatal;
  auto disk = RocksDisk::open(loop_, path_, [&](const std::string& reason) {
    fatal.push_back(reason);
    loop_.stop();
  });
  ASSERT_TRUE(disk.has_value());
  const std::string bytes = random_bytes(1 << 20);
  {
    const FileLimit limit(64 << 10);
    (*disk)->store_chunk(digest_of(bytes), Blob(bytes), [&] { ++acknowledged; });
    loop_.run();
  }
  ASSERT_EQ(fatal.size(), 1U);
  EXPECT_NE(fatal[0].find("make room on the disk, then start the host agent again"), std::string::npos)
      << fatal[0];
  (*disk)->store_chunk(digest_of(bytes), Blob(bytes), [&] { ++acknowledged; });
  (*disk)->write({node::PutMeta{kA, "later"}}, [&] { ++acknowledged; });
  loop_.io().restart();
  const auto guard = boost::asio::make_work_guard(loop_.io());
  loop_.io().run_for(std::chrono::milliseconds(200));
  EXPECT_EQ(acknowledged, 0) << "also not when the disk works again";
  EXPECT_EQ(fatal.size(), 1U);
}

TEST_F(RocksDiskTest, AFailedWriteIsFatalAndAcknowledgesNothing) {
  int acknowledged = 0;
  std::string fatal;
  auto disk = RocksDisk::open(loop_, path_, [&](const std::string& reason) {
    fatal = reason;
    loop_.stop();
  });
  ASSERT_TRUE(disk.has_value());
  {
    const FileLimit limit(64 << 10);
    (*disk)->write({node::PutMeta{kA, std::string(1 << 20, 'x')}}, [&] { ++acknowledged; });
    (*disk)->write({node::PutMeta{kA, "next"}}, [&] { ++acknowledged; });
    loop_.run();
  }
  EXPECT_NE(fatal.find("Nothing is acknowledged"), std::string::npos) << fatal;
  (*disk)->write({node::PutMeta{kA, "later"}}, [&] { ++acknowledged; });
  loop_.io().restart();
  const auto guard = boost::asio::make_work_guard(loop_.io());
  loop_.io().run_for(std::chrono::milliseconds(200));
  EXPECT_EQ(acknowledged, 0) << "also not when the disk works again";
}

TEST_F(RocksDiskTest, AStoreInUseIsRefused) {
  open();
  const auto second = RocksDisk::open(loop_, path_, [](const std::string&) {});
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message.find(path_.string()), std::string::npos);
}

TEST_F(RocksDiskTest, AFolderThatIsAFileIsRefused) {
  std::ofstream(path_) << "not a directory";
  EXPECT_FALSE(RocksDisk::open(loop_, path_, [](const std::string&) {}).has_value());
}

}  // namespace
}  // namespace banyan::runtime
