// The gateway as a pure machine: REST, WebSocket clients, routing of cells to replicas; the scheduler inside.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "core/schedule/session_policy.h"
#include "core/schedule/subscription.h"
#include "node/gateway_events.h"
#include "node/timing.h"

namespace banyan::node {

/// One kernel that clients may start, as `GET /api/kernelspecs` shows it.
struct KernelSpec {
  std::string name;
  std::string spec_json;  ///< the "spec" object: argv, display_name, language, metadata…
  std::map<std::string, std::string>
      files;                    ///< served under /kernelspecs/{name}/{file}: logos; name to bytes
  cluster::Demand demand = {};  ///< of each cell
  std::optional<session::Durability> durability = {};  ///< of its sessions; nothing: as GatewayConfig says
  std::string policy =
      {};  ///< of its sessions: schedule::SessionPolicy::parse(); empty: as GatewayConfig says
};

/// A gateway's configuration, fixed for its life.
struct GatewayConfig {
  /// The hosts that the configuration names, and where they listen. More may come while the gateway runs.
  std::map<HostId, std::string> hosts;
  std::string token;           ///< clients must present it
  std::uint64_t replicas = 3;  ///< of a session
  std::string default_kernel = "python3";
  std::vector<KernelSpec> kernel_specs;
  Timing timing;
  Sizes sizes;
  std::string placement = "least_loaded";                       ///< policy of core/schedule
  std::string executor_choice = "last_executor";                ///< policy of core/schedule
  bool elect = false;                                           ///< as in schedule::Settings
  session::Keep keep;                                           ///< of new sessions
  session::Standbys standbys = session::Standbys::kHot;         ///< the same
  session::Durability durability = session::Durability::kSync;  ///< the same, of kernels that do not say
  Duration suspend_after{};                                     ///< of idle sessions; 0: never
  std::uint64_t gpus_per_user = 0;                              ///< as in schedule::Settings
  std::uint64_t gpu_hours_per_user = 0;                         ///< as in schedule::Settings
  schedule::SubscriptionLimit subscription_limit = {};          ///< the same
  std::string session_policy = "replicated";  ///< of new sessions: schedule::SessionPolicy::parse()
};

class GatewayMachine;

/// All decisions of a gateway. Pure: the same events at the same times give the same effects.
class GatewayNode {
 public:
  /// `seed` drives the ids that the gateway makes; `life` must differ from all earlier lives of the gateway.
  /// The names of policies in `config` exist (core/schedule/policy.h), `config.token` is not empty.
  GatewayNode(GatewayConfig config, Incarnation life, std::uint64_t seed);
  ~GatewayNode();

  /// Handles one event. Effects on the same peer, client or the store keep their order. The first event of a
  /// life is StoreLoaded.
  std::vector<GatewayEffect> step(const Now& now, GatewayEvent event);

 private:
  std::unique_ptr<GatewayMachine> machine_;
};

}  // namespace banyan::node
