// What the sessions of a gateway share: the way out (links to hosts, clients, control store), what is known
// of the hosts, fresh ids.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "core/placement/placement.h"
#include "node/gateway_node.h"
#include "node/link.h"

namespace banyan::node {

/// A host as the gateway sees it.
struct PeerHost {
  Link link;
  Time heard_or_start;    ///< silence counts from here
  bool reported = false;  ///< this life of the host has told all its replicas
  bool up = false;        ///< heard of lately
  HostReport figures;     ///< without replicas
  Time kernels_since;     ///< when it told of the kernels in `figures`
  std::map<SessionId, ReplicaReport> replicas;
  std::set<SessionId> swept;   ///< sessions whose stale replica was closed in this life of the host
  std::set<SessionId> strays;  ///< sessions that it has a replica of and that the control store never knew
  std::uint64_t assigned = 0;  ///< replicas that sessions have there
  std::uint64_t cells = 0;     ///< that the gateway believes to run there
};

// What a session waits for when it writes a record: handed back by Stored.
struct SessionNoted {};  ///< the session's own record exists
struct MembersNoted {    ///< and names the members of this wish, and which of them are open
  std::uint64_t wish = 0;
};
struct RestartNoted {
  std::uint64_t request = 0;
};
struct VerdictNoted {
  std::uint64_t cell = 0;
};
struct ProgressNoted {};
using Noted = std::variant<SessionNoted, MembersNoted, RestartNoted, VerdictNoted, ProgressNoted>;

/// Collects the effects of one step.
class GatewayContext {
 public:
  GatewayContext(GatewayConfig config, Incarnation life, std::uint64_t seed);

  void emit(GatewayEffect effect) { effects_.push_back(std::move(effect)); }
  void log(Log::Level level, std::string text) { emit(Log{level, std::move(text)}); }
  /// Sends reliably within the two daemons' lives; dropped for a host that is not configured.
  void send(const HostId& to, PeerMessage message);
  /// Writes a record; an empty value deletes it.
  void store(std::string key, std::string value);
  /// The same; `session` is told when it is durable.
  void store(std::string key, std::string value, const SessionId& session, Noted noted);
  /// Who waits for this token, once.
  std::optional<std::pair<SessionId, Noted>> noted(std::uint64_t token);

  [[nodiscard]] std::map<HostId, PeerHost>& hosts() { return hosts_; }
  [[nodiscard]] const std::map<HostId, PeerHost>& hosts() const { return hosts_; }
  /// Up, and it has told its replicas: a session may count on it.
  [[nodiscard]] bool usable(const HostId& host) const;
  /// That it said it has; 0 for an unknown host.
  [[nodiscard]] std::uint64_t gpus_of(const HostId& host) const;
  /// How long the host has been silent.
  [[nodiscard]] Duration silence(const HostId& host) const;
  /// What the host reports of its replica; null when it has none.
  [[nodiscard]] const ReplicaReport* report_of(const HostId& host, const SessionId& session) const;
  [[nodiscard]] placement::HostLoad load_of(const HostId& host) const;

  [[nodiscard]] const GatewayConfig& config() const { return config_; }
  [[nodiscard]] const placement::Placement& placement() const { return *placement_; }
  [[nodiscard]] const placement::ExecutorChoice& executor_choice() const { return *executor_choice_; }
  [[nodiscard]] const Now& now() const { return now_; }
  [[nodiscard]] Time started_at() const { return started_at_; }
  void set_now(const Now& now);
  Rng& rng() { return rng_; }
  /// A message of the kernel's own making for `session`.
  jupyter::Author author(const SessionId& session) { return {session.value, rng_.uuid(), now_.wall}; }

  /// Ends the step: everything that was collected, with the frames that are due.
  std::vector<GatewayEffect> finish();

 private:
  GatewayConfig config_;
  Rng rng_;
  Now now_;
  Time started_at_;
  bool started_ = false;
  std::unique_ptr<const placement::Placement> placement_;
  std::unique_ptr<const placement::ExecutorChoice> executor_choice_;
  std::map<HostId, PeerHost> hosts_;
  std::vector<GatewayEffect> effects_;
  std::uint64_t last_token_ = 0;
  std::map<std::uint64_t, std::pair<SessionId, Noted>> waiting_;
};

}  // namespace banyan::node
