// `banyan up`: a whole platform on this machine, as child processes.

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/bytes.h"
#include "cli/commands.h"
#include "daemons/config.h"
#include "runtime/http/client.h"

namespace banyan::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr auto kReadyLimit = std::chrono::seconds(60);
volatile sig_atomic_t g_signal = 0;

struct Daemon {
  std::string name;
  std::vector<std::string> arguments;
  pid_t pid = 0;
};

std::string random_hex() {
  std::random_device device;
  std::string text;
  for (int i = 0; i < 6; ++i) {
    char part[9];
    std::snprintf(part, sizeof part, "%08x", device());
    text += part;
  }
  return text;
}

/// A port that nobody listens on now; `wanted` when it is one of those, 0 when it is taken.
std::uint16_t free_port(std::uint16_t wanted) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(wanted);
  std::uint16_t port = 0;
  socklen_t size = sizeof address;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    port = ntohs(address.sin_port);
  close(fd);
  return port;
}

Result<Done> write_private(const fs::path& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  if (!written) return fail(ErrorKind::kIo, "cannot write " + path.string() + "; is the folder writable?");
  return Done{};
}

/// The configuration of the last start in this folder, or a fresh one.
Result<daemons::GatewaySettings> gateway_settings(const UpOptions& options, const fs::path& dir) {
  daemons::GatewaySettings settings;
  const fs::path file = dir / "gateway.toml";
  if (fs::exists(file)) {
    auto before = daemons::load_gateway_settings(file);
    if (!before) return before;
    settings = std::move(*before);
  } else {
    settings.cluster_secret = random_hex();
  }
  const char* token = std::getenv("BANYAN_TOKEN");
  if (!options.token.empty()) {
    settings.token = options.token;
  } else if (token != nullptr && *token != '\0') {
    settings.token = token;
  } else if (settings.token.empty()) {
    settings.token = random_hex();
  }
  if (options.gateway_port >= 0) settings.http_port = static_cast<std::uint16_t>(options.gateway_port);
  const std::uint16_t port = free_port(settings.http_port);
  if (port == 0)
    return fail(ErrorKind::kUnavailable,
                "port " + std::to_string(settings.http_port) +
                    " is in use; choose another with --gateway-port, 0 for any free one");
  settings.http_port = port;
  settings.replicas = static_cast<std::uint64_t>(options.replicas);
  settings.store_path = dir / "gateway.db";
  settings.kernels = {{"python3", "Python 3 (Banyan)"}};
  settings.peer_listen = "127.0.0.1:" + std::to_string(free_port(0));
  settings.hosts.clear();
  for (int i = 1; i <= options.hosts; ++i)
    settings.hosts[{"h" + std::to_string(i)}] = "127.0.0.1:" + std::to_string(free_port(0));
  return settings;
}

daemons::HostSettings host_settings(const UpOptions& options, const fs::path& dir, const HostId& id,
                                    const daemons::GatewaySettings& gateway) {
  daemons::HostSettings settings;
  settings.id = id;
  settings.peer_listen = gateway.hosts.at(id);
  settings.peers = gateway.hosts;
  settings.peers.erase(id);
  settings.peers[{"gateway"}] = gateway.peer_listen;
  settings.cluster_secret = gateway.cluster_secret;
  settings.data_directory = dir / id.value;
  // Sockets have short paths only; the folder may be deep.
  const Digest name = digest_of(dir.string());
  settings.runtime_directory =
      "/tmp/banyan-" + std::to_string(getuid()) + "-" + to_hex(name).substr(0, 8) + "/" + id.value;
  settings.working_directory = fs::current_path();
  if (!options.python.empty()) settings.python = options.python;
  settings.python_path = options.python_path;
  settings.preload = options.preload;
  settings.sandbox = options.sandbox;
  settings.worker_memory_bytes = options.worker_memory_bytes;
  return settings;
}

void start(Daemon& daemon, const fs::path& dir) {
  const std::string log = dir / "logs" / (daemon.name + ".log");
  daemon.pid = fork();
  if (daemon.pid != 0) return;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  std::vector<char*> arguments;
  for (auto& argument : daemon.arguments) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  std::perror("cannot start the daemon");
  _exit(127);
}

std::size_t hosts_up(const runtime::Endpoint& endpoint) {
  boost::asio::io_context io;
  std::size_t up = 0;
  boost::asio::co_spawn(
      io,
      [&]() -> boost::asio::awaitable<void> {
        runtime::HttpCall request;
        request.target = "/api/banyan/hosts";
        request.timeout = 2s;
        const auto answer = co_await runtime::http_call(endpoint, std::move(request));
        if (!answer || answer->status != 200) co_return;
        const json body = json::parse(answer->body, nullptr, false);
        if (!body.is_array()) co_return;
        for (const json& host : body) up += host.value("up", false) ? 1 : 0;
      },
      boost::asio::detached);
  io.run();
  return up;
}

std::string tail(const fs::path& log) {
  std::ifstream in(log);
  std::string text(std::istreambuf_iterator<char>(in), {});
  return text.size() > 2000 ? text.substr(text.size() - 2000) : text;
}

/// Waits until every host serves; the reason when one ended or time is up.
std::string wait_ready(std::vector<Daemon>& daemons, const runtime::Endpoint& endpoint, std::size_t hosts,
                       const fs::path& dir) {
  const auto limit = std::chrono::steady_clock::now() + kReadyLimit;
  while (g_signal == 0) {
    for (Daemon& daemon : daemons) {
      int how = 0;
      if (waitpid(daemon.pid, &how, WNOHANG) == daemon.pid) {
        daemon.pid = 0;
        return daemon.name + " ended at its start:\n" + tail(dir / "logs" / (daemon.name + ".log"));
      }
    }
    const std::size_t up = hosts_up(endpoint);
    if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\rstarting: %zu of %zu hosts up", up, hosts);
    if (up == hosts) break;
    if (std::chrono::steady_clock::now() > limit)
      return std::to_string(up) + " of " + std::to_string(hosts) + " hosts came up within a minute; see " +
             (dir / "logs").string();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\033[K");
  return {};
}

void stop_all(std::vector<Daemon>& daemons) {
  for (const Daemon& daemon : daemons) {
    if (daemon.pid > 0) kill(daemon.pid, SIGTERM);
  }
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (Daemon& daemon : daemons) {
    while (daemon.pid > 0 && waitpid(daemon.pid, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > limit) kill(daemon.pid, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

void watch(std::vector<Daemon>& daemons, const UpOptions& options, const fs::path& dir) {
  while (g_signal == 0) {
    for (Daemon& daemon : daemons) {
      int how = 0;
      if (daemon.pid <= 0 || waitpid(daemon.pid, &how, WNOHANG) != daemon.pid) continue;
      std::fprintf(
          stderr, "banyan: %s ended (%s %d)%s\n", daemon.name.c_str(), WIFSIGNALED(how) ? "signal" : "status",
          WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how),
          options.respawn ? "; starting it again" : "; sessions go on where a majority of their hosts is up");
      daemon.pid = 0;
      if (options.respawn) start(daemon, dir);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

int complain(const std::string& reason) {
  std::fprintf(stderr, "banyan up: %s\n", reason.c_str());
  return kFailed;
}

}  // namespace

int up(const UpOptions& options) {
  std::error_code error;
  fs::create_directories(fs::path(options.directory) / "logs", error);
  const fs::path dir = fs::canonical(options.directory, error);
  if (error) return complain("cannot make the folder " + options.directory + ": " + error.message());
  fs::remove(dir / "platform.json", error);
  const auto gateway = gateway_settings(options, dir);
  if (!gateway) return complain(gateway.error().message);
  if (const auto done = write_private(dir / "gateway.toml", daemons::to_toml(*gateway)); !done)
    return complain(done.error().message);

  std::vector<Daemon> daemons{{"gateway", {"banyan", "gateway", "--config", dir / "gateway.toml"}}};
  for (const auto& [id, address] : gateway->hosts) {
    const fs::path file = dir / (id.value + ".toml");
    if (const auto done = write_private(file, daemons::to_toml(host_settings(options, dir, id, *gateway)));
        !done)
      return complain(done.error().message);
    daemons.push_back({id.value, {"banyan", "host", "--config", file}});
  }
  struct sigaction action{};
  action.sa_handler = [](int signal) { g_signal = signal; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  for (Daemon& daemon : daemons) start(daemon, dir);

  runtime::Endpoint endpoint;
  endpoint.port = gateway->http_port;
  endpoint.token = gateway->token;
  const std::string problem = wait_ready(daemons, endpoint, gateway->hosts.size(), dir);
  if (!problem.empty()) {
    stop_all(daemons);
    return complain(problem);
  }
  const std::string url = "http://127.0.0.1:" + std::to_string(gateway->http_port);
  json platform = {
      {"url", url}, {"token", gateway->token}, {"pids", json::object()}, {"logs", json::object()}};
  for (const Daemon& daemon : daemons) {
    platform["pids"][daemon.name] = daemon.pid;
    platform["logs"][daemon.name] = (dir / "logs" / (daemon.name + ".log")).string();
  }
  // Whole or not at all: others wait for this file.
  const auto written = write_private(dir / "platform.json.new", platform.dump(2));
  fs::rename(dir / "platform.json.new", dir / "platform.json", error);
  if (!written || error) {
    stop_all(daemons);
    return complain("cannot write " + (dir / "platform.json").string());
  }
  if (options.json) {
    std::printf("%s\n", platform.dump().c_str());
  } else if (g_signal == 0) {
    std::printf(
        "Banyan serves at %s with %zu hosts.\n  token and process ids  %s\n  logs                   banyan "
        "logs --dir %s\n"
        "  Ctrl-C stops it; sessions are kept.\n",
        url.c_str(), gateway->hosts.size(), (dir / "platform.json").c_str(), dir.c_str());
  }
  std::fflush(stdout);
  watch(daemons, options, dir);
  stop_all(daemons);
  fs::remove(dir / "platform.json", error);
  return kDone;
}

}  // namespace banyan::cli
