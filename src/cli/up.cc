// `banyan up`: a whole platform on this machine, as child processes.

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "base/bytes.h"
#include "cli/commands.h"
#include "cli/platform_gpus.h"
#include "daemons/config.h"
#include "daemons/service.h"
#include "runtime/devices/device_files.h"
#include "runtime/http/client.h"

namespace banyan::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Clock = std::chrono::steady_clock;

constexpr auto kReadyLimit = std::chrono::seconds(60);
constexpr auto kRespawnPause =
    std::chrono::seconds(1);  // so that a daemon which cannot start does not fill the disk with its log
volatile sig_atomic_t g_signal = 0;

struct Daemon {
  std::string name;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment = {};  ///< set for this daemon only
  pid_t pid = 0;
  Clock::time_point started;
};

/// Locks the folder: two platforms in one folder would have gateways that write the same store. The lock ends
/// with the process.
Result<Done> lock(const fs::path& dir) {
  const int fd = open((dir / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    return fail(ErrorKind::kIo, "cannot write in " + dir.string() + ": " + std::strerror(errno) +
                                    "; choose another folder with --dir");
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return Done{};
  close(fd);
  return fail(ErrorKind::kUnavailable,
              "a platform runs in " + dir.string() + "; stop it, or choose another folder with --dir");
}

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

/// A socket that is bound to a port of the loopback address, so that nobody else gets the port while it
/// lives.
class BoundPort {
 public:
  /// Binds the wanted port; 0 for any free one.
  explicit BoundPort(std::uint16_t wanted) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // A certain port may still have connections of the last start in TIME_WAIT.
    const int reuse = wanted != 0 ? 1 : 0;
    setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(wanted);
    socklen_t size = sizeof address;
    if (bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
        getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
      port_ = ntohs(address.sin_port);
  }
  BoundPort(const BoundPort&) = delete;
  BoundPort& operator=(const BoundPort&) = delete;
  ~BoundPort() { close(fd_); }
  /// The port that is bound; 0 when the wanted one is taken.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

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
  std::deque<BoundPort> ports;  // all ports are held until all are chosen, so that they differ
  if (ports.emplace_back(settings.http_port).port() == 0)
    return fail(ErrorKind::kUnavailable,
                "port " + std::to_string(settings.http_port) +
                    " is in use; choose another with --gateway-port, 0 for any free one");
  settings.http_port = ports.back().port();
  settings.replicas = static_cast<std::uint64_t>(options.replicas);
  settings.store_path = dir / "gateway.db";
  // Kernels that a person has added to the file stay.
  if (settings.kernels.empty()) settings.kernels = {{.name = "python3", .display_name = "Python 3 (Banyan)"}};
  for (daemons::KernelSettings& kernel : settings.kernels) {
    if (kernel.name == "python3" && !options.logos.empty())
      kernel.logo_directory = fs::absolute(options.logos);
  }
  settings.peer_listen = ports.emplace_back(0).address();
  settings.hosts.clear();
  for (int i = 1; i <= options.hosts; ++i)
    settings.hosts[{"h" + std::to_string(i)}] = ports.emplace_back(0).address();
  return settings;
}

daemons::HostSettings host_settings(const UpOptions& options, const fs::path& dir, const HostId& id,
                                    const daemons::GatewaySettings& gateway,
                                    const std::vector<std::string>& gpus) {
  daemons::HostSettings settings;
  settings.id = id;
  settings.peer_listen = gateway.hosts.at(id);
  settings.peers = gateway.hosts;
  settings.peers.erase(id);
  settings.peers[{"gateway"}] = gateway.peer_listen;
  settings.cluster_secret = gateway.cluster_secret;
  settings.data_directory = dir / id.value;
  // The path of a socket must be short, and the folder may be deep.
  const Digest name = digest_of(dir.string());
  settings.runtime_directory =
      "/tmp/banyan-" + std::to_string(getuid()) + "-" + to_hex(name).substr(0, 8) + "/" + id.value;
  settings.working_directory = fs::current_path();
  if (!options.python.empty()) settings.python = options.python;
  settings.python_path = options.python_path;
  for (const daemons::KernelSettings& kernel : gateway.kernels)
    settings.kernels.push_back(
        {.name = kernel.name, .python = kernel.python, .python_path = {}, .preload = {}});
  settings.preload = options.preload;
  settings.gpus = gpus;
  settings.sandbox = options.sandbox;
  settings.worker_memory_bytes = options.worker_memory_bytes;
  // The hosts of this platform share one machine.
  settings.capture_bytes = daemons::machine_memory_bytes() / 4 / static_cast<std::uint64_t>(options.hosts);
  return settings;
}

void start(Daemon& daemon, const fs::path& dir) {
  const std::string log = dir / "logs" / (daemon.name + ".log");
  const pid_t parent = getpid();
  daemon.started = Clock::now();
  daemon.pid = fork();
  if (daemon.pid != 0) return;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent ended before the line above
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  // A `banyan` in a notebook must find this platform, whichever one this user's terminal works with.
  setenv("BANYAN_PLATFORM", (dir / "platform.json").c_str(), 1);
  unsetenv("BANYAN_URL");
  for (const auto& [name, value] : daemon.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (auto& argument : daemon.arguments) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  std::perror("cannot start the daemon");
  _exit(127);
}

/// The hosts that the gateway reaches; empty while the gateway does not answer.
std::set<std::string> hosts_up(const runtime::Endpoint& endpoint) {
  boost::asio::io_context io;
  std::set<std::string> up;
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
        for (const json& host : body) {
          if (host.is_object() && host.contains("host") && host.contains("up") && host["up"] == true)
            up.insert(host["host"].get<std::string>());
        }
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

/// Waits until every host serves. Returns the reason when a daemon has ended or time is up, else an empty
/// text.
std::string wait_ready(std::vector<Daemon>& daemons, const runtime::Endpoint& endpoint, const fs::path& dir) {
  const auto limit = Clock::now() + kReadyLimit;
  const std::size_t hosts = daemons.size() - 1;
  const auto log_end = [&](const std::string& name) { return tail(dir / "logs" / (name + ".log")); };
  while (g_signal == 0) {
    for (Daemon& daemon : daemons) {
      int how = 0;
      if (waitpid(daemon.pid, &how, WNOHANG) == daemon.pid) {
        daemon.pid = 0;
        return daemon.name + " ended at its start:\n" + log_end(daemon.name);
      }
    }
    const auto up = hosts_up(endpoint);
    if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\rstarting: %zu of %zu hosts up", up.size(), hosts);
    if (up.size() == hosts) break;
    if (Clock::now() > limit) {
      const auto missing = std::find_if(daemons.begin() + 1, daemons.end(),
                                        [&](const Daemon& daemon) { return !up.contains(daemon.name); });
      return std::to_string(up.size()) + " of " + std::to_string(hosts) + " hosts came up within a minute; " +
             missing->name + " says:\n" + log_end(missing->name);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\033[K");
  return {};
}

void stop_all(std::vector<Daemon>& daemons) {
  for (const Daemon& daemon : daemons) {
    if (daemon.pid > 0) kill(daemon.pid, SIGTERM);
  }
  const auto limit = Clock::now() + std::chrono::seconds(10);
  for (Daemon& daemon : daemons) {
    while (daemon.pid > 0 && waitpid(daemon.pid, nullptr, WNOHANG) == 0) {
      if (Clock::now() > limit) kill(daemon.pid, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

/// Writes platform.json as a whole or not at all, because others wait for it and read it while daemons come
/// and go.
Result<json> describe(const std::vector<Daemon>& daemons, const daemons::GatewaySettings& gateway,
                      const fs::path& dir) {
  json platform = {{"url", "http://127.0.0.1:" + std::to_string(gateway.http_port)},
                   {"token", gateway.token},
                   {"pids", json::object()},
                   {"logs", json::object()}};
  for (const Daemon& daemon : daemons) {
    if (daemon.pid > 0) platform["pids"][daemon.name] = daemon.pid;
    platform["logs"][daemon.name] = (dir / "logs" / (daemon.name + ".log")).string();
  }
  const fs::path file = dir / "platform.json";
  const fs::path fresh = dir / "platform.json.new";
  if (const auto written = write_private(fresh, platform.dump(2)); !written)
    return tl::unexpected(written.error());
  std::error_code error;
  fs::rename(fresh, file, error);
  if (error) return fail(ErrorKind::kIo, "cannot write " + file.string() + ": " + error.message());
  return platform;
}

/// The process that makes backups. It starts last, because it needs the gateway. It gets the store's URL,
/// which may have a password, in its environment: everybody sees arguments, and cells see files.
Daemon backup_of(const UpOptions& options, const fs::path& dir) {
  return {.name = "backup",
          .arguments = {"banyan", "backup", "--dir", dir},
          .environment = {{kStoreVariable, options.backup}}};
}

/// Says which daemons have ended, and starts them again where that was asked for, until a signal comes.
void watch(std::vector<Daemon>& daemons, const UpOptions& options, const daemons::GatewaySettings& gateway,
           const fs::path& dir) {
  while (g_signal == 0) {
    bool changed = false;
    for (Daemon& daemon : daemons) {
      int how = 0;
      if (daemon.pid > 0 && waitpid(daemon.pid, &how, WNOHANG) == daemon.pid) {
        std::fprintf(stderr, "banyan: %s ended (%s %d)%s\n", daemon.name.c_str(),
                     WIFSIGNALED(how) ? "signal" : "status",
                     WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how),
                     options.respawn ? "; starting it again"
                                     : "; sessions go on where a majority of their hosts is up");
        daemon.pid = 0;
      }
      if (daemon.pid == 0 && options.respawn && Clock::now() - daemon.started > kRespawnPause) {
        start(daemon, dir);
        changed = true;
      }
    }
    if (changed) {
      if (const auto done = describe(daemons, gateway, dir); !done)
        std::fprintf(stderr, "banyan: %s\n", done.error().message.c_str());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void print_ready(const json& platform, const UpOptions& options, const fs::path& dir) {
  if (options.json) {
    std::printf("%s\n", platform.dump().c_str());
  } else {
    std::printf(
        "Banyan serves at %s with %d hosts.\n"
        "  token and process ids  %s\n"
        "  logs                   banyan logs --dir %s\n"
        "  Ctrl-C stops it; sessions are kept.\n",
        platform["url"].get<std::string>().c_str(), options.hosts, (dir / "platform.json").c_str(),
        dir.c_str());
  }
  std::fflush(stdout);
}

/// Makes the folder, locks it and returns its absolute path. Only its owner may read it, because the
/// gateway's store holds what clients send.
Result<fs::path> open_folder(const std::string& name) {
  std::error_code error;
  const bool fresh = fs::create_directories(name, error);
  if (fresh) fs::permissions(name, fs::perms::owner_all, error);
  if (!error) fs::create_directories(fs::path(name) / "logs", error);
  fs::path dir;
  if (!error) dir = fs::canonical(name, error);
  if (error)
    return fail(ErrorKind::kIo,
                "cannot make the folder " + name + ": " + error.message() + "; choose another with --dir");
  if (const auto locked = lock(dir); !locked) return tl::unexpected(locked.error());
  fs::remove(dir / "platform.json", error);  // left by a platform that did not end by itself
  return dir;
}

Result<HostGpus> gpus_of(const UpOptions& options, const daemons::GatewaySettings& gateway,
                         const fs::path& dir) {
  std::vector<HostId> hosts;
  for (const auto& [id, address] : gateway.hosts) hosts.push_back(id);
  if (options.fake_gpus > 0) return fake_gpus(options.fake_gpus, hosts, dir);
  return shared_out(runtime::gpu_files(), hosts);
}

/// Writes the configuration of each daemon.
Result<std::vector<Daemon>> write_configuration(const UpOptions& options,
                                                const daemons::GatewaySettings& gateway, const HostGpus& gpus,
                                                const fs::path& dir) {
  const fs::path gateway_file = dir / "gateway.toml";
  if (const auto done = write_private(gateway_file, daemons::to_toml(gateway)); !done)
    return tl::unexpected(done.error());
  std::vector<Daemon> daemons;
  daemons.push_back({.name = "gateway", .arguments = {"banyan", "gateway", "--config", gateway_file}});
  for (const auto& [id, address] : gateway.hosts) {
    const fs::path file = dir / (id.value + ".toml");
    const auto done =
        write_private(file, daemons::to_toml(host_settings(options, dir, id, gateway, gpus.at(id))));
    if (!done) return tl::unexpected(done.error());
    Daemon daemon{.name = id.value, .arguments = {"banyan", "host", "--config", file}};
    if (!options.backup.empty()) daemon.environment[kStoreVariable] = options.backup;
    daemons.push_back(std::move(daemon));
  }
  return daemons;
}

int complain(const std::string& reason) {
  std::fprintf(stderr, "banyan up: %s\n", reason.c_str());
  return kFailed;
}

}  // namespace

int up(const UpOptions& options) {
  const auto dir = open_folder(options.directory);
  if (!dir) return complain(dir.error().message);
  if (const auto store = options.backup.empty() ? Result<Done>(Done{}) : check_store(options.backup); !store)
    return complain(store.error().message);
  auto gateway = gateway_settings(options, *dir);
  if (!gateway) return complain(gateway.error().message);
  const auto gpus = gpus_of(options, *gateway, *dir);
  if (!gpus) return complain(gpus.error().message);
  set_gpu_kernels(gateway->kernels, *gpus, gateway->replicas);
  auto daemons = write_configuration(options, *gateway, *gpus, *dir);
  if (!daemons) return complain(daemons.error().message);

  struct sigaction action{};
  action.sa_handler = [](int signal) { g_signal = signal; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  for (Daemon& daemon : *daemons) start(daemon, *dir);

  runtime::Endpoint endpoint;
  endpoint.port = gateway->http_port;
  endpoint.token = gateway->token;
  std::string problem = wait_ready(*daemons, endpoint, *dir);
  if (problem.empty() && g_signal == 0) {
    if (!options.backup.empty()) start(daemons->emplace_back(backup_of(options, *dir)), *dir);
    if (const auto platform = describe(*daemons, *gateway, *dir)) {
      print_ready(*platform, options, *dir);
      watch(*daemons, options, *gateway, *dir);
    } else {
      problem = platform.error().message;
    }
  }
  stop_all(*daemons);
  std::error_code ignored;
  fs::remove(*dir / "platform.json", ignored);
  return problem.empty() ? kDone : complain(problem);
}

}  // namespace banyan::cli
