#include "daemons/host_daemon.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "daemons/gateway_key.h"
#include "daemons/service.h"
#include "node/host_node.h"
#include "port/drivers.h"
#include "runtime/data_store/data_store_at.h"
#include "runtime/data_store/store_chunks.h"
#include "runtime/data_store/store_url.h"
#include "runtime/devices/devices_of_host.h"
#include "runtime/net/websocket_network.h"
#include "runtime/storage/rocks_disk.h"
#include "runtime/worker/launcher.h"

namespace banyan::daemons {

namespace {

constexpr Duration kStopPatience = 8s;  // for what is only in memory; `banyan up` waits for 10 s

node::Sizes sizes_of(const HostSettings& settings) {
  node::Sizes sizes;
  sizes.durable_inline = settings.durable_inline;
  sizes.capture_bytes = settings.capture_bytes != 0 ? settings.capture_bytes : machine_memory_bytes() / 4;
  return sizes;
}

/// Which devices each worker's processes use.
std::map<WorkerId, std::set<DeviceId>> uses(port::Devices& devices, const runtime::WorkerLauncher& launcher) {
  std::map<int, WorkerId> workers;
  std::set<int> all;
  for (const auto& [worker, processes] : launcher.processes()) {
    all.insert(processes.begin(), processes.end());
    for (const int process : processes) workers.emplace(process, worker);
  }
  std::map<WorkerId, std::set<DeviceId>> found;
  if (all.empty()) return found;
  for (const port::DeviceUse& use : devices.uses(all)) found[workers.at(use.process)].insert(use.device);
  return found;
}

node::HostFigures figures(port::Devices& devices, const runtime::WorkerLauncher& launcher) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  std::vector<cluster::Device> listed = devices.list();
  const bool some = !listed.empty();  // else nobody need look at all processes
  return {.cpus = std::thread::hardware_concurrency(),
          .memory_bytes = machine_memory_bytes(),
          .resident_bytes =
              (resident * page) >> 20 << 20,  // whole MiB, because a report goes out whenever it changes
          .devices = std::move(listed),
          .uses = some ? uses(devices, launcher) : std::map<WorkerId, std::set<DeviceId>>()};
}

/// Replaces a leading "~/", as a shell does.
std::string with_home(const std::string& path) {
  const char* const home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
}

std::vector<runtime::KernelConfig> kernels_of(const HostSettings& settings) {
  const runtime::KernelConfig own{.name = {},
                                  .python = with_home(settings.python),
                                  .python_path = settings.python_path,
                                  .preload = settings.preload};
  if (settings.kernels.empty()) return {own};
  std::vector<runtime::KernelConfig> kernels;
  for (const HostKernelSettings& kernel : settings.kernels) {
    runtime::KernelConfig& added = kernels.emplace_back(own);
    added.name = kernel.name;
    if (kernel.preload) added.preload = *kernel.preload;
    if (kernel.python.empty()) continue;
    added.python = with_home(kernel.python);
    added.python_path = kernel.python_path;  // the host's own is for another Python
  }
  return kernels;
}

runtime::WorkerConfig worker_config(const HostSettings& settings) {
  runtime::WorkerConfig config;
  config.kernels = kernels_of(settings);
  config.import_ahead = settings.import_ahead;
  config.import_ahead_bytes = settings.import_ahead_bytes;
  std::error_code gone;  // the program was replaced on the disk: magics that need it say so
  if (const auto program = std::filesystem::read_symlink("/proc/self/exe", gone);
      std::filesystem::exists(program, gone))
    config.env["BANYAN_COMMAND"] = program;
  // The variable is set even when there are no GPUs, because this process may have inherited another value.
  std::string& gpus = config.env["BANYAN_GPUS"];
  for (const std::string& file : settings.gpus) gpus += (gpus.empty() ? "" : ":") + file;
  config.runtime_directory = settings.runtime_directory;
  config.log_directory = settings.data_directory + "/worker-logs";
  config.default_directory = settings.working_directory;
  if (settings.sandbox == "none") {
    config.sandbox = runtime::Sandbox::kOff;
  } else if (settings.sandbox == "bubblewrap") {
    config.sandbox = runtime::Sandbox::kRequired;
  }
  // Whoever reads the host's own key may take its name, and whoever writes the gateway's that of the gateway.
  config.hidden = {settings.data_directory + "/log", keys_folder(settings.data_directory)};
  if (settings.worker_memory_bytes != 0) config.limits.memory_bytes = settings.worker_memory_bytes;
  if (settings.worker_pids != 0) config.limits.processes = settings.worker_pids;
  if (settings.worker_cpus != 0) config.limits.cpus = settings.worker_cpus;
  return config;
}

/// The data store from which the host reads chunks; null when there is no URL.
Result<std::unique_ptr<port::ChunkSource>> store_chunks(runtime::Loop& loop, const std::string& url) {
  if (url.empty()) return std::unique_ptr<port::ChunkSource>();
  auto store = runtime::data_store_at(loop, url);
  if (!store) return fail(store.error().kind, "the host's 'store': " + store.error().message);
  return std::unique_ptr<port::ChunkSource>(
      std::make_unique<runtime::StoreChunks>(std::move(*store), write_log));
}

}  // namespace

Result<Done> run_host(const HostSettings& settings) {
  start_log(settings.id.value);
  const Life life = draw_life();
  spdlog::info("host agent {} starts, pid {}, seed {}", settings.id.value, getpid(), life.seed);
  std::error_code error;
  std::filesystem::create_directories(settings.data_directory, error);
  if (error) return fail(ErrorKind::kIo, "cannot make " + settings.data_directory + ": " + error.message());

  runtime::Loop loop;
  auto disk = runtime::RocksDisk::open(loop, settings.data_directory + "/log",
                                       [](const std::string& reason) { die(reason); });
  if (!disk) return tl::unexpected(disk.error());
  auto stored = (*disk)->recover();
  if (!stored) return tl::unexpected(stored.error());

  // After the disk, which only one host agent opens at a time.
  const auto identity = load_identity(settings.data_directory);
  if (!identity) return tl::unexpected(identity.error());
  auto gateway_key = GatewayKey::load(settings);
  if (!gateway_key) return tl::unexpected(gateway_key.error());

  const auto plan = planner::strategy_named(settings.plan);
  if (!plan) return tl::unexpected(plan.error());
  const char* const inherited = std::getenv("BANYAN_BACKUP_STORE");
  const std::string url = settings.store.empty() && inherited != nullptr ? inherited : settings.store;
  auto store = store_chunks(loop, url);
  if (!store) return tl::unexpected(store.error());
  const auto devices = runtime::open_devices(settings.gpus, write_log);
  node::HostNode node({.id = settings.id,
                       .sizes = sizes_of(settings),
                       .plan = *plan,
                       .store = runtime::place_of(url),
                       .devices = devices->list()},
                      life.incarnation, life.seed);
  std::unique_ptr<port::HostDriver> driver;
  const auto deliver = [&driver](node::HostEvent event) {
    if (driver) driver->deliver(std::move(event));
  };
  auto launcher = runtime::WorkerLauncher::create(loop.io(), worker_config(settings), deliver, write_log);
  if (!launcher) return tl::unexpected(launcher.error());
  auto handlers = peers_to(deliver);
  handlers.introduced = [&gateway_key, told = false](const HostId& peer, const std::string&,
                                                     const std::string& key) mutable {
    if (peer != node::kGateway) return;
    if (const auto kept = gateway_key->keep(key); !kept && !std::exchange(told, true))
      spdlog::error(
          "the gateway's key is not kept, so that after a restart another one may take its place: {}",
          kept.error().message);
  };
  auto network = runtime::WebSocketNetwork::start(loop,
                                                  {.self = settings.id,
                                                   .identity = *identity,
                                                   .listen = settings.peer_listen,
                                                   .peers = settings.peers,
                                                   .secret = settings.cluster_secret,
                                                   .keys = {{node::kGateway, gateway_key->known()}},
                                                   .strangers = runtime::Strangers::kWait,
                                                   .advertise = settings.advertise},
                                                  std::move(handlers));
  if (!network) return tl::unexpected(network.error());

  driver = std::make_unique<port::HostDriver>(
      node, port::HostDriver::Ports{**network, **disk, **launcher, [&loop] { return loop.now(); }, write_log,
                                    store->get()});
  spdlog::info("{} replicas on disk", stored->replicas.size());
  deliver(std::move(*stored));
  deliver(figures(*devices, **launcher));
  deliver(node::HostKernels{(*launcher)->kernels()});
  loop.every(node::Timing{}.tick, [deliver] { deliver(node::Tick{}); });
  loop.every(1s, [deliver, &devices, &launcher = **launcher] { deliver(figures(*devices, launcher)); });
  loop.every(15s, return_free_memory);
  stop_on_signals(
      loop,
      [&node] {
        if (node.captured_bytes() > 0)
          spdlog::info("first it writes {} MB of values to the disk that are only in memory so far",
                       node.captured_bytes() / 1'000'000);
      },
      [&node] { return node.captured_bytes() == 0; }, kStopPatience);
  loop.run();
  driver.reset();
  spdlog::info("stopped");
  return Done{};
}

}  // namespace banyan::daemons
