// For tests: real servers on loopback, and a proxy before them that does what networks do.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace banyan::runtime {

/// A port of the loopback interface that was free a moment ago.
std::uint16_t free_port();

/// A program that serves a port. It ends with the test, which kills it by its pid.
class TestServer {
 public:
  /// Starts `command` and waits until `port` takes connections. Throws what the server has said when it does
  /// not.
  TestServer(const std::vector<std::string>& command, std::uint16_t port, const std::filesystem::path& log);
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  /// Kills the server now, as a crash would.
  void kill();

 private:
  pid_t pid_ = -1;
};

/// Passes connections on to a server, with the faults that a test asks for. Faults may change at any time.
class FaultProxy {
 public:
  explicit FaultProxy(std::uint16_t server_port);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// How many connections were made.
  [[nodiscard]] int connections() const { return connections_; }

  /// Holds each piece of an answer back so long.
  std::atomic<int> delay_ms = 0;
  /// Takes requests and passes no answer on.
  std::atomic<bool> silent = false;
  /// The next so many connections are cut when so many bytes of answers have passed.
  std::atomic<int> cuts = 0;
  std::atomic<int> cut_after_bytes = 0;
  /// Answers the next connections itself, each with one of `answers`, and closes them.
  void answer_with(std::vector<std::string> answers);
  void answer_with(const std::string& answer, std::size_t times) { answer_with(std::vector(times, answer)); }
  /// Closes a connection, once, instead of passing a piece of an answer on that has this text.
  void cut_before(std::string text);
  /// Replaces a text in each piece of an answer by another one of the same length.
  void replace(std::string from, std::string to);

 private:
  void serve();
  void pump(int client, int server);
  bool answer_itself(int client);
  bool pass_answer(int client, std::string piece, int& passed, int cut_at);

  std::uint16_t server_port_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<bool> ending_ = false;
  std::atomic<int> connections_ = 0;
  std::mutex mutex_;
  std::vector<std::string> answers_;
  std::string from_;
  std::string to_;
  std::string cut_before_;
  std::vector<std::jthread> pumps_;
  std::jthread acceptor_;
};

}  // namespace banyan::runtime
