#include "runtime/storage/chunk_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "base/random.h"

namespace banyan::runtime {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

/// Chunks of noise, which lie in their files about as they are.
class ChunkFilesTest : public testing::Test {
 protected:
  ChunkFilesTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("banyan-chunks-" + Rng(std::random_device{}()).uuid())) {}
  ~ChunkFilesTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// As a process that starts, and finds records of these.
  void open(std::vector<ChunkPlace> used = {}) {
    auto files = ChunkFiles::open(folder_);
    ASSERT_TRUE(files.has_value()) << files.error().message;
    files_ = std::move(*files);
    files_->keep_only(std::move(used));
  }
  std::string noise(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng_.next());
    return bytes;
  }
  ChunkPlace store(ChunkFiles::Writer& writer, const std::string& bytes) {
    const auto place = writer.append(bytes);
    EXPECT_TRUE(place.has_value());
    EXPECT_TRUE(writer.sync().has_value());
    return *place;
  }
  bool reads(const ChunkPlace& place, const std::string& expected) {
    std::string bytes;
    return files_->read(place, bytes) && bytes == expected;
  }
  [[nodiscard]] std::uint64_t bytes_on_disk() const {
    std::uint64_t sum = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      struct stat status{};
      if (stat(file.path().c_str(), &status) == 0) sum += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return sum;
  }
  [[nodiscard]] std::size_t count() const {
    const std::filesystem::directory_iterator files(folder_);
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

  std::filesystem::path folder_;
  Rng rng_{7};
  std::unique_ptr<ChunkFiles> files_;
};

TEST_F(ChunkFilesTest, ChunksOfEverySizeAreReadBehindWhatIsThere) {
  open();
  ChunkFiles::Writer writer(*files_);
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{70'000}, std::size_t{kMiB}, std::size_t{3 * kMiB + 1}}) {
    const std::string bytes = noise(size);
    const ChunkPlace place = store(writer, bytes);
    EXPECT_EQ(place.size, size);
    std::string read = "before ";
    ASSERT_TRUE(files_->read(place, read));
    EXPECT_TRUE(read == "before " + bytes) << size;
  }
}

TEST_F(ChunkFilesTest, TheNextProcessWritesAnotherFile) {
  open();
  const std::string first = noise(kMiB), second = noise(kMiB);
  auto writer = std::make_unique<ChunkFiles::Writer>(*files_);
  const ChunkPlace one = store(*writer, first);
  writer.reset();
  open({one});
  ChunkFiles::Writer next(*files_);
  const ChunkPlace two = store(next, second);
  EXPECT_NE(one.file, two.file);
  EXPECT_TRUE(reads(one, first));
  EXPECT_TRUE(reads(two, second));
}

TEST_F(ChunkFilesTest, AfterSixtyFourMiBTheNextFileBegins) {
  open();
  ChunkFiles::Writer writer(*files_);
  const std::string bytes = noise(16 * kMiB);
  std::vector<ChunkPlace> places;
  for (int i = 0; i < 5; ++i) places.push_back(store(writer, bytes));
  EXPECT_EQ(places[0].file, places[3].file);
  EXPECT_NE(places[0].file, places[4].file);
  EXPECT_EQ(count(), 2U);
  files_->drop({places.begin(), places.begin() + 4});
  EXPECT_EQ(count(), 1U) << "it is full, and has no chunk";
  EXPECT_TRUE(reads(places[4], bytes));
}

TEST_F(ChunkFilesTest, TheRoomOfADroppedChunkIsGivenBackAtOnce) {
  open();
  ChunkFiles::Writer writer(*files_);
  std::vector<std::string> chunks;
  std::vector<ChunkPlace> places;
  for (int i = 0; i < 3; ++i) {
    chunks.push_back(noise(2 * kMiB));
    places.push_back(store(writer, chunks.back()));
  }
  files_->drop({places[1]});
  EXPECT_LT(bytes_on_disk(), 5 * kMiB);
  EXPECT_TRUE(reads(places[0], chunks[0]));
  EXPECT_FALSE(reads(places[1], chunks[1]));
  EXPECT_TRUE(reads(places[2], chunks[2]));
}

/// The process has ended between the end of a record and the hole.
TEST_F(ChunkFilesTest, WhatHasNoRecordGoesWhenTheFilesAreOpened) {
  open();
  std::vector<std::string> chunks;
  std::vector<ChunkPlace> places;
  {
    ChunkFiles::Writer writer(*files_);
    for (int i = 0; i < 4; ++i) {
      chunks.push_back(noise(2 * kMiB));
      places.push_back(store(writer, chunks.back()));
    }
  }
  open({places[2], places[0]});
  EXPECT_LT(bytes_on_disk(), 5 * kMiB);
  EXPECT_TRUE(reads(places[0], chunks[0]));
  EXPECT_FALSE(reads(places[1], chunks[1])) << "there is a hole";
  EXPECT_TRUE(reads(places[2], chunks[2]));
  EXPECT_FALSE(reads(places[3], chunks[3])) << "it is cut off";
  open({});
  EXPECT_EQ(count(), 0U);
}

/// Somebody has removed a file: its chunks are damaged, and those of later files must not be.
TEST_F(ChunkFilesTest, AFileThatIsGoneLeavesItsNumberToNoOther) {
  open();
  ChunkPlace lost;
  {
    ChunkFiles::Writer writer(*files_);
    lost = store(writer, noise(kMiB));
  }
  for (const auto& file : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(file);
  open({lost});
  ChunkFiles::Writer writer(*files_);
  const std::string bytes = noise(kMiB);
  const ChunkPlace place = store(writer, bytes);
  files_->drop({lost});
  EXPECT_TRUE(reads(place, bytes));
}

TEST_F(ChunkFilesTest, OtherFilesOfTheFolderStay) {
  open();
  std::ofstream(folder_ / "notes.txt") << "of somebody";
  open();
  EXPECT_EQ(count(), 1U);
}

TEST_F(ChunkFilesTest, APlaceThatIsNotThereIsNotRead) {
  open();
  ChunkFiles::Writer writer(*files_);
  const std::string bytes = noise(kMiB);
  ChunkPlace place = store(writer, bytes);
  for (const ChunkPlace& wrong :
       {ChunkPlace{.file = 77, .offset = 0, .length = 10, .size = 5},
        ChunkPlace{.file = place.file, .offset = 3, .length = 90, .size = 80},
        ChunkPlace{
            .file = place.file, .offset = place.offset, .length = place.length + 1, .size = place.size},
        ChunkPlace{
            .file = place.file, .offset = place.offset, .length = place.length, .size = place.size + 1}}) {
    std::string read;
    EXPECT_FALSE(files_->read(wrong, read)) << wrong.offset << ' ' << wrong.length;
  }
  EXPECT_TRUE(reads(place, bytes));
}

TEST_F(ChunkFilesTest, AFolderThatCannotBeMadeIsAClearError) {
  std::ofstream(folder_.string()) << "a file";
  const auto files = ChunkFiles::open(folder_ / "chunks");
  ASSERT_FALSE(files.has_value());
  EXPECT_NE(files.error().message.find("check the disk"), std::string::npos) << files.error().message;
}

}  // namespace
}  // namespace banyan::runtime
