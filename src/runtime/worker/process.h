// A child process without standard input: how the zygote is started.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/worker/memfd.h"
#include "runtime/worker/worker_messages.h"

namespace banyan::runtime {

/// The path of a program as a shell finds it: as it is when it has a slash, else in PATH.
std::optional<std::filesystem::path> find_program(const std::string& name);

/// How a process ended, for a person: "killed by signal 11 (segmentation fault)", "exited with status 3".
std::string describe(ExitStatus status);

/// A child process to start.
struct ProcessSpec {
  std::vector<std::string> command;        ///< the first word is the path of the program
  std::map<std::string, std::string> env;  ///< laid over this process's environment
  int inherited_fd = -1;                   ///< stays open under its number; all others are closed
  std::filesystem::path log;               ///< stdout and stderr are appended to it
};

/// A running child in a session of its own. It dies with the thread that started it (PR_SET_PDEATHSIG), so it
/// must be started on the loop's thread. Destroying a Process kills the child and waits for its end.
class Process {
 public:
  /// `ended` is called once, on the loop, when the child has ended; the Process may be destroyed in it.
  static Result<std::unique_ptr<Process>> start(boost::asio::io_context& loop, const ProcessSpec& spec,
                                                std::function<void(ExitStatus)> ended);
  Process(const Process&) = delete;
  ~Process();

  [[nodiscard]] int pid() const { return pid_; }
  void kill() const;

 private:
  Process(boost::asio::io_context& loop, int pid, UniqueFd pidfd, std::function<void(ExitStatus)> ended);
  void wait();

  int pid_;
  bool reaped_ = false;
  boost::asio::posix::stream_descriptor pidfd_;
  std::function<void(ExitStatus)> ended_;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

}  // namespace banyan::runtime
