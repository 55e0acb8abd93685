#include "runtime/storage/rocks_disk.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/random.h"

namespace banyan::runtime {
namespace {

const SessionId kA{"session-a"}, kB{"session-b"};

raft::Entry entry(std::uint64_t index, std::uint64_t term, const std::string& data) {
  return {{term}, {index}, raft::EntryType::kCommand, Blob(data)};
}

class RocksDiskTest : public testing::Test {
 protected:
  RocksDiskTest()
      : path_(std::filesystem::temp_directory_path() /
              ("banyan-disk-" + Rng(std::random_device{}()).uuid())) {}
  ~RocksDiskTest() override { std::filesystem::remove_all(path_); }

  void open() {
    auto disk = RocksDisk::open(loop_, path_, [](const std::string& reason) { FAIL() << reason; });
    ASSERT_TRUE(disk.has_value()) << disk.error().message;
    disk_ = std::move(*disk);
  }
  void write(std::vector<node::DiskWrite> batch) {
    disk_->write(std::move(batch), [this] { loop_.stop(); });
    loop_.run();
    loop_.io().restart();
  }
  std::optional<Blob> read(const Digest& digest) {
    std::optional<Blob> found;
    disk_->read_chunk(digest, [&](std::optional<Blob> bytes) {
      found = std::move(bytes);
      loop_.stop();
    });
    loop_.run();
    loop_.io().restart();
    return found;
  }
  std::vector<node::StoredReplica> reopened() {
    disk_.reset();
    open();
    auto replicas = disk_->recover();
    EXPECT_TRUE(replicas.has_value());
    return replicas ? *replicas : std::vector<node::StoredReplica>{};
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
  Rng rng(5);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{1} << 20, (std::size_t{3} << 20) + 17}) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.next());
    const Digest digest = digest_of(bytes);
    EXPECT_FALSE(read(digest).has_value());
    write({node::PutChunk{digest, Blob(bytes)}});
    (void)reopened();
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
  const auto replicas = disk_->recover();
  ASSERT_TRUE(replicas.has_value());
  ASSERT_EQ(replicas->size(), 1U);
  EXPECT_EQ((*replicas)[0].meta, "kept");
}

TEST_F(RocksDiskTest, AStoreOfAnotherFormatIsRefused) {
  const std::filesystem::path file = path_;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << "not a directory";
  EXPECT_FALSE(RocksDisk::open(loop_, path_, [](const std::string&) {}).has_value());
}

}  // namespace
}  // namespace banyan::runtime
