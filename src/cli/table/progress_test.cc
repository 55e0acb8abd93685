#include "cli/table/progress.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace banyan::cli {
namespace {

using namespace std::chrono_literals;

/// Makes stderr a terminal.
class Terminal {
 public:
  Terminal() {
    EXPECT_EQ(openpty(&reader_, &writer_, nullptr, nullptr, nullptr), 0);
    before_ = dup(STDERR_FILENO);
    dup2(writer_, STDERR_FILENO);
  }
  ~Terminal() {
    dup2(before_, STDERR_FILENO);
    for (const int fd : {before_, writer_, reader_}) close(fd);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// What was written since the last call; it must have no '$'.
  [[nodiscard]] std::string read() const {
    EXPECT_EQ(write(writer_, "$", 1), 1);
    std::string text;
    while (!text.ends_with('$')) {
      char some[4096];
      const ssize_t size = ::read(reader_, some, sizeof some);
      if (size <= 0) break;
      text.append(some, static_cast<std::size_t>(size));
    }
    if (!text.empty()) text.pop_back();
    return text;
  }

 private:
  int reader_ = -1;
  int writer_ = -1;
  int before_ = -1;
};

/// The text that a notebook shows for a line: \r goes back to its beginning, and later text overwrites it.
std::string seen(const std::string& written) {
  std::string line;
  std::size_t at = 0;
  for (const char c : written) {
    if (c == '\r') {
      at = 0;
      continue;
    }
    if (at == line.size()) line.push_back(' ');
    line[at++] = c;
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

TEST(ProgressBar, LeavesNothingBehindAlsoWhereEscapeSequencesMeanNothing) {
  std::string written;
  {
    const Terminal terminal;
    {
      ProgressBar bar("moving", 100);
      std::this_thread::sleep_for(550ms);
      bar.tell(10, "a long name of a variable", 100);
      std::this_thread::sleep_for(150ms);
      bar.tell(50, "df", 7);
      written = terminal.read();
      EXPECT_EQ(seen(written), "moving: df [###############...............], 7 s left");
    }
    written += terminal.read();
  }
  EXPECT_EQ(seen(written), "");
  EXPECT_EQ(written.find('\033'), std::string::npos);
}

TEST(ProgressBar, WhatIsDoneAtOnceHasNone) {
  const Terminal terminal;
  {
    ProgressBar("exporting", 100).advance(100);
  }
  EXPECT_EQ(terminal.read(), "");
}

}  // namespace
}  // namespace banyan::cli
