// The life of workers: launch, cells, fences, input, reports, views.
#include "runtime/worker/launcher.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

#include "runtime/worker/test_host.h"

namespace banyan::runtime {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::uint64_t own_anonymous_kib() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("RssAnon:")) return std::strtoull(line.c_str() + 8, nullptr, 10);
  return 0;
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Launcher, AWarmZygoteMakesAWorkerReadyQuickly) {
  NEEDS_PYTHON();
  TestHost host;
  host.launch();
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const WorkerId worker = host.launch();
    times.push_back(ms_since(start));
    EXPECT_GT(host.pid_of(worker), 0);
  }
  std::ranges::sort(times);
  std::cout << "launch to ready: p50 " << times[3] << " ms, max " << times.back() << " ms\n";
  EXPECT_LT(times[3], 1000);
}

TEST(Launcher, RunsACellBetweenFenceAndReport) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId worker = host.launch();
  EXPECT_TRUE(host.all<node::FromWorker>(worker).empty()) << "what it took to get ready stays inside";
  const CellResult cell = host.run(worker, "x = 1+1\nx");
  EXPECT_EQ(cell.reply["status"], "ok");
  EXPECT_THAT(cell.types(), ElementsAre("status", "execute_input", "execute_result", "status"));
  EXPECT_EQ(json::parse(cell.iopub[2].content.view())["data"]["text/plain"], "2");
  EXPECT_EQ(jupyter::parse_header(cell.iopub[2].header)->session, "5e551010-0000-4000-8000-00000000000a");
  ASSERT_TRUE(host.until([&] { return !host.all<node::WorkerReport>(worker).empty(); }));
  const node::WorkerReport& report = *host.all<node::WorkerReport>(worker).front();
  EXPECT_EQ(report.execution_count, 1U);
  ASSERT_EQ(report.delta.changed.size(), 2U);
  EXPECT_THAT(report.delta.changed[0].names, ElementsAre("x"));
  EXPECT_THAT(report.delta.changed[1].names, ElementsAre(std::string(checkpoint::kShown)));
  const session::Chunk& pickle = report.delta.changed[0].blocks[0];
  EXPECT_EQ(pickle.digest, digest_of(pickle.bytes->view()));
  EXPECT_EQ(pickle.size, pickle.bytes->size());

  std::vector<double> times;
  for (int i = 0; i < 50; ++i) {
    const auto start = std::chrono::steady_clock::now();
    host.run(worker, "1+1");
    times.push_back(ms_since(start));
  }
  std::ranges::sort(times);
  std::cout << "a cell, request to idle and reply: p50 " << times[25] << " ms\n";
}

/// Workers of sessions with values of wsgiref begin with what others have imported.
class ImportAhead : public ::testing::Test {
 protected:
  static void adjust(WorkerConfig& config) {
    config.import_ahead = {"wsgiref"};
    config.import_ahead_after = 50ms;
    config.import_ahead_again = 50ms;
  }
  static std::size_t lines(const TestHost& host, std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        host.log, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
  static constexpr const char* kBegins = "begin with";
  const std::string look = "import sys; print('wsgiref.util' in sys.modules, 'wsgiref.types' in sys.modules)";
  /// A library of this test's own, on the path of all workers.
  class Library {
   public:
    Library(std::string name, const std::string& code) : name_(std::move(name)) {
      std::filesystem::create_directories(folder_);
      write(code);
    }
    ~Library() { std::filesystem::remove_all(folder_); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    void write(const std::string& code) const { std::ofstream(folder_ / (name_ + ".py")) << code; }
    void offer(WorkerConfig& config) const {
      adjust(config);
      config.import_ahead = {name_};
      config.env["PYTHONPATH"] += ":" + folder_.string();
    }

   private:
    std::string name_;
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("ahead-" + std::to_string(getpid()));
  };
  const session::Spec plain{.kernel_name = "python3", .working_directory = {}, .env = {}};
};

TEST_F(ImportAhead, AWorkerHasWhatOthersHaveImported) {
  NEEDS_PYTHON();
  TestHost host(adjust);
  EXPECT_EQ(host.run(host.launch_view("wsgiref"), look).stream(), "False False\n") << "nobody has yet";
  host.run(host.launch(), "import wsgiref.util, mailbox");
  ASSERT_TRUE(host.until([&] { return lines(host, kBegins) == 1; }));
  const WorkerId view = host.launch_view("wsgiref");
  EXPECT_EQ(host.run(view, look).stream(), "True False\n");
  EXPECT_EQ(host.run(view, "print('mailbox' in sys.modules)").stream(), "False\n") << "no such library";
  EXPECT_EQ(host.run(host.launch_view("other"), look).stream(), "False False\n") << "it has no values of it";
  EXPECT_EQ(host.run(host.launch(), look).stream(), "False False\n") << "new sessions begin as ever";
  host.run(host.launch(), "import wsgiref.types");
  ASSERT_TRUE(host.until([&] { return lines(host, kBegins) == 2; }));
  EXPECT_EQ(host.run(host.launch_view("wsgiref"), look).stream(), "True True\n");
  EXPECT_EQ(host.run(view, "print(1)").stream(), "1\n") << "the one before lives on";
  host.launcher->stop(view, node::Stop::kKill);
  EXPECT_THAT(host.end_of(view), HasSubstr("stopped"));
}

TEST_F(ImportAhead, WithAZygoteItsWorkersEndAlsoWhenAnotherHasTakenItsPlace) {
  NEEDS_PYTHON();
  TestHost host(adjust);
  host.run(host.launch(), "import wsgiref.util");
  ASSERT_TRUE(host.until([&] { return lines(host, kBegins) == 1; }));
  const WorkerId old = host.launch_view("wsgiref");
  host.run(host.launch(), "import wsgiref.types");
  ASSERT_TRUE(host.until([&] { return lines(host, kBegins) == 2; }));
  const WorkerId young = host.launch_view("wsgiref");
  for (const WorkerId worker : {old, young}) {
    const std::string parent = host.run(worker, "import os; print(os.getppid())").stream();
    ASSERT_EQ(kill(std::stoi(parent), SIGKILL), 0);
    EXPECT_THAT(host.end_of(worker), HasSubstr("zygote"));
  }
  ASSERT_TRUE(host.until([&] { return lines(host, kBegins) == 3; })) << "the one in use is replaced";
  EXPECT_EQ(host.run(host.launch_view("wsgiref"), look).stream(), "True True\n");
}

TEST_F(ImportAhead, NotWhereALibraryMayBeAnotherOne) {
  NEEDS_PYTHON();
  TestHost host(adjust);
  host.run(host.launch(), "import wsgiref.util");
  ASSERT_TRUE(host.until([&] { return lines(host, kBegins) == 1; }));
  session::Spec spec = plain;
  spec.env = {{"KERNEL_USERNAME", "ada"}, {"BANYAN_SEED", "7"}};
  EXPECT_EQ(host.run(host.launch_view("wsgiref", spec), look).stream(), "True False\n");
  spec.env = {{"OMP_NUM_THREADS", "1"}};
  EXPECT_EQ(host.run(host.launch_view("wsgiref", spec), look).stream(), "False False\n");
  for (const char* beside : {"wsgiref.py", "matplotlibrc"}) {
    const std::filesystem::path file = host.config().default_directory / beside;
    std::ofstream(file) << "\n";
    EXPECT_EQ(host.run(host.launch_view("wsgiref", plain), look).stream().substr(0, 5), "False") << beside;
    std::filesystem::remove(file);
  }
}

TEST_F(ImportAhead, NotOnceALibraryWasReplaced) {
  NEEDS_PYTHON();
  const Library library("versioned", "version = 1\n");
  TestHost host([&](WorkerConfig& config) { library.offer(config); });
  host.run(host.launch(), "import versioned");
  ASSERT_TRUE(host.until([&] { return lines(host, kBegins) == 1; }));
  library.write("version = 22\n");
  const std::string version = "import versioned; print(versioned.version)";
  EXPECT_EQ(host.run(host.launch_view("versioned"), version).stream(), "22\n");
  EXPECT_TRUE(host.until([&] { return lines(host, kBegins) == 2; })) << "the new one is imported";
}

TEST_F(ImportAhead, ALibraryThatCannotBeImportedThereCostsNoWorker) {
  NEEDS_PYTHON();
  // Importing this library ends a zygote, whose command line has arguments, and not a worker, whose has none.
  const Library library("endsit", "import os, sys\nif sys.argv[0]: os._exit(3)\n");
  TestHost host([&](WorkerConfig& config) { library.offer(config); });
  const WorkerId first = host.launch();
  EXPECT_EQ(host.run(first, "import endsit").reply["status"], "ok");
  EXPECT_TRUE(host.until([&] { return lines(host, "the last try") == 1; }));
  EXPECT_EQ(host.run(host.launch_view("endsit"), "print(1)").stream(), "1\n");
  EXPECT_EQ(host.run(first, "print(2)").stream(), "2\n") << "it lives on";
}

TEST_F(ImportAhead, ALibraryThatStartsThreadsIsLeftToItsWorkers) {
  NEEDS_PYTHON();
  const Library library("startsit", R"(
import sys, threading, time
if sys.argv[0]: threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
)");
  TestHost host([&](WorkerConfig& config) {
    library.offer(config);
    config.import_ahead.emplace_back("wsgiref");
  });
  host.run(host.launch(), "import wsgiref.util, startsit");
  ASSERT_TRUE(
      host.until([&] { return lines(host, kBegins) == 1 && lines(host, "left to its workers") == 1; }));
  EXPECT_EQ(host.run(host.launch_view("startsit"), "import sys; print('startsit' in sys.modules)").stream(),
            "False\n");
  EXPECT_EQ(host.run(host.launch_view("wsgiref"), look).stream(), "True False\n");
  EXPECT_EQ(lines(host, "the last try"), 0U);
}

TEST_F(ImportAhead, WhereThereIsNoMemoryTheyAreLeftToTheirWorkers) {
  NEEDS_PYTHON();
  TestHost host([](WorkerConfig& config) {
    adjust(config);
    config.import_ahead_bytes = 1;
  });
  host.run(host.launch(), "import wsgiref.util");
  ASSERT_TRUE(host.until([&] { return lines(host, "no memory (import_ahead_bytes)") == 1; }));
  EXPECT_EQ(host.run(host.launch_view("wsgiref"), look).stream(), "False False\n");
}

TEST_F(ImportAhead, AHostThatHasNoTimeForItTriesAgain) {
  NEEDS_PYTHON();
  const Library library("takeslong", "import sys, time\nif sys.argv[0]: time.sleep(99)\n");
  TestHost host([&](WorkerConfig& config) {
    library.offer(config);
    config.import_ahead_within = 200ms;
  });
  host.run(host.launch(), "import takeslong");
  EXPECT_TRUE(host.until([&] { return lines(host, "no time for it") == 4; }));
  EXPECT_EQ(lines(host, "the last try"), 0U);
}

TEST(Launcher, NoUserCodeRunsBeforeItsFenceIsAnswered) {
  NEEDS_PYTHON();
  TestHost host;
  host.answers_fences = false;
  const WorkerId worker = host.launch();
  const std::string id = host.request(worker, "print('ran')");
  ASSERT_TRUE(host.until([&] { return !host.all<node::WorkerFenced>(worker).empty(); }));
  host.settle(200ms);
  EXPECT_EQ(host.cell(worker, id).stream(), "");
  host.launcher->answer_fence({worker, ExecutionId{id}, "another host runs it"});
  const CellResult cell = host.finish(worker, id);
  EXPECT_EQ(cell.reply["ename"], "NotStarted");
  EXPECT_EQ(cell.reply["evalue"], "another host runs it");
  EXPECT_EQ(cell.stream(), "");
}

TEST(Launcher, InputGoesOverStdin) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId worker = host.launch();
  const std::string id = host.request(worker, "print('hello', input('name? '))", true);
  const auto asked = [&] {
    return std::ranges::any_of(host.all<node::FromWorker>(worker), [](const node::FromWorker* from) {
      return from->message.channel == jupyter::Channel::kStdin;
    });
  };
  ASSERT_TRUE(host.until(asked));
  host.send(worker, jupyter::Channel::kStdin, "input_reply", {{"value", "Ada"}, {"status", "ok"}}, "answer");
  EXPECT_EQ(host.finish(worker, id).stream(), "hello Ada\n");
}

TEST(Launcher, EnvironmentAndDirectoryAreTheSpecs) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId worker = host.launch(
      {.kernel_name = "python3", .working_directory = "/proc/self", .env = {{"COLOUR", "gr\xc3\xbcn"}}});
  EXPECT_EQ(host.run(worker, "import os; print(os.environ['COLOUR'], os.getcwd()[:6])").stream(),
            "gr\xc3\xbcn /proc/\n");
  const WorkerId other =
      host.launch({.kernel_name = "python3", .working_directory = "/does/not/exist", .env = {}});
  EXPECT_EQ(host.run(other, "import os; print(os.getcwd())").stream(),
            host.config().default_directory.string() + "\n");
  EXPECT_THAT(host.log, Contains(HasSubstr("there is no directory /does/not/exist")));
  host.run(other, "os.write(2, b'straight to the log')");
  // What code writes past Python goes through a pipe and arrives some time after the cell's reply.
  const auto log = host.config().log_directory / "5e551010-0000-4000-8000-00000000000a.log";
  EXPECT_TRUE(host.until([&] { return text_of(log).find("straight to the log") != std::string::npos; }))
      << text_of(log);
}

TEST(Launcher, LargeValuesArriveWithoutACopy) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId worker = host.launch();
  host.run(worker, "import numpy");
  const std::uint64_t before = own_anonymous_kib();
  const auto start = std::chrono::steady_clock::now();
  const CellResult cell = host.run(worker, "x = numpy.arange(12_500_000)");
  ASSERT_TRUE(host.until([&] { return host.all<node::WorkerReport>(worker).size() == 2; }));
  std::cout << "a cell that makes 100 MB, to the report: " << ms_since(start) << " ms\n";
  const node::WorkerReport& report = *host.all<node::WorkerReport>(worker).back();
  const session::Delta& delta = report.delta;
  ASSERT_EQ(delta.changed.size(), 1U);
  ASSERT_EQ(delta.changed[0].parts.size(), 2U);
  EXPECT_EQ(bytes_of(report) / 100'000'000, 1U);
  const session::Chunk& block = delta.changed[0].blocks[1];
  EXPECT_EQ(block.digest, digest_of(block.bytes->view()));
  const std::uint64_t grown = own_anonymous_kib() - std::min(before, own_anonymous_kib());
  std::cout << "this process grew by " << grown << " KiB of its own\n";
  EXPECT_LT(grown, 16U * 1024);
}

TEST(Launcher, AViewOfOneWorkersReportIsEqualInAnother) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId one = host.launch();
  const CellResult cell = host.run(
      one, "import numpy\na = numpy.arange(1_000_000)\nb = [a, 'text']\ngone = 1\ndef f(): return a.sum()");
  ASSERT_TRUE(host.until([&] { return !host.all<node::WorkerReport>(one).empty(); }));
  const session::Delta delta = host.all<node::WorkerReport>(one).front()->delta;

  const WorkerId two = host.launch();
  const auto start = std::chrono::steady_clock::now();
  host.launcher->apply({two, CommitId{7}, 1, "import numpy", delta.changed, {}});
  ASSERT_TRUE(host.until([&] { return !host.all<node::WorkerApplied>(two).empty(); }));
  std::cout << "8 MB applied in " << ms_since(start) << " ms\n";
  EXPECT_EQ(host.all<node::WorkerApplied>(two).front()->commit, CommitId{7});
  EXPECT_TRUE(host.all<node::WorkerApplied>(two).front()->failed.empty());
  EXPECT_EQ(host.run(two, "print(b[0] is a, f(), gone)").stream(), "True 499999500000 1\n");
  host.launcher->apply({two, CommitId{8}, 2, "", {}, {"gone"}});
  ASSERT_TRUE(host.until([&] { return host.all<node::WorkerApplied>(two).size() == 2; }));
  EXPECT_EQ(host.run(two, "print('gone' in globals())").stream(), "False\n");
}

TEST(Launcher, ManyAndLargeOutputsAreWholeAndInOrder) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId worker = host.launch();
  auto start = std::chrono::steady_clock::now();
  const CellResult many = host.run(worker,
                                   "from IPython.display import display\n"
                                   "for i in range(10_000): display({'text/plain': str(i)}, raw=True)");
  std::cout << "10,000 outputs in " << ms_since(start) << " ms\n";
  int next = 0;
  for (const jupyter::Message& message : many.iopub) {
    if (message.header.find("display_data") == std::string::npos) continue;
    EXPECT_EQ(json::parse(message.content.view())["data"]["text/plain"], std::to_string(next++));
  }
  EXPECT_EQ(next, 10'000);
  start = std::chrono::steady_clock::now();
  const CellResult large =
      host.run(worker, "for i in range(24): display({'text/plain': chr(97 + i) * 1_000_000}, raw=True)");
  std::cout << "24 MB of output in " << ms_since(start) << " ms\n";
  std::string order;
  for (const jupyter::Message& message : large.iopub)
    if (message.header.find("display_data") != std::string::npos && message.content.size() > 1'000'000)
      order += message.content.view()[message.content.size() / 2];
  EXPECT_EQ(order, "abcdefghijklmnopqrstuvwx");
}

TEST(Launcher, ALargeRequestReachesTheWorker) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId worker = host.launch();
  const CellResult cell = host.run(worker, "print(len('" + std::string(16 << 20, 'x') + "'))");
  EXPECT_EQ(cell.stream(), "16777216\n");
}

TEST(Launcher, ARuntimeDirectoryTooLongForSocketsIsRefused) {
  boost::asio::io_context loop;
  WorkerConfig config;
  config.kernels[0].python = "/bin/sh";
  config.runtime_directory = "/tmp/" + std::string(100, 'd');
  const auto result = WorkerLauncher::create(loop, config, [](const auto&) {}, [](const auto&) {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(result.error().message, HasSubstr("too long"));
}

TEST(Launcher, ADirectoryThatWorkersNeedMayNotBeHidden) {
  boost::asio::io_context loop;
  WorkerConfig config;
  config.kernels[0].python = "/bin/sh";
  config.runtime_directory = "/tmp/data/../data/run";
  config.log_directory = "/tmp/logs";
  config.default_directory = "/tmp/data2";
  config.hidden = {"/tmp/data/"};
  const auto result = WorkerLauncher::create(loop, config, [](const auto&) {}, [](const auto&) {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("workers need /tmp/data/../data/run"));
}

TEST(Launcher, OutputThatIsNotTakenWaitsInTheWorker) {
  NEEDS_PYTHON();
  TestHost host;
  const WorkerId worker = host.launch();
  host.run(worker, "from IPython.display import display");
  const std::uint64_t before = own_anonymous_kib();
  const std::string id = host.request(
      worker, "for i in range(200): display({'text/plain': chr(97 + i % 26) * 1_000_000}, raw=True)");
  ASSERT_TRUE(host.until([&] { return !host.cell(worker, id).iopub.empty(); }));
  std::this_thread::sleep_for(3s);
  const std::uint64_t grown = own_anonymous_kib() - std::min(before, own_anonymous_kib());
  std::cout << "200 MB of output, nothing taken for 3 s: this process grew by " << grown / 1024 << " MiB\n";
  EXPECT_LT(grown, 80U * 1024);
  const CellResult cell = host.finish(worker, id);
  EXPECT_EQ(std::ranges::count(cell.types(), "display_data"), 200);
}

}  // namespace
}  // namespace banyan::runtime
