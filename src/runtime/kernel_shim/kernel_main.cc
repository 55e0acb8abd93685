#include "runtime/kernel_shim/kernel_main.h"

#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string_view>

#include "runtime/kernel_shim/shim.h"

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;

constexpr auto kParentPoll = std::chrono::seconds(1);

void log_line(const std::string& text) { std::fprintf(stderr, "banyan kernel: %s\n", text.c_str()); }

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// The KERNEL_* variables that Jupyter's clients pass to a gateway, with the two that every gateway wants.
std::map<std::string, std::string> kernel_variables() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("KERNEL_"))
      variables.emplace(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  }
  std::error_code ignored;
  variables.try_emplace("KERNEL_WORKING_DIR", std::filesystem::current_path(ignored).string());
  if (const auto user = environment("USER")) variables.try_emplace("KERNEL_USERNAME", *user);
  return variables;
}

class SignalWatch {
 public:
  SignalWatch(asio::io_context& loop, Shim& shim) : signals_(loop, SIGINT, SIGTERM), shim_(shim) { wait(); }

 private:
  void wait() {
    signals_.async_wait([this](boost::system::error_code error, int signal) {
      if (error) return;
      if (signal == SIGINT) {
        shim_.interrupt();
      } else {
        shim_.terminate();
      }
      wait();
    });
  }

  asio::signal_set signals_;
  Shim& shim_;
};

/// Ends the kernel when its client has died without a word, as ipykernel does.
class ParentWatch {
 public:
  ParentWatch(asio::io_context& loop, Shim& shim) : timer_(loop), shim_(shim) {
    parent_ = std::atoi(environment("JPY_PARENT_PID").value_or("0").c_str());
    if (parent_ > 1) wait();
  }

 private:
  void wait() {
    timer_.expires_after(kParentPoll);
    timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      if (kill(parent_, 0) != 0 && errno == ESRCH) return shim_.terminate();
      wait();
    });
  }

  asio::steady_timer timer_;
  Shim& shim_;
  pid_t parent_ = 0;
};

}  // namespace

int kernel_main(const KernelOptions& options) {
  const auto connection = read_connection_file(options.connection_file);
  if (!connection) {
    log_line(connection.error().message);
    return static_cast<int>(KernelExit::kUsage);
  }
  std::error_code ignored;
  const auto gateway =
      find_gateway(options.gateway, environment, std::filesystem::current_path(ignored).string());
  if (!gateway) {
    log_line(gateway.error().message);
    return static_cast<int>(KernelExit::kNoGateway);
  }
  std::random_device device;
  asio::io_context loop(1);
  Shim shim(loop, {.gateway = *gateway,
                   .connection = *connection,
                   .kernel_name = options.kernel_name,
                   .env = kernel_variables(),
                   .seed = std::uint64_t{device()} << 32 | device(),
                   .log = log_line});
  const SignalWatch signals(loop, shim);
  const ParentWatch parent(loop, shim);
  return static_cast<int>(shim.run());
}

}  // namespace banyan::runtime
