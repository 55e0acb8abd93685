#include "daemons/gateway_daemon.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemons/service.h"
#include "node/gateway_node.h"
#include "port/drivers.h"
#include "runtime/control/sqlite_store.h"
#include "runtime/http/http_front.h"
#include "runtime/net/websocket_network.h"

namespace banyan::daemons {

namespace {

constexpr Duration kFarewell = 200ms;  // for what clients are told at the end

session::Durability durability_named(const std::string& name) {
  return name == "async" ? session::Durability::kAsync : session::Durability::kSync;
}

Result<node::KernelSpec> kernel_spec(const KernelSettings& settings) {
  node::KernelSpec spec;
  spec.name = settings.name;
  if (!settings.durability.empty()) spec.durability = durability_named(settings.durability);
  spec.policy = settings.policy;
  spec.demand.gpus = settings.gpus;
  spec.spec_json = nlohmann::json{{"argv", {"banyan", "kernel", "-f", "{connection_file}"}},
                                  {"display_name", settings.display_name},
                                  {"language", settings.language},
                                  {"interrupt_mode", "message"},
                                  {"env", nlohmann::json::object()},
                                  {"metadata", {{"debugger", true}}}}
                       .dump();
  if (settings.logo_directory.empty()) return spec;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(settings.logo_directory, error)) {
    std::ifstream in(file.path(), std::ios::binary);
    spec.files[file.path().filename()] = std::string(std::istreambuf_iterator<char>(in), {});
  }
  if (error)
    return fail(ErrorKind::kIo,
                "cannot read the logos in " + settings.logo_directory + ": " + error.message());
  return spec;
}

Result<node::GatewayConfig> node_config(const GatewaySettings& settings) {
  node::GatewayConfig config;
  config.hosts = settings.hosts;
  config.token = settings.token;
  config.replicas = settings.replicas;
  config.placement = settings.placement;
  config.executor_choice = settings.executor_choice;
  config.elect = settings.election == "all";
  config.standbys = settings.standbys == "warm" ? session::Standbys::kWarm : session::Standbys::kHot;
  config.durability = durability_named(settings.durability);
  config.suspend_after = std::chrono::seconds(settings.suspend_after_s);
  config.gpus_per_user = settings.gpus_per_user;
  config.gpu_hours_per_user = settings.gpu_hours_per_user;
  config.session_policy = settings.session_policy;
  config.subscription_limit = *schedule::SubscriptionLimit::parse(settings.subscription_limit);
  config.keep.cells = settings.keep_commits;
  config.keep.values = settings.keep_bytes;
  for (const KernelSettings& kernel : settings.kernels) {
    auto spec = kernel_spec(kernel);
    if (!spec) return tl::unexpected(spec.error());
    config.kernel_specs.push_back(std::move(*spec));
  }
  if (!config.kernel_specs.empty()) config.default_kernel = config.kernel_specs.front().name;
  return config;
}

}  // namespace

Result<Done> run_gateway(const GatewaySettings& settings) {
  start_log("gateway");
  const Life life = draw_life();
  spdlog::info("gateway starts, pid {}, seed {}", getpid(), life.seed);
  const auto config = node_config(settings);
  if (!config) return tl::unexpected(config.error());

  runtime::Loop loop;
  auto store =
      runtime::SqliteStore::open(loop, settings.store_path, [](const std::string& reason) { die(reason); });
  if (!store) return tl::unexpected(store.error());
  // After the store, which only one gateway opens at a time.
  const auto identity = load_identity(std::filesystem::path(settings.store_path).parent_path());
  if (!identity) return tl::unexpected(identity.error());
  auto records = (*store)->load();
  if (!records) return tl::unexpected(records.error());

  node::GatewayNode node(*config, life.incarnation, life.seed);
  std::unique_ptr<port::GatewayDriver> driver;
  const auto deliver = [&driver](node::GatewayEvent event) {
    if (driver) driver->deliver(std::move(event));
  };
  runtime::HttpOptions options;
  options.address = settings.http_address;
  options.port = settings.http_port;
  options.allowed_origins = settings.allowed_origins;
  options.body_bytes_max = config->sizes.message_max;
  options.socket.message_bytes_max = config->sizes.message_max;
  auto front = runtime::HttpFront::listen(loop.io(), options, deliver, write_log);
  if (!front) return tl::unexpected(front.error());
  auto handlers = peers_to(deliver);
  handlers.introduced = [deliver](const HostId& peer, std::string address, std::string key) {
    deliver(node::PeerIntroduced{peer, std::move(address), std::move(key)});
  };
  auto network = runtime::WebSocketNetwork::start(loop,
                                                  {.self = node::kGateway,
                                                   .identity = *identity,
                                                   .listen = settings.peer_listen,
                                                   .peers = settings.hosts,
                                                   .secret = settings.cluster_secret},
                                                  std::move(handlers));
  if (!network) return tl::unexpected(network.error());

  driver = std::make_unique<port::GatewayDriver>(
      node,
      port::GatewayDriver::Ports{**network, **store, **front, [&loop] { return loop.now(); }, write_log});
  deliver(node::StoreLoaded{std::move(*records)});
  loop.every(node::Timing{}.tick, [deliver] { deliver(node::Tick{}); });
  stop_on_signals(loop, [&front] { (*front)->stop(); }, [] { return false; }, kFarewell);
  spdlog::info("listening on http://{}:{}", settings.http_address, (*front)->port());
  loop.run();
  driver.reset();
  spdlog::info("stopped");
  return Done{};
}

}  // namespace banyan::daemons
