#include "runtime/worker/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/check.h"

extern char** environ;

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Variables that user code must not see: the credentials of the daemon's data store.
constexpr std::array<std::string_view, 5> kOwn = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                                  "AWS_SESSION_TOKEN", "REDIS_PASSWORD",
                                                  "BANYAN_BACKUP_STORE"};

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> result;
  for (char** it = environ; *it != nullptr; ++it) {
    const std::string_view entry(*it);
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!added.contains(std::string(name)) && std::ranges::find(kOwn, name) == kOwn.end())
      result.emplace_back(entry);
  }
  for (const auto& [name, value] : added) result.push_back(name + "=" + value);
  return result;
}

struct Prepared {
  std::vector<char*> argv;
  std::vector<char*> envp;
  int inherited_fd;
  int log_fd;
  int null_fd;
  int failure_fd;
  pid_t parent;
};

/// Runs in the child between fork and exec. The parent has threads, so only system calls are allowed here.
[[noreturn]] void become(const Prepared& it) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != it.parent) _exit(127);  // the parent died before the signal was armed
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::signal(signal, SIG_DFL);
  dup2(it.null_fd, 0);
  dup2(it.log_fd, 1);
  dup2(it.log_fd, 2);
  syscall(SYS_close_range, 3U, ~0U, static_cast<unsigned>(CLOSE_RANGE_CLOEXEC));
  fcntl(it.inherited_fd, F_SETFD, 0);
  execve(it.argv.front(), it.argv.data(), it.envp.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(it.failure_fd, &error, sizeof(error));
  _exit(127);
}

}  // namespace

std::optional<std::filesystem::path> find_program(const std::string& name) {
  const auto runs = [](const std::filesystem::path& path) { return access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string::npos) {
    if (!runs(name)) return std::nullopt;
    return std::filesystem::absolute(name);
  }
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing here sets variables
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    std::filesystem::path candidate = std::filesystem::path(rest.substr(0, end)) / name;
    if (end > 0 && runs(candidate)) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

std::string describe(ExitStatus status) {
  if (status.signal == 0) return "exited with status " + std::to_string(status.code);
  const char* known = sigdescr_np(status.signal);
  std::string name = known != nullptr ? known : "unknown signal";
  if (name.size() > 1 && std::islower(static_cast<unsigned char>(name[1])) != 0)
    name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
  return "killed by signal " + std::to_string(status.signal) + " (" + name + ")";
}

Result<std::unique_ptr<Process>> Process::start(asio::io_context& loop, const ProcessSpec& spec,
                                                std::function<void(ExitStatus)> ended) {
  CHECK(!spec.command.empty(), "a process needs a program");
  std::vector<std::string> command = spec.command;
  std::vector<std::string> env = environment_with(spec.env);
  const UniqueFd log(open(spec.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (log.get() < 0) return tl::unexpected(system_error("cannot open the log " + spec.log.string()));
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return tl::unexpected(system_error("cannot create a pipe"));
  const UniqueFd failure_in(pipe_ends[0]);
  UniqueFd failure_out(pipe_ends[1]);
  const Prepared prepared{.argv = pointers_to(command),
                          .envp = pointers_to(env),
                          .inherited_fd = spec.inherited_fd,
                          .log_fd = log.get(),
                          .null_fd = null.get(),
                          .failure_fd = failure_out.get(),
                          .parent = getpid()};
  const pid_t pid = fork();
  if (pid < 0) return tl::unexpected(system_error("cannot fork"));
  if (pid == 0) become(prepared);
  failure_out = UniqueFd();
  int error = 0;
  if (read(failure_in.get(), &error, sizeof(error)) == sizeof(error)) {
    waitpid(pid, nullptr, 0);
    errno = error;
    return tl::unexpected(system_error("cannot run " + command.front()));
  }
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd.get() < 0) {
    const Error failure = system_error("cannot watch a process");
    ::kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return tl::unexpected(failure);
  }
  std::unique_ptr<Process> process(new Process(loop, pid, std::move(pidfd), std::move(ended)));
  process->wait();
  return process;
}

Process::Process(asio::io_context& loop, int pid, UniqueFd pidfd, std::function<void(ExitStatus)> ended)
    : pid_(pid), pidfd_(loop, pidfd.release()), ended_(std::move(ended)) {}

Process::~Process() {
  *life_ = false;
  if (reaped_) return;
  kill();
  waitpid(pid_, nullptr, 0);
}

void Process::kill() const {
  if (!reaped_) ::kill(pid_, SIGKILL);
}

void Process::wait() {
  pidfd_.async_wait(asio::posix::descriptor_base::wait_read,
                    [this, life = life_](boost::system::error_code error) {
                      if (!*life || error) return;
                      int status = 0;
                      if (waitpid(pid_, &status, WNOHANG) != pid_) return wait();
                      reaped_ = true;
                      ExitStatus result;
                      if (WIFSIGNALED(status))
                        result.signal = WTERMSIG(status);
                      else
                        result.code = WEXITSTATUS(status);
                      ended_(result);
                    });
}

}  // namespace banyan::runtime
