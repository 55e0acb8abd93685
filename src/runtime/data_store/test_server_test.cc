#include "runtime/data_store/test_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <stdexcept>

namespace banyan::runtime {
namespace {

using namespace std::chrono_literals;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int listen_on(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(fd, 64) != 0)
    throw std::runtime_error("no port to listen on");
  return fd;
}

std::uint16_t port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

int connect_to(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

bool send_all(int fd, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (count <= 0) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

/// The bytes that can be read now; empty at the connection's end.
std::string receive(int fd) {
  std::array<char, 65536> bytes;
  const ssize_t count = recv(fd, bytes.data(), bytes.size(), 0);
  return count <= 0 ? "" : std::string(bytes.data(), static_cast<std::size_t>(count));
}

}  // namespace

std::uint16_t free_port() {
  const int fd = listen_on(0);
  const std::uint16_t port = port_of(fd);
  close(fd);
  return port;
}

TestServer::TestServer(const std::vector<std::string>& command, std::uint16_t port,
                       const std::filesystem::path& log) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv(words[0], words.data());
    _exit(127);
  }
  for (int waited = 0; waited < 600; ++waited) {
    if (const int fd = connect_to(port); fd >= 0) {
      close(fd);
      return;
    }
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      break;
    }
    std::this_thread::sleep_for(50ms);
  }
  kill();
  std::ifstream said(log);
  throw std::runtime_error(command[0] +
                           " does not serve: " + std::string(std::istreambuf_iterator<char>(said), {}));
}

TestServer::~TestServer() { kill(); }

void TestServer::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

FaultProxy::FaultProxy(std::uint16_t server_port) : server_port_(server_port), listener_(listen_on(0)) {
  port_ = port_of(listener_);
  acceptor_ = std::jthread([this] { serve(); });
}

FaultProxy::~FaultProxy() {
  ending_ = true;
  acceptor_.join();
  pumps_.clear();
  close(listener_);
}

void FaultProxy::answer_with(std::vector<std::string> answers) {
  const std::lock_guard lock(mutex_);
  answers_ = std::move(answers);
}

void FaultProxy::replace(std::string from, std::string to) {
  const std::lock_guard lock(mutex_);
  from_ = std::move(from);
  to_ = std::move(to);
}

void FaultProxy::cut_before(std::string text) {
  const std::lock_guard lock(mutex_);
  cut_before_ = std::move(text);
}

void FaultProxy::serve() {
  while (!ending_) {
    pollfd waiting{.fd = listener_, .events = POLLIN};
    if (poll(&waiting, 1, 20) <= 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    ++connections_;
    pumps_.emplace_back([this, client] {
      if (!answer_itself(client)) {
        const int server = connect_to(server_port_);
        if (server >= 0) {
          pump(client, server);
          close(server);
        }
      }
      close(client);
    });
  }
}

bool FaultProxy::answer_itself(int client) {
  std::string answer;
  {
    const std::lock_guard lock(mutex_);
    if (answers_.empty()) return false;
    answer = std::move(answers_.front());
    answers_.erase(answers_.begin());
  }
  receive(client);
  send_all(client, answer);
  shutdown(client, SHUT_WR);
  while (
      !receive(client).empty()) {  // reading to the end: a reset would take the answer away from the client
  }
  return true;
}

void FaultProxy::pump(int client, int server) {
  int passed = 0;
  const int cut_at = cuts.fetch_sub(1) > 0 ? cut_after_bytes.load() : -1;
  if (cut_at < 0) ++cuts;
  while (!ending_) {
    std::array<pollfd, 2> ends{pollfd{.fd = client, .events = POLLIN},
                               pollfd{.fd = server, .events = POLLIN}};
    if (poll(ends.data(), ends.size(), 20) <= 0) continue;
    if (ends[0].revents != 0) {
      const std::string piece = receive(client);
      if (piece.empty() || !send_all(server, piece)) return;
    }
    if (ends[1].revents != 0) {
      std::string piece = receive(server);
      if (piece.empty() && silent)
        std::this_thread::sleep_for(
            5ms);  // the server is gone, and a silent proxy does not let the client notice
      else if (piece.empty() || !pass_answer(client, std::move(piece), passed, cut_at))
        return;
    }
  }
}

bool FaultProxy::pass_answer(int client, std::string piece, int& passed, int cut_at) {
  if (silent) return true;
  if (delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
  {
    const std::lock_guard lock(mutex_);
    if (const std::size_t at = from_.empty() ? std::string::npos : piece.find(from_); at != std::string::npos)
      piece.replace(at, from_.size(), to_);
    if (!cut_before_.empty() && piece.find(cut_before_) != std::string::npos) {
      cut_before_.clear();
      return false;
    }
  }
  passed += static_cast<int>(piece.size());
  if (cut_at >= 0 && passed > cut_at) {
    send_all(client, piece.substr(0, piece.size() - static_cast<std::size_t>(passed - cut_at)));
    return false;
  }
  return send_all(client, piece);
}

}  // namespace banyan::runtime
