#include "cli/backup/session_backup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/data_store/data_store_at.h"

namespace banyan::cli {
namespace {

namespace fs = std::filesystem;

class SessionBackups : public ::testing::Test {
 protected:
  ~SessionBackups() override { fs::remove_all(folder); }

  /// Saves a backup with these chunks.
  Result<BackupWriter::Saved> save(BackupWriter& with, const std::vector<std::string>& chunks,
                                   const std::string& state = "the state") {
    std::vector<FileChunk> list;
    for (const auto& chunk : chunks) list.push_back({digest_of(chunk), chunk.size()});
    return with.save({{"session", "s1"}, {"cells", 3}}, state, list,
                     [&](const FileChunk& wanted) -> Result<std::string> {
                       for (const auto& chunk : chunks)
                         if (digest_of(chunk) == wanted.digest && chunk != broken) return chunk;
                       return fail(ErrorKind::kUnavailable, "no host sends it");
                     });
  }
  std::vector<std::string> stored() {
    const auto backup = SessionBackup::open(*store, "s1");
    std::vector<std::string> found;
    if (!backup) return found;
    for (const FileChunk& chunk : backup->chunks()) found.push_back(*backup->chunk(*store, chunk));
    return found;
  }
  std::size_t keys_in_store() { return store->list("")->size(); }
  fs::path file_of(const std::string& chunk) {
    return folder / "store/chunks-of/s1" / to_hex(digest_of(chunk));
  }

  fs::path folder = fs::temp_directory_path() / ("banyan-backups-" + std::to_string(getpid()));
  bool made = fs::create_directories(folder);
  std::unique_ptr<runtime::BlockingStore> store =
      *runtime::blocking_store_at("file://" + (folder / "store").string());
  Keys keys{folder / "keys"};
  bool stopped = false;
  BackupWriter writer{*store, keys, [this] { return stopped; }};
  std::string broken;
};

TEST_F(SessionBackups, SayWhereHostsFindTheirChunks) {
  ASSERT_TRUE(save(writer, {"one", "two"}));
  const auto backup = SessionBackup::open(*store, "s1");
  ASSERT_TRUE(backup);
  const session::Elsewhere there = backup->elsewhere();
  ASSERT_EQ(there.sha256.size(), 2U);
  for (const auto& [digest, sha256] : there.sha256) {
    const auto bytes = store->get(there.prefix + to_hex(digest));
    ASSERT_TRUE(bytes);
    EXPECT_EQ(sha256_of(bytes->view()), sha256);
  }
  EXPECT_EQ(backup->missing(*store).value_or(std::set{digest_of("")}), std::set<Digest>());
  fs::remove(file_of("one"));
  fs::resize_file(file_of("two"), fs::file_size(file_of("two")) - 1);
  EXPECT_EQ(*backup->missing(*store), (std::set{digest_of("one"), digest_of("two")}));
}

TEST_F(SessionBackups, ComeBackAsTheyWereSaved) {
  EXPECT_EQ(*writer.newest("s1"), nlohmann::json());
  EXPECT_EQ(save(writer, {"one", "two"})->chunks, 2U);
  const auto backup = SessionBackup::open(*store, "s1");
  ASSERT_TRUE(backup) << backup.error().message;
  EXPECT_EQ(backup->manifest(), (nlohmann::json{{"session", "s1"}, {"cells", 3}}));
  EXPECT_EQ(backup->state(), "the state");
  EXPECT_EQ(*keys.name_of(backup->public_key()), "you");
  EXPECT_EQ(stored(), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(*sessions_backed_up(*store), std::vector<std::string>{"s1"});
}

TEST_F(SessionBackups, OnlyWhatIsNewIsBroughtAndWhatIsNotUsedGoes) {
  ASSERT_TRUE(save(writer, {"one", "two"}));
  const auto saved = save(writer, {"two", "three"}, "later");
  EXPECT_EQ(saved->chunks, 1U);
  EXPECT_EQ(saved->bytes, 5U + 5U);
  EXPECT_EQ(stored(), (std::vector<std::string>{"two", "three"}));
  EXPECT_EQ(keys_in_store(), 3U);
}

TEST_F(SessionBackups, ALaterProcessGoesOnWhereOneStopped) {
  ASSERT_TRUE(save(writer, {"one", "two"}));
  BackupWriter later(*store, keys, [] { return false; });
  EXPECT_EQ((*later.newest("s1"))["cells"], 3);
  EXPECT_EQ(save(later, {"two", "three"})->chunks, 1U);
  EXPECT_EQ(keys_in_store(), 3U);
}

TEST_F(SessionBackups, OneThatIsCutShortLeavesTheOneBefore) {
  ASSERT_TRUE(save(writer, {"one", "two"}));
  broken = "four";
  EXPECT_EQ(save(writer, {"two", "three", "four"}).error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(stored(), (std::vector<std::string>{"one", "two"}));
  // The next backup, also one by another process, removes what this one has put already.
  BackupWriter later(*store, keys, [] { return false; });
  ASSERT_TRUE(save(later, {"two"}));
  EXPECT_EQ(keys_in_store(), 2U);
}

TEST_F(SessionBackups, WhatWasChangedInTheStoreIsNotTaken) {
  ASSERT_TRUE(save(writer, {"one", "two"}));
  ASSERT_TRUE(store->put("chunks-of/s1/" + to_hex(digest_of("one")), Blob(std::string("eno"))));
  fs::remove(file_of("two"));
  const auto backup = SessionBackup::open(*store, "s1");
  EXPECT_EQ(backup->chunk(*store, backup->chunks()[0]).error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(backup->chunk(*store, backup->chunks()[1]).error().kind, ErrorKind::kNotFound);
  std::string file(store->get("sessions/s1.banyan")->view());
  file[file.find("the state")] = 'T';
  ASSERT_TRUE(store->put("sessions/s1.banyan", Blob(file)));
  EXPECT_EQ(SessionBackup::open(*store, "s1").error().kind, ErrorKind::kCorrupt);
  // The next backup is whole again.
  BackupWriter later(*store, keys, [] { return false; });
  EXPECT_EQ(save(later, {"one", "two"})->chunks, 2U);
  EXPECT_EQ(stored(), (std::vector<std::string>{"one", "two"}));
}

TEST_F(SessionBackups, ChunksThatSomebodyElseVouchesForAreBroughtAgain) {
  ASSERT_TRUE(save(writer, {"one", "two"}));
  const Keys other(folder / "other");
  BackupWriter theirs(*store, other, [] { return false; });
  EXPECT_EQ(*theirs.newest("s1"), nlohmann::json());
  EXPECT_EQ(save(theirs, {"one", "two"})->chunks, 2U);
  EXPECT_FALSE(keys.name_of(SessionBackup::open(*store, "s1")->public_key()));
}

TEST_F(SessionBackups, WhatTheStoreLosesIsPutAgain) {
  ASSERT_TRUE(save(writer, {"one", "two", "three"}));
  fs::remove(file_of("one"));
  fs::resize_file(file_of("two"), 1);  // cut short
  EXPECT_EQ(save(writer, {"one", "two", "three"}, "later")->chunks, 2U);
  EXPECT_EQ(stored(), (std::vector<std::string>{"one", "two", "three"}));
  ASSERT_TRUE(*remove_backup(*store, "s1"));
  EXPECT_EQ(save(writer, {"one", "two", "three"}, "later")->chunks, 3U);
}

TEST_F(SessionBackups, OneThatIsStoppedLeavesTheOneBefore) {
  ASSERT_TRUE(save(writer, {"one", "two"}));
  stopped = true;
  EXPECT_EQ(save(writer, {"three"}).error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(stored(), (std::vector<std::string>{"one", "two"}));
}

TEST_F(SessionBackups, OfAnotherSessionIsNotTaken) {
  ASSERT_TRUE(save(writer, {"one"}));
  ASSERT_TRUE(store->put("sessions/s2.banyan", *store->get("sessions/s1.banyan")));
  EXPECT_EQ(SessionBackup::open(*store, "s2").error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(*writer.newest("s2"), nlohmann::json());
}

TEST_F(SessionBackups, ThatAreRemovedLeaveNothing) {
  ASSERT_TRUE(save(writer, {"one", "two"}));
  EXPECT_TRUE(*remove_backup(*store, "s1"));
  EXPECT_EQ(keys_in_store(), 0U);
  EXPECT_EQ(SessionBackup::open(*store, "s1").error().kind, ErrorKind::kNotFound);
  EXPECT_FALSE(*remove_backup(*store, "s1"));
  ASSERT_TRUE(store->put("chunks-of/s1/" + to_hex(digest_of("one")), Blob(std::string("one"))));
  EXPECT_TRUE(*remove_backup(*store, "s1")) << "what a backup that was cut short has left goes too";
}

TEST_F(SessionBackups, AnExportIsNoBackup) {
  const fs::path path = folder / "export.banyan";
  auto file =
      SessionFileWriter::create(path, {{"session", "s1"}, {"chunks", nlohmann::json::array()}}, "the state");
  ASSERT_TRUE(file->finish(keys));
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(store->put("sessions/s1.banyan", Blob(std::string(std::istreambuf_iterator<char>(in), {}))));
  const auto backup = SessionBackup::open(*store, "s1");
  EXPECT_EQ(backup.error().kind, ErrorKind::kCorrupt);
  EXPECT_NE(backup.error().message.find("sessions/s1"), std::string::npos);
}

}  // namespace
}  // namespace banyan::cli
