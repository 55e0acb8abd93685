// What ends workers, and what people are told about it.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "runtime/worker/test_host.h"

namespace banyan::runtime {
namespace {

using testing::Contains;
using testing::HasSubstr;

Time monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Time(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

/// Whether a process runs: a zombie does not.
bool alive(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(in, line)) return false;
  return line.substr(line.rfind(')') + 2, 1) != "Z";
}

template <class Condition>
bool soon(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!condition() && std::chrono::steady_clock::now() < end) usleep(2000);
  return condition();
}

TEST(WorkerEnds, InterruptStopsACellAndItsChildren) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId worker = host.launch();
  for (const char* code : {"while True: pass", "import time; time.sleep(60)",
                           "import subprocess; subprocess.run(['sleep', '60'])"}) {
    const std::string id = host.request(worker, std::string("print('runs', flush=True)\n") + code);
    ASSERT_TRUE(host.until([&] { return host.cell(worker, id).stream() == "runs\n"; })) << code;
    host.settle(50ms);
    const auto start = std::chrono::steady_clock::now();
    host.launcher->stop(worker, node::Stop::kInterrupt);
    EXPECT_EQ(host.finish(worker, id).reply["ename"], "KeyboardInterrupt") << code;
    EXPECT_LT(ms_since(start), 2000);
  }
  EXPECT_EQ(host.run(worker, "print(1)").stream(), "1\n") << "the worker lives on";
}

TEST(WorkerEnds, ReasonsAreForPeople) {
  NEEDS_PYTHON();
  TestHost host;
  const std::vector<std::pair<std::string, std::string>> cases{
      {"import ctypes; ctypes.string_at(0)", "killed by signal 11 (segmentation fault)"},
      {"import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed by signal 9 (killed)"},
      {"import os; os.abort()", "killed by signal 6 (aborted)"},
      {"import os; os._exit(3)", "exited with status 3"},
  };
  for (const auto& [code, reason] : cases) {
    const WorkerId worker = host.launch();
    host.request(worker, code);
    EXPECT_EQ(host.end_of(worker), reason);
  }
}

TEST(WorkerEnds, WhatItSaidComesBeforeItsEnd) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId worker = host.launch();
  const std::string id = host.request(
      worker, "import os, sys\nprint('last words', flush=True)\nimport time; time.sleep(0.2)\nos._exit(0)");
  EXPECT_EQ(host.end_of(worker), "exited with status 0");
  EXPECT_EQ(host.cell(worker, id).stream(), "last words\n");
  EXPECT_TRUE(std::holds_alternative<node::WorkerExited>(host.events.back()));
}

TEST(WorkerEnds, StoppingTakesTheWholeProcessGroup) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId worker = host.launch();
  const CellResult cell = host.run(worker, "import subprocess\nprint(subprocess.Popen(['sleep', '60']).pid)");
  const int child = std::stoi(cell.stream());
  EXPECT_TRUE(alive(child));
  const auto start = std::chrono::steady_clock::now();
  host.launcher->stop(worker, node::Stop::kKill);
  EXPECT_EQ(host.end_of(worker), "stopped");
  std::cout << "stop to WorkerExited: " << ms_since(start) << " ms\n";
  EXPECT_TRUE(soon([&] { return !alive(child); }));
  EXPECT_TRUE(std::filesystem::is_empty(host.config().runtime_directory)) << "sockets and key are gone";
  host.launcher->stop(worker, node::Stop::kKill);
  host.launcher->set_lease(worker, std::nullopt);
  EXPECT_EQ(host.all<node::WorkerExited>(worker).size(), 1U);
}

TEST(WorkerEnds, StopRightAfterLaunch) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId worker = host.launch_only();
  host.launcher->stop(worker, node::Stop::kKill);
  EXPECT_EQ(host.end_of(worker), "stopped");
}

TEST(WorkerEnds, ALeaseThatPassesEndsRunningCodeOnly) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId worker = host.launch();
  host.launcher->set_lease(worker, monotonic_now() - 1s);
  host.settle(200ms);
  EXPECT_FALSE(host.gone(worker)) << "it runs nothing";
  host.launcher->set_lease(worker, monotonic_now() + 400ms);
  const auto start = std::chrono::steady_clock::now();
  host.request(worker, "while True: pass");
  host.settle(200ms);
  host.launcher->set_lease(worker, monotonic_now() + 400ms);
  EXPECT_EQ(host.end_of(worker), "exited with status 86: lease ended");
  EXPECT_GE(ms_since(start), 600);
  EXPECT_LT(ms_since(start), 2000);
}

TEST(WorkerEnds, TooMuchMemoryIsNamedWithItsLimit) {
  NEEDS_PYTHON();
  TestHost host([](WorkerConfig& config) { config.limits.memory_bytes = std::uint64_t{256} << 20; });
  for (const std::string& line : host.log)
    if (line.find("without some of their limits") != std::string::npos) GTEST_SKIP() << line;
  const WorkerId worker = host.launch();
  host.request(worker, "x = bytearray(1 << 30)");
  EXPECT_EQ(host.end_of(worker), "killed for using too much memory (limit 256 MiB)");
  EXPECT_EQ(host.run(host.launch(), "print(1)").stream(), "1\n") << "others live on";
}

TEST(WorkerEnds, GarbageOnTheStateChannelEndsOnlyItsWorker) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId other = host.launch();
  for (const char* bytes :
       {"b'garbage ' * 10", "b'\\x05\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0[1,2]'"}) {
    const WorkerId worker = host.launch();
    host.request(worker, std::string("import os, socket\n") +
                             "fds = [int(f) for f in os.listdir('/proc/self/fd')]\n"
                             "channel = get_ipython().kernel.channel.fileno()\n"
                             "os.write(channel, " +
                             bytes + ")\nimport time; time.sleep(60)");
    EXPECT_THAT(host.end_of(worker), HasSubstr("killed because its state channel fails: ")) << bytes;
  }
  EXPECT_EQ(host.run(other, "print(1)").stream(), "1\n");
}

TEST(WorkerEnds, ADeadZygoteTakesItsWorkersAndIsReplaced) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId one = host.launch();
  const WorkerId two = host.launch();
  const int pid = host.pid_of(one);
  ASSERT_EQ(kill(host.launcher->zygote_pid(), SIGKILL), 0);
  const WorkerId three = host.launch_only();
  EXPECT_THAT(host.end_of(one), HasSubstr("zygote that forks workers killed by signal 9"));
  EXPECT_THAT(host.end_of(two), HasSubstr("zygote"));
  EXPECT_THAT(host.end_of(three), HasSubstr("zygote"));
  EXPECT_TRUE(soon([&] { return !alive(pid); }));
  EXPECT_EQ(host.run(host.launch(), "print(1)").stream(), "1\n");
}

TEST(WorkerEnds, APythonThatDoesNotStartIsExplained) {
  TestHost host([](WorkerConfig& config) {
    config.kernels[0].python = "/bin/ls";
    config.sandbox = Sandbox::kOff;
  });
  const WorkerId worker = host.launch_only();
  const std::string reason = host.end_of(worker);
  EXPECT_THAT(reason, HasSubstr("Python does not start: /bin/ls exited with status 2"));
  EXPECT_THAT(reason, HasSubstr("zygote.log"));
}

TEST(WorkerEnds, AWorkerThatDoesNotComeUpInTimeIsKilled) {
  NEEDS_PYTHON();
  TestHost host([](WorkerConfig& config) { config.ready_timeout = 5ms; });
  EXPECT_EQ(host.end_of(host.launch_only()), "killed because it did not serve within 5 ms");
}

TEST(WorkerEnds, TheDeathOfTheHostAgentTakesEverythingWithIt) {
  NEEDS_PYTHON();
  for (const Sandbox sandbox : {Sandbox::kOff, Sandbox::kAuto}) {
    std::string pattern = "/tmp/agent-XXXXXX";
    const std::filesystem::path root = mkdtemp(pattern.data());
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    const pid_t agent = fork();
    if (agent == 0) {
      setenv("TMPDIR", root.c_str(), 1);
      TestHost host([&](WorkerConfig& config) { config.sandbox = sandbox; });
      const WorkerId worker = host.launch();
      const CellResult cell =
          host.run(worker, "import subprocess\nprint(subprocess.Popen(['sleep', '60']).pid)");
      const std::array<int, 3> pids{host.launcher->zygote_pid(), host.pid_of(worker),
                                    std::stoi(cell.stream())};
      if (write(pipe_ends[1], pids.data(), sizeof(pids)) != sizeof(pids)) _exit(1);
      host.settle(60s);
      _exit(0);
    }
    std::array<int, 3> pids{};
    ASSERT_EQ(read(pipe_ends[0], pids.data(), sizeof(pids)), std::ssize(pids) * 4);
    EXPECT_TRUE(alive(pids[0]) && alive(pids[1]));
    ASSERT_EQ(kill(agent, SIGKILL), 0);
    waitpid(agent, nullptr, 0);
    EXPECT_TRUE(soon([&] { return !alive(pids[0]); })) << "the zygote";
    EXPECT_TRUE(soon([&] { return !alive(pids[1]); })) << "the worker";
    kill(pids[2], SIGKILL);
    std::filesystem::remove_all(root);
  }
}

TEST(Sandbox, UserCodeMayReadTheSystemButNotWriteItNorSeeTheAgentsData) {
  NEEDS_PYTHON();
  std::string pattern = "/tmp/banyan-data-XXXXXX";
  const std::filesystem::path data = mkdtemp(pattern.data());
  std::ofstream(data / "log") << "secret";
  std::string beside = "/tmp/banyan-key-XXXXXX";
  const std::filesystem::path key_folder = mkdtemp(beside.data());
  const std::filesystem::path key = key_folder / "identity.pem";
  std::ofstream(key) << "secret";
  TestHost host([&](WorkerConfig& config) { config.hidden = {data, key}; });
  if (host.log.front().find("in bubblewrap") == std::string::npos) GTEST_SKIP() << host.log.front();
  const WorkerId worker = host.launch();
  const CellResult cell = host.run(worker,
                                   "import os\n"
                                   "def can(f):\n"
                                   "    try: f(); return True\n"
                                   "    except OSError: return False\n"
                                   "def seen(f):\n"
                                   "    try: return open(f).read()\n"
                                   "    except OSError: return ''\n"
                                   "def replaced(f): os.remove(f); open(f, 'w').write('mine')\n"
                                   "print(can(lambda: open('/etc/banyan-test', 'w')), can(lambda: "
                                   "open('/usr/banyan-test', 'w')), os.listdir('" +
                                       data.string() + "'), can(lambda: open('here', 'w')), repr(seen('" +
                                       key.string() + "')), can(lambda: replaced('" + key.string() + "')))");
  EXPECT_EQ(cell.stream(), "False False [] True '' False\n");
  std::ifstream left(key);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(left), {}), "secret");
  std::filesystem::remove_all(data);
  std::filesystem::remove_all(key_folder);
}

}  // namespace
}  // namespace banyan::runtime
