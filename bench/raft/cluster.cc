#include "raft/cluster.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/codec.h"

namespace banyan::bench {

namespace {

constexpr std::chrono::milliseconds kPatience{60'000};

/// Reads one line from a member, without its end; empty when the member has ended or is silent.
std::string read_line(int control, std::chrono::steady_clock::time_point limit) {
  std::string line;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now());
    pollfd waiting{control, POLLIN, 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) != 1) return {};
    char byte = 0;
    if (read(control, &byte, 1) != 1) return {};
    if (byte == '\n') return line;
    line += byte;
  }
}

}  // namespace

Result<Cluster> Cluster::start(int groups, const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::create_directories(directory, error))
    return fail(ErrorKind::kIo, "cannot make the folder " + directory.string() + ": " +
                                    (error ? error.message() : "it exists already"));
  Cluster cluster;
  for (int number = 1; number <= kMembers; ++number) {
    const auto spawned = cluster.spawn(number, groups, directory / ("h" + std::to_string(number)));
    if (!spawned) return tl::unexpected(spawned.error());
  }
  const auto ports = cluster.hear("listening", kPatience);
  if (!ports) return tl::unexpected(ports.error());
  std::string peers = "peers";
  for (const std::string& port : *ports) peers += " " + port;
  if (auto told = cluster.tell(peers); !told) return tl::unexpected(told.error());
  if (auto heard = cluster.hear("connected", kPatience); !heard) return tl::unexpected(heard.error());
  if (auto told = cluster.tell("start"); !told) return tl::unexpected(told.error());
  if (auto heard = cluster.hear("ready", kPatience); !heard) return tl::unexpected(heard.error());
  return cluster;
}

Result<Done> Cluster::spawn(int number, int groups, const std::filesystem::path& directory) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(ErrorKind::kIo, "cannot make a socket pair");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return fail(ErrorKind::kIo, "cannot fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    close(ends[0]);
    for (const Process& other : processes_) close(other.control);
    _exit(run_member({number, groups, directory, ends[1]}));
  }
  close(ends[1]);
  processes_.push_back({pid, ends[0], directory});
  return Done{};
}

Cluster::Cluster(Cluster&& other) noexcept : processes_(std::exchange(other.processes_, {})) {}

Cluster::~Cluster() {
  for (const Process& process : processes_) close(process.control);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (const Process& process : processes_) {
    while (waitpid(process.pid, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > limit) kill(process.pid, SIGKILL);
      usleep(10'000);
    }
  }
}

Result<std::vector<std::uint64_t>> Cluster::measure(const Load& load) {
  const auto told = tell("measure " + std::to_string(load.warm_up.count()) + " " +
                         std::to_string(load.length.count()) + " " + std::to_string(load.depth));
  if (!told) return tl::unexpected(told.error());
  const auto heard = hear("done", load.warm_up + load.length + kPatience);
  if (!heard) return tl::unexpected(heard.error());
  std::vector<std::uint64_t> all;
  for (const Process& process : processes_) {
    std::ifstream in(samples_file(process.directory), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    const auto samples = decode<std::vector<std::uint64_t>>(std::string_view(bytes));
    if (!samples) return tl::unexpected(samples.error());
    all.insert(all.end(), samples->begin(), samples->end());
  }
  std::ranges::sort(all);
  return all;
}

Result<Done> Cluster::tell(const std::string& line) {
  for (const Process& process : processes_) {
    const std::string text = line + "\n";
    if (send(process.control, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
      return fail(ErrorKind::kUnavailable, "a member has ended; its last words are above");
  }
  return Done{};
}

Result<std::vector<std::string>> Cluster::hear(const std::string& word, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  std::vector<std::string> answers;
  for (const Process& process : processes_) {
    const std::string line = read_line(process.control, until);
    if (!line.starts_with(word))
      return fail(ErrorKind::kUnavailable, "a member did not say '" + word + "' in time, but '" + line + "'");
    answers.push_back(line.size() > word.size() ? line.substr(word.size() + 1) : "");
  }
  return answers;
}

}  // namespace banyan::bench
