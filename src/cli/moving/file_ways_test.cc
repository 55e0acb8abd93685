#include "cli/moving/file_ways.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace banyan::cli {
namespace {

using namespace std::chrono_literals;

class FileWaysTest : public ::testing::Test {
 protected:
  ~FileWaysTest() override { std::filesystem::remove_all(folder); }

  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("file_ways_" + std::to_string(getpid()));
  std::filesystem::path file = folder / "banyan" / "ways.json";
};

TEST_F(FileWaysTest, AreLearnedFromOneCommandToTheNext) {
  EXPECT_NEAR(FileWays(file).bytes_per_second("this machine"), 80e6, 1);
  for (int i = 0; i < 10; ++i) {
    FileWays ways(file);
    ways.wrote("this machine", 100'000'000, 10s);
    ways.read("this machine", 50'000'000, 5s);
  }
  const FileWays ways(file);
  EXPECT_EQ(ways.samples("this machine"), 20U);
  EXPECT_NEAR(ways.bytes_per_second("this machine"), 5e6, 1e6);
  EXPECT_NEAR(ways.bytes_per_second("s3://elsewhere"), 80e6, 1) << "each place by itself";
}

TEST_F(FileWaysTest, WithoutAFileOrWithADamagedOneAreTheAssumedOnes) {
  FileWays nowhere{{}};
  nowhere.wrote("this machine", 1'000'000, 1s);
  FileWays(folder / "file" / "below").wrote("this machine", 1'000'000, 1s);
  std::filesystem::create_directories(file);
  FileWays(file).wrote("this machine", 1'000'000, 1s);
  std::filesystem::remove(file);
  for (const char* text :
       {"", "[]", "{\"this machine\":7}", "{\"this machine\":{\"read\":[[1],[2,\"x\"],[-1,2]]}}",
        "{\"this machine\":{\"read\":{}}}", "{\"this machine\":"}) {
    std::ofstream(file) << text;
    EXPECT_EQ(FileWays(file).samples("this machine"), 0U) << text;
    EXPECT_NEAR(FileWays(file).bytes_per_second("this machine"), 80e6, 1) << text;
  }
}

}  // namespace
}  // namespace banyan::cli
