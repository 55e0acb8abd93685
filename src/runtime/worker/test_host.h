// For tests: a host with real Python workers and a client that runs cells on them.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/worker/launcher.h"

namespace banyan::runtime {

using namespace std::chrono_literals;

/// The Python of the tests: $BANYAN_PYTHON, else that of the checkout's virtual environment; or the reason
/// why it cannot import the package banyan.
struct TestPython {
  std::string path;
  std::string missing;
};
const TestPython& test_python();

/// The reply and the outputs of a cell.
struct CellResult {
  nlohmann::json reply;                 ///< content of the execute_reply; null when there was none
  std::vector<jupyter::Message> iopub;  ///< in the order of arrival
  std::optional<node::WorkerReport> report;

  [[nodiscard]] std::string stream() const;  ///< the texts of all streams, joined
  [[nodiscard]] std::vector<std::string> types() const;
};

/// A host agent's launcher with a client. It answers fences with "go" unless `answers_fences` is off.
class TestHost {
 public:
  explicit TestHost(std::function<void(WorkerConfig&)> adjust = [](WorkerConfig&) {});
  ~TestHost();

  /// The configuration: no limits, and the sandbox where it works.
  [[nodiscard]] const WorkerConfig& config() const { return config_; }
  bool until(const std::function<bool()>& condition, std::chrono::milliseconds limit = 30s);
  void settle(std::chrono::milliseconds time) { loop.run_for(time); }

  /// Launches a worker; waits until it is ready or gone.
  WorkerId launch(session::Spec spec = {.kernel_name = "python3", .working_directory = {}, .env = {}});
  WorkerId launch_only(session::Spec spec = {.kernel_name = "python3", .working_directory = {}, .env = {}},
                       std::set<std::string> libraries = {});
  /// Launches a worker of a session that has values of this library.
  WorkerId launch_view(const std::string& library,
                       session::Spec spec = {.kernel_name = "python3", .working_directory = {}, .env = {}});
  /// Sends an execute_request; returns its id.
  std::string request(WorkerId worker, const std::string& code, bool allow_stdin = false);
  void send(WorkerId worker, jupyter::Channel channel, const std::string& type, const nlohmann::json& content,
            const std::string& id);
  /// Runs a cell to its idle status and reply, or to the worker's end.
  CellResult run(WorkerId worker, const std::string& code);
  CellResult finish(WorkerId worker, const std::string& id);

  template <class Event>
  [[nodiscard]] std::vector<const Event*> all(WorkerId worker) const {
    std::vector<const Event*> found;
    for (const node::HostEvent& event : events)
      if (const auto* it = std::get_if<Event>(&event); it != nullptr && it->worker == worker)
        found.push_back(it);
    return found;
  }
  [[nodiscard]] bool gone(WorkerId worker) const { return gone_.contains(worker); }
  /// Waits for the worker's end and returns the reason.
  std::string end_of(WorkerId worker);
  [[nodiscard]] int pid_of(WorkerId worker) const;
  /// What has arrived so far of a cell.
  [[nodiscard]] CellResult cell(WorkerId worker, const std::string& id) const;

  boost::asio::io_context loop;
  std::vector<node::HostEvent> events;
  std::vector<std::string> log;
  bool answers_fences = true;
  std::unique_ptr<WorkerLauncher> launcher;

 private:
  void on_event(node::HostEvent event);

  std::filesystem::path root_;
  WorkerConfig config_;
  std::uint64_t next_worker_ = 1;
  std::uint64_t next_message_ = 1;
  std::set<WorkerId> gone_;
  std::set<std::string> replied_;
  std::set<std::string> idle_;
};

/// Skips the test, with the reason, where there is no Python with the banyan package.
#define NEEDS_PYTHON() \
  if (!test_python().missing.empty()) GTEST_SKIP() << test_python().missing

/// Milliseconds since `start`.
inline double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace banyan::runtime
