#include "runtime/worker/sandbox.h"

#include <spawn.h>
#include <sys/wait.h>

#include "runtime/worker/process.h"

extern char** environ;

namespace banyan::runtime {
namespace {

namespace fs = std::filesystem;

/// The command that puts a program into bubblewrap. User code may read the system's directories and write
/// elsewhere. Process ids stay those of the host, because the host agent sends signals to workers. Without
/// CAP_SYS_ADMIN not even root can mount again for writing what is read-only.
std::vector<std::string> bubblewrap(const std::string& program, const WorkerConfig& config) {
  std::vector<std::string> prefix{program, "--die-with-parent", "--dev-bind", "/", "/"};
  for (const fs::path& path : config.read_only)
    if (fs::is_directory(path) && !fs::is_symlink(path))
      prefix.insert(prefix.end(), {"--ro-bind", path.string(), path.string()});
  for (const fs::path& path : config.hidden) {
    if (fs::is_directory(path)) prefix.insert(prefix.end(), {"--tmpfs", path.string()});
    if (fs::is_regular_file(path)) prefix.insert(prefix.end(), {"--ro-bind", "/dev/null", path.string()});
  }
  for (const char* capability : {"CAP_SYS_ADMIN", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_BOOT",
                                 "CAP_SYS_TIME", "CAP_NET_ADMIN", "CAP_MKNOD"})
    prefix.insert(prefix.end(), {"--cap-drop", capability});
  prefix.emplace_back("--");
  return prefix;
}

bool succeeds(std::vector<std::string> command) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1 /* O_WRONLY */, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return failed == 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

}  // namespace

Result<SandboxChoice> choose_sandbox(const WorkerConfig& config) {
  if (config.sandbox == Sandbox::kOff) return SandboxChoice{{}, "workers run without a sandbox (config)"};
  std::string why = "bwrap is not installed";
  if (const auto program = find_program("bwrap")) {
    std::vector<std::string> prefix = bubblewrap(program->string(), config);
    std::vector<std::string> probe = prefix;
    probe.emplace_back(find_program("true").value_or("/bin/true").string());
    if (succeeds(std::move(probe)))
      return SandboxChoice{std::move(prefix), "workers run in bubblewrap (" + program->string() + ")"};
    why = program->string() + " does not work here (are user namespaces allowed?)";
  }
  if (config.sandbox == Sandbox::kRequired)
    return fail(ErrorKind::kUnavailable, "the sandbox is required, but " + why);
  return SandboxChoice{{}, "workers run without a sandbox: " + why};
}

}  // namespace banyan::runtime
