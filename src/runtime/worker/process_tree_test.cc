#include "runtime/worker/process_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace banyan::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

class ProcessTreeTest : public ::testing::Test {
 protected:
  ProcessTreeTest() { std::filesystem::remove_all(proc_); }
  void add(int process, const std::string& name, int parent, int group) {
    std::filesystem::create_directories(proc_ / std::to_string(process));
    std::ofstream(proc_ / std::to_string(process) / "stat")
        << process << " (" << name << ") S " << parent << " " << group << " 0 0 -1 4194304\n";
  }
  const std::filesystem::path proc_ = std::filesystem::path(testing::TempDir()) / "process_tree_test";
};

TEST_F(ProcessTreeTest, ThoseThatAProcessHasStartedAreFoundOverGenerations) {
  add(1, "init", 0, 1);
  add(10, "python", 1, 10);
  add(11, "sh", 10, 11);
  add(12, "a) S 10 (b", 11, 11);
  add(13, "left behind", 1, 10);
  add(20, "python", 1, 20);
  add(21, "other", 20, 20);
  std::filesystem::create_directories(proc_ / "99");  // it has just ended
  std::filesystem::create_directories(proc_ / "sys");
  EXPECT_THAT(with_descendants({10, 20, 30}, proc_),
              ElementsAre(Pair(10, ElementsAre(10, 11, 12, 13)), Pair(20, ElementsAre(20, 21)),
                          Pair(30, ElementsAre(30))));
}

TEST_F(ProcessTreeTest, ACircleOfParentsEnds) {
  add(5, "a", 6, 5);
  add(6, "b", 5, 6);
  EXPECT_THAT(with_descendants({5}, proc_), ElementsAre(Pair(5, ElementsAre(5, 6))));
}

TEST_F(ProcessTreeTest, TheRealOnesAreRead) {
  EXPECT_THAT(with_descendants({getppid()}).at(getppid()), Contains(getpid()));
}

}  // namespace
}  // namespace banyan::runtime
