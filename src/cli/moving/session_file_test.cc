#include "cli/moving/session_file.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace banyan::cli {
namespace {

class SessionFiles : public ::testing::Test {
 protected:
  SessionFiles() { std::filesystem::create_directories(folder); }
  ~SessionFiles() override { std::filesystem::remove_all(folder); }

  std::filesystem::path write(const std::vector<std::string>& chunks) {
    std::vector<FileChunk> list;
    for (const auto& chunk : chunks) list.push_back({digest_of(chunk), chunk.size()});
    auto file = SessionFileWriter::create(path, {{"chunks", listed(list)}, {"cells", 3}}, "the state");
    EXPECT_TRUE(file.has_value());
    for (const auto& chunk : chunks) EXPECT_TRUE(file->add(chunk).has_value());
    EXPECT_FALSE(std::filesystem::exists(path)) << "nothing is there before it is whole";
    EXPECT_TRUE(file->finish(keys).has_value());
    return path;
  }
  std::string bytes() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void overwrite(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }

  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("banyan-files-" + std::to_string(getpid()));
  std::filesystem::path path = folder / "x.banyan";
  Keys keys{folder / "keys"};
};

TEST_F(SessionFiles, ComeBackAsTheyWereWritten) {
  write({"one", std::string(100'000, 'x')});
  auto file = SessionFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->manifest()["cells"], 3);
  EXPECT_EQ(file->state(), "the state");
  std::vector<std::size_t> sizes;
  EXPECT_TRUE(file->each_chunk([&](const FileChunk&, const std::string& chunk) -> Result<Done> {
                    sizes.push_back(chunk.size());
                    return Done{};
                  })
                  .has_value());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 100'000}));
  EXPECT_EQ(*keys.name_of(file->public_key()), "you");
}

TEST_F(SessionFiles, OfOthersAreTakenWhenTheirKeyIsTrusted) {
  write({});
  const auto file = SessionFile::open(path);
  const Keys other(folder / "other");
  EXPECT_EQ(other.name_of(file->public_key()).error().kind, ErrorKind::kDenied);
  EXPECT_TRUE(other.trust(file->public_key(), "Ada Lovelace").has_value());
  EXPECT_EQ(*other.name_of(file->public_key()), "Ada Lovelace");
}

TEST_F(SessionFiles, AreRefusedWhereverAByteDiffers) {
  write({"one"});
  const std::string whole = bytes();
  for (std::size_t place = 0; place < whole.size(); ++place) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    overwrite(damaged);
    EXPECT_FALSE(SessionFile::open(path).has_value()) << "byte " << place;
  }
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    overwrite(whole.substr(0, size));
    EXPECT_FALSE(SessionFile::open(path).has_value()) << size << " bytes";
  }
  overwrite(whole + "x");
  EXPECT_FALSE(SessionFile::open(path).has_value());
}

TEST_F(SessionFiles, WithoutASignatureSaySo) {
  write({"one"});
  std::string unsigned_bytes = bytes();
  unsigned_bytes.replace(unsigned_bytes.size() - 96, 96, std::string(96, '\0'));
  overwrite(unsigned_bytes);
  const auto file = SessionFile::open(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->public_key(), "");
}

TEST_F(SessionFiles, LeaveNothingBehindWhenTheyAreNotFinished) {
  {
    auto file = SessionFileWriter::create(path, {{"chunks", nlohmann::json::array()}}, "state");
    ASSERT_TRUE(file);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_FALSE(SessionFileWriter::create(folder / "no" / "such" / "x", {}, "").has_value());
}

TEST_F(SessionFiles, AKeyThatIsNoneIsNotReplaced) {
  std::filesystem::create_directories(folder / "keys");
  std::ofstream(folder / "keys" / "signing.pem") << "no key";
  EXPECT_EQ(keys.sign("digest").error().kind, ErrorKind::kIo);
}

}  // namespace
}  // namespace banyan::cli
