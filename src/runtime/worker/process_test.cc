#include "runtime/worker/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace banyan::runtime {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using namespace std::chrono_literals;

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() {
    std::string pattern = (fs::temp_directory_path() / "process-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~ProcessTest() override { fs::remove_all(root_); }

  ProcessSpec shell(const std::string& script) const {
    return {.command = {"/bin/sh", "-c", script},
            .env = {{"COLOUR", "green"}},
            .inherited_fd = -1,
            .log = root_ / "log"};
  }
  std::string run(const std::string& script, ExitStatus& status) {
    std::optional<ExitStatus> ended;
    auto process = Process::start(loop_, shell(script), [&](ExitStatus it) { ended = it; });
    EXPECT_TRUE(process) << process.error().message;
    loop_.restart();
    loop_.run_for(10s);
    status = ended.value_or(ExitStatus{-1, -1});
    std::ostringstream text;
    text << std::ifstream(root_ / "log").rdbuf();
    return text.str();
  }

  fs::path root_;
  boost::asio::io_context loop_;
};

TEST(ExitStatusText, IsForPeople) {
  EXPECT_EQ(describe({.code = 0, .signal = 11}), "killed by signal 11 (segmentation fault)");
  EXPECT_EQ(describe({.code = 0, .signal = 9}), "killed by signal 9 (killed)");
  EXPECT_EQ(describe({.code = 0, .signal = 29}), "killed by signal 29 (I/O possible)");
  EXPECT_EQ(describe({.code = 3, .signal = 0}), "exited with status 3");
}

TEST(FindProgram, LooksInPathUnlessThereIsASlash) {
  EXPECT_TRUE(find_program("sh"));
  EXPECT_EQ(find_program("/bin/sh"), fs::path("/bin/sh"));
  EXPECT_FALSE(find_program("no-such-program"));
  EXPECT_FALSE(find_program("/bin/no-such-program"));
}

TEST_F(ProcessTest, TellsHowItEndedAndLogsWhatItSaid) {
  ExitStatus status;
  EXPECT_THAT(run("echo $COLOUR; echo error >&2; exit 4", status), "green\nerror\n");
  EXPECT_EQ(status.code, 4);
  run("kill -SEGV $$", status);
  EXPECT_EQ(status.signal, 11);
}

TEST_F(ProcessTest, InheritsNoOpenFiles) {
  const UniqueFd leak(dup(1));
  ExitStatus status;
  const std::string listed = run("ls /proc/self/fd | tr '\\n' ' '", status);
  EXPECT_EQ(listed, "0 1 2 3 ") << "3 is ls's own";
}

TEST_F(ProcessTest, AProgramThatIsNotThereIsAnError) {
  ProcessSpec spec = shell("");
  spec.command = {"/bin/no-such-program"};
  const auto process = Process::start(loop_, spec, [](ExitStatus) {});
  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().message, HasSubstr("cannot run /bin/no-such-program: No such file"));
}

TEST_F(ProcessTest, DiesWithItsOwner) {
  int pid = 0;
  {
    const auto process = Process::start(loop_, shell("sleep 60"), [](ExitStatus) {});
    ASSERT_TRUE(process);
    pid = (*process)->pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace banyan::runtime
