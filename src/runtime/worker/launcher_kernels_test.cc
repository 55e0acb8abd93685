// Several kernels on one host: each has its own Python, which is tried when the host starts.

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/worker/test_host.h"

namespace banyan::runtime {
namespace {

namespace fs = std::filesystem;
using node::KernelState;
using ::testing::Contains;
using ::testing::HasSubstr;

session::Spec of(const std::string& kernel) {
  return {.kernel_name = kernel, .working_directory = {}, .env = {}};
}

/// A folder for scripts that stand for an interpreter.
class LauncherKernels : public testing::Test {
 protected:
  LauncherKernels() {
    std::string pattern = (fs::temp_directory_path() / "bk-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~LauncherKernels() override { fs::remove_all(folder_); }

  std::string script(const std::string& name, const std::string& text) const {
    const fs::path path = folder_ / name;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  /// A script that runs the Python of these tests with a variable in its environment.
  std::string python_saying(const std::string& word) const {
    return script(word, "SAYS=" + word + " exec '" + test_python().path + "' \"$@\"");
  }
  /// Adds kernels, by name and interpreter, to "python3".
  static std::function<void(WorkerConfig&)> with(
      const std::vector<std::pair<std::string, std::string>>& kernels) {
    return [kernels](WorkerConfig& config) {
      config.kernels[0].name = "python3";
      for (const auto& [name, python] : kernels)
        config.kernels.push_back({.name = name, .python = python, .python_path = {}, .preload = {}});
    };
  }
  static node::KernelReport report_of(const TestHost& host, const std::string& kernel) {
    for (const node::KernelReport& report : host.launcher->kernels())
      if (report.name == kernel) return report;
    return {};
  }
  static bool known(TestHost& host, const std::string& kernel, KernelState state) {
    return host.until([&] { return report_of(host, kernel).state == state; });
  }

  fs::path folder_;
};

TEST_F(LauncherKernels, EachSessionRunsInThePythonOfItsKernel) {
  NEEDS_PYTHON();
  TestHost host(with({{"one", python_saying("one")}, {"two", python_saying("two")}}));
  const WorkerId one = host.launch(of("one"));
  const WorkerId two = host.launch(of("two"));
  const WorkerId plain = host.launch(of("python3"));
  const std::string cell = "import os; print(os.environ.get('SAYS'))";
  EXPECT_EQ(host.run(one, cell).stream(), "one\n");
  EXPECT_EQ(host.run(two, cell).stream(), "two\n");
  EXPECT_EQ(host.run(plain, cell).stream(), "None\n");
}

TEST_F(LauncherKernels, WhatEachCanRunIsToldAndTheOthersWork) {
  NEEDS_PYTHON();
  const std::string empty = script("empty",
                                   "echo \"$0: Error while finding module specification for 'banyan.zygote' "
                                   "(ModuleNotFoundError: No module named 'banyan')\" >&2; exit 1");
  TestHost host(with({{"empty", empty}, {"missing", folder_ / "nowhere"}, {"good", python_saying("good")}}));
  ASSERT_TRUE(known(host, "good", KernelState::kRuns));
  EXPECT_EQ(report_of(host, "python3").state, KernelState::kRuns);
  EXPECT_THAT(report_of(host, "good").python, HasSubstr("3."));
  EXPECT_EQ(report_of(host, "empty").state, KernelState::kCannot);
  EXPECT_EQ(report_of(host, "empty").reason,
            empty + " has no package banyan; `" + empty +
                " -m pip install ./python` in Banyan's source folder installs it");
  EXPECT_EQ(report_of(host, "missing").reason,
            "there is no Python interpreter " + (folder_ / "nowhere").string());
  EXPECT_THAT(host.log, Contains(HasSubstr("the kernel \"empty\" cannot run on this host: ")));
  ASSERT_TRUE(host.until([&] {
    const auto* last = std::get_if<node::HostKernels>(&host.events.back());
    return last != nullptr && last->kernels == host.launcher->kernels();
  })) << "the gateway hears of the last change";
  EXPECT_EQ(host.end_of(host.launch_only(of("empty"))),
            "Python does not start it: " + report_of(host, "empty").reason);
  EXPECT_EQ(host.run(host.launch(of("good")), "print(1)").stream(), "1\n");
}

TEST_F(LauncherKernels, AKernelThatIsNotNamedIsRefused) {
  NEEDS_PYTHON();
  TestHost host(with({}));
  EXPECT_EQ(host.end_of(host.launch_only(of("other"))),
            "this host's configuration does not name the kernel \"other\"");
}

TEST_F(LauncherKernels, APackageOfAnotherProtocolIsRefused) {
  NEEDS_PYTHON();
  const fs::path package = folder_ / "path";
  fs::create_directories(package);
  std::ofstream(package / "sitecustomize.py")
      << "import banyan.worker.channel\nbanyan.worker.channel.PROTOCOL = 99\n";
  TestHost host([&](WorkerConfig& config) {
    with({{"newer", test_python().path}})(config);
    config.kernels[1].python_path = package.string();
  });
  ASSERT_TRUE(known(host, "newer", KernelState::kCannot));
  EXPECT_THAT(report_of(host, "newer").reason,
              HasSubstr("is of another version (0.1.0, its protocol is 99 and this host agent's is 1). If"));
  EXPECT_THAT(report_of(host, "newer").reason, HasSubstr("-m pip install ./python"));
}

TEST_F(LauncherKernels, WhatIsInstalledLaterIsFound) {
  NEEDS_PYTHON();
  TestHost host(with({{"late", folder_ / "late"}}));
  ASSERT_TRUE(known(host, "late", KernelState::kCannot));
  python_saying("late");
  ASSERT_TRUE(known(host, "late", KernelState::kRuns));
  EXPECT_EQ(host.run(host.launch(of("late")), "print(1)").stream(), "1\n");
}

TEST_F(LauncherKernels, AnInterpreterThatIsDeletedIsNoticedWhenItsZygoteEnds) {
  NEEDS_PYTHON();
  const std::string path = python_saying("gone");
  TestHost host(with({{"gone", path}}));
  const WorkerId worker = host.launch(of("gone"));
  const std::string parent = host.run(worker, "import os; print(os.getppid())").stream();
  fs::remove(path);
  ASSERT_EQ(kill(std::stoi(parent), SIGKILL), 0);
  host.end_of(worker);
  EXPECT_TRUE(known(host, "gone", KernelState::kCannot));
  EXPECT_TRUE(known(host, "python3", KernelState::kRuns));
}

TEST_F(LauncherKernels, AZygoteEndsWhenNobodyUsesItsKernelAndComesBack) {
  NEEDS_PYTHON();
  TestHost host([&](WorkerConfig& config) {
    with({{"rare", python_saying("rare")}})(config);
    config.kernel_idle = 300ms;
  });
  const WorkerId worker = host.launch(of("rare"));
  const int zygote = std::stoi(host.run(worker, "import os; print(os.getppid())").stream());
  host.settle(1s);
  EXPECT_EQ(kill(zygote, 0), 0) << "it has a worker";
  host.launcher->stop(worker, node::Stop::kKill);
  host.end_of(worker);
  EXPECT_TRUE(host.until([&] { return kill(zygote, 0) != 0; }));
  EXPECT_EQ(report_of(host, "rare").state, KernelState::kRuns) << "it still can";
  EXPECT_EQ(host.run(host.launch(of("rare")), "print(1)").stream(), "1\n");
  host.settle(1s);
  EXPECT_NE(host.launcher->zygote_pid(), 0) << "the first kernel's stays";
}

}  // namespace
}  // namespace banyan::runtime
