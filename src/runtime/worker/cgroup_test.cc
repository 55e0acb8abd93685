#include "runtime/worker/cgroup.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

namespace banyan::runtime {
namespace {

namespace fs = std::filesystem;

class CgroupFiles : public testing::Test {
 protected:
  CgroupFiles() {
    std::string pattern = (fs::temp_directory_path() / "cgroup-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~CgroupFiles() override { fs::remove_all(root_); }

  void file(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::string mounts(const std::string& lines) const {
    std::string result = lines;
    for (std::size_t at = 0; (at = result.find("ROOT", at)) != std::string::npos;)
      result.replace(at, 4, root_.string());
    return result;
  }

  fs::path root_;
};

TEST(Cgroup, WritesSizesForPeople) {
  EXPECT_EQ(bytes_text(512), "512 bytes");
  EXPECT_EQ(bytes_text(std::uint64_t{4} << 30), "4 GiB");
  EXPECT_EQ(bytes_text((std::uint64_t{1} << 20) * 3 / 2), "1.5 MiB");
}

TEST_F(CgroupFiles, Version1IsFoundByControllerAndOwnPath) {
  const auto found =
      find_hierarchies(mounts("31 23 0:28 / ROOT rw - tmpfs tmpfs rw\n"
                              "35 31 0:32 / ROOT/memory rw,relatime - cgroup cgroup rw,memory\n"
                              "36 31 0:33 / ROOT/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"),
                       "4:memory:/system/agent\n2:cpu,cpuacct:/\n8:pids:/\n");
  ASSERT_EQ(found.size(), 2U) << "pids is mounted nowhere";
  EXPECT_EQ(found.at(Controller::kMemory).version, 1);
  EXPECT_EQ(found.at(Controller::kMemory).parent, root_ / "memory/system/agent");
  EXPECT_EQ(found.at(Controller::kCpu).parent, root_ / "cpu");
}

TEST_F(CgroupFiles, Version2HoldsWhatItsGroupOffers) {
  file("agent.slice/cgroup.controllers", "cpu memory\n");
  const auto found =
      find_hierarchies(mounts("35 31 0:32 / ROOT rw - cgroup2 cgroup2 rw\n"), "0::/agent.slice\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found.at(Controller::kMemory).version, 2);
  EXPECT_EQ(found.at(Controller::kCpu).parent, root_ / "agent.slice");
}

TEST_F(CgroupFiles, AContainersMountShowsOnlyItsOwnPart) {
  const std::string lines = mounts("35 31 0:32 /docker/a1 ROOT rw - cgroup cgroup rw,memory\n");
  EXPECT_EQ(find_hierarchies(lines, "4:memory:/docker/a1/x\n").at(Controller::kMemory).parent, root_ / "x");
  EXPECT_TRUE(find_hierarchies(lines, "4:memory:/other\n").empty());
  EXPECT_TRUE(find_hierarchies(lines, "4:memory:/docker/a1/../..\n").empty());
  EXPECT_TRUE(find_hierarchies("garbage\n", "garbage\n::\n").empty());
}

TEST_F(CgroupFiles, WhatCannotBeLimitedIsNamed) {
  const Limits wanted{.memory_bytes = 1 << 30, .processes = 100, .cpus = std::nullopt};
  const Cgroups groups =
      Cgroups::probe({{Controller::kMemory, {1, root_ / "missing"}}}, "banyan-test", wanted);
  EXPECT_FALSE(groups.limits(Controller::kMemory));
  EXPECT_NE(groups.shortcomings().find("memory: cannot create"), std::string::npos) << groups.shortcomings();
  EXPECT_NE(groups.shortcomings().find("pids: there is no cgroup hierarchy"), std::string::npos);
  EXPECT_EQ(groups.shortcomings().find("cpu"), std::string::npos) << "not wanted, so not missed";
}

/// Runs against the kernel, in the groups of this process; skips where it may not.
class CgroupKernel : public testing::Test {
 protected:
  void SetUp() override {
    hierarchies_ = find_hierarchies(read_text("/proc/self/mountinfo"), read_text("/proc/self/cgroup"));
    const Cgroups groups = Cgroups::probe(hierarchies_, kName, limits_);
    if (!groups.shortcomings().empty()) GTEST_SKIP() << "no cgroups here: " << groups.shortcomings();
  }

  static constexpr const char* kName = "banyan-cgroup-test";
  std::map<Controller, Hierarchy> hierarchies_;
  Limits limits_{.memory_bytes = std::uint64_t{64} << 20, .processes = 8, .cpus = 0.5};
};

TEST_F(CgroupKernel, KillsAProcessOverItsMemoryAndCountsIt) {
  const Cgroups groups = Cgroups::probe(hierarchies_, kName, limits_);
  const Result<Cgroup> group = groups.create("w1", limits_);
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ(group->oom_kills(), 0U);
  std::array<int, 2> gate{};
  ASSERT_EQ(pipe(gate.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    char go = 0;
    if (read(gate[0], &go, 1) != 1) _exit(1);
    constexpr std::size_t kBytes = std::size_t{256} << 20;
    auto* memory = static_cast<volatile char*>(malloc(kBytes));
    for (std::size_t at = 0; at < kBytes; at += 4096) memory[at] = 1;
    _exit(0);
  }
  ASSERT_TRUE(group->add(child));
  ASSERT_EQ(write(gate[1], "g", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_GE(group->oom_kills(), 1U);
}

TEST_F(CgroupKernel, GroupsGoWithTheirOwnerAndSoDoStrayProcesses) {
  const fs::path parent = hierarchies_.at(Controller::kPids).parent / kName;
  pid_t child = 0;
  {
    const Cgroups groups = Cgroups::probe(hierarchies_, kName, limits_);
    const Result<Cgroup> group = groups.create("w1", limits_);
    ASSERT_TRUE(group) << group.error().message;
    child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    ASSERT_TRUE(group->add(child));
    EXPECT_TRUE(fs::exists(parent / "w1"));
  }
  EXPECT_FALSE(fs::exists(parent));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace banyan::runtime
