#include "sim/pool.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/codec.h"

namespace banyan::sim {

namespace {

/// One child process. It is told a seed and answers with a result, again and again.
struct Child {
  pid_t pid = -1;
  int orders = -1;
  int answers = -1;
  std::optional<std::uint64_t> seed;  ///< the one that it works on
};

bool write_all(int to, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(to, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int from, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = ::read(from, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

[[noreturn]] void work(int orders, int answers, const std::function<ScheduleResult(std::uint64_t)>& run) {
  std::uint64_t seed = 0;
  while (read_all(orders, &seed, sizeof seed)) {
    const std::string answer = encode(run(seed));
    const std::uint64_t size = answer.size();
    if (!write_all(answers, &size, sizeof size) || !write_all(answers, answer.data(), answer.size())) break;
  }
  _exit(0);
}

class Pool {
 public:
  Pool(const PoolOptions& options, const std::function<ScheduleResult(std::uint64_t)>& run,
       const std::function<void(ScheduleResult)>& done)
      : options_(options), run_(run), done_(done), children_(options.processes) {}

  Result<Done> operator()() {
    for (Child& child : children_) {
      if (!assign(child))
        return fail(ErrorKind::kIo, std::string("cannot start a process: ") + std::strerror(errno));
    }
    while (finished_ < options_.seeds) {
      std::vector<pollfd> ready;
      for (const Child& child : children_) ready.push_back({child.seed ? child.answers : -1, POLLIN, 0});
      if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) break;
      for (std::size_t i = 0; i < children_.size(); ++i) {
        if (ready[i].revents != 0 && !answer_of(children_[i]))
          return fail(ErrorKind::kIo, std::string("cannot start a process: ") + std::strerror(errno));
      }
    }
    for (Child& child : children_) end(child);
    return Done{};
  }

 private:
  bool assign(Child& child) {
    child.seed.reset();
    if (next_ == options_.seeds) return true;
    if (child.pid < 0 && !start(child)) return false;
    child.seed = options_.first_seed + next_++;
    return write_all(child.orders, &*child.seed, sizeof *child.seed);
  }

  bool start(Child& child) {
    std::array<int, 2> orders{};
    std::array<int, 2> answers{};
    if (::pipe(orders.data()) != 0 || ::pipe(answers.data()) != 0) return false;
    child.pid = ::fork();
    if (child.pid < 0) return false;
    if (child.pid == 0) {
      ::close(orders[1]);
      ::close(answers[0]);
      for (const Child& other : children_) {
        if (other.orders >= 0) ::close(other.orders);
        if (other.answers >= 0) ::close(other.answers);
      }
      work(orders[0], answers[1], run_);
    }
    ::close(orders[0]);
    ::close(answers[1]);
    child.orders = orders[1];
    child.answers = answers[0];
    return true;
  }

  bool answer_of(Child& child) {
    std::uint64_t size = 0;
    std::string bytes;
    bool whole = read_all(child.answers, &size, sizeof size) && size < (64U << 20);
    if (whole) {
      bytes.resize(size);
      whole = read_all(child.answers, bytes.data(), size);
    }
    ScheduleResult result;
    if (auto decoded = decode<ScheduleResult>(bytes); whole && decoded) {
      result = std::move(*decoded);
    } else {
      result.seed = *child.seed;
      result.violations.push_back(end(child));
    }
    ++finished_;
    done_(std::move(result));
    return assign(child);
  }

  /// Ends a child and says how it ended.
  static std::string end(Child& child) {
    if (child.pid < 0) return {};
    ::close(child.orders);
    ::close(child.answers);
    int status = 0;
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    child = Child{};
    return WIFSIGNALED(status) ? std::string("the process ended: ") + strsignal(WTERMSIG(status)) +
                                     " (what a CHECK says is on stderr)"
                               : "the process ended with status " + std::to_string(WEXITSTATUS(status));
  }

  PoolOptions options_;
  const std::function<ScheduleResult(std::uint64_t)>& run_;
  const std::function<void(ScheduleResult)>& done_;
  std::vector<Child> children_;
  std::uint64_t next_ = 0;
  std::uint64_t finished_ = 0;
};

}  // namespace

Result<Done> run_pool(const PoolOptions& options,
                      const std::function<ScheduleResult(std::uint64_t seed)>& run,
                      const std::function<void(ScheduleResult)>& done) {
  return Pool(options, run, done)();
}

}  // namespace banyan::sim
