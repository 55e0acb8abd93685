// What the sessions of a gateway share: the scheduler with its model of the cluster, the way out (links to
// hosts, clients, control store), what hosts have reported, fresh ids.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "core/schedule/scheduler.h"
#include "node/cell_times.h"
#include "node/gateway_node.h"
#include "node/link.h"

namespace banyan::node {

/// A host of the platform as the gateway sees it.
struct PeerHost {
  Time heard_or_start;               ///< silence counts from here
  bool reported = false;             ///< this life of the host has told all its replicas
  bool up = false;                   ///< heard of lately
  std::uint64_t resident_bytes = 0;  ///< of the host agent, as it says
  bool takes_addresses = false;      ///< it understands PeerAddresses
  std::string store;                 ///< the data store that it reads chunks from; empty for none
  std::map<SessionId, ReplicaReport> replicas;
  std::set<SessionId> swept;    ///< sessions whose stale replica was closed in this life of the host
  std::set<SessionId> strays;   ///< sessions that it has a replica of and that the control store never knew
  std::set<SessionId> damaged;  ///< sessions that it has a replica of and whose record cannot be read
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
/// A request of REST that is answered when what it changed is durable.
struct RequestNoted {
  RequestId request;
};
/// The session's record is gone: no later life of the gateway knows of it.
struct EndNoted {
  SessionId session;
};

/// Collects the effects of one step.
/// In a session's environment: the name of its SessionPolicy, where that is not "replicated".
inline constexpr const char* kPolicyVariable = "KERNEL_POLICY";

class GatewayContext {
 public:
  GatewayContext(GatewayConfig config, Incarnation life, std::uint64_t seed);

  void emit(GatewayEffect effect) { effects_.push_back(std::move(effect)); }
  void log(Log::Level level, std::string text) { emit(Log{level, std::move(text)}); }
  /// Sends reliably within the two daemons' lives; dropped for what is no host of the platform.
  void send(const HostId& to, PeerMessage message);
  /// Writes a record; an empty value deletes it.
  void store(std::string key, std::string value);
  /// The same; `session` is told when it is durable.
  void store(std::string key, std::string value, const SessionId& session, Noted noted);
  /// Who waits for a record to be durable: a session, a request, or the replicas of a session that ends.
  using Waiting = std::variant<std::pair<SessionId, Noted>, RequestNoted, EndNoted>;
  /// The same; noted() gives `waiting` back then.
  void store(std::string key, std::string value, Waiting waiting);
  /// Who waits for this token, once.
  std::optional<Waiting> noted(std::uint64_t token);

  /// The scheduler hears it at once; what it decides is carried out at the end of the step, in order.
  void tell(schedule::Event event);
  /// The oldest decision that has not been carried out.
  std::optional<schedule::Decision> take_decision();
  [[nodiscard]] const cluster::Cluster& cluster() const { return scheduler_.cluster(); }
  /// What such a session needs, and how it has its devices and processes.
  [[nodiscard]] cluster::SessionKind kind_of(const session::Spec& spec) const;
  /// The cells that wait for GPUs, in their order.
  [[nodiscard]] std::vector<schedule::QueuedCell> queued_cells() const { return scheduler_.queued_cells(); }
  /// How many cells wait for GPUs.
  [[nodiscard]] std::size_t queued_count() const { return scheduler_.queued_count(); }
  /// The session's cell, if it waits for GPUs.
  [[nodiscard]] std::optional<schedule::QueuedCell> queued_cell(const SessionId& session) const {
    return scheduler_.queued_cell(session);
  }
  /// How many a session is to have, when all its hosts are there.
  [[nodiscard]] std::uint64_t replicas_wanted() const { return scheduler_.replicas_wanted(); }

  /// The host is one of the platform's, and takes replicas.
  void add_host(const HostId& host);
  /// It is none any more.
  void remove_host(const HostId& host);
  [[nodiscard]] std::map<HostId, PeerHost>& hosts() { return hosts_; }
  [[nodiscard]] const std::map<HostId, PeerHost>& hosts() const { return hosts_; }
  /// The link to a host of the platform.
  Link& link(const HostId& host) { return links_.at(host); }
  [[nodiscard]] const schedule::Drains& drains() const { return scheduler_.drains(); }
  /// Up, and it has told its replicas: a session may count on it.
  [[nodiscard]] bool usable(const HostId& host) const { return cluster().usable(host); }
  /// How long the host has been silent.
  [[nodiscard]] Duration silence(const HostId& host) const;
  /// What the host reports of its replica; null when it has none.
  [[nodiscard]] const ReplicaReport* report_of(const HostId& host, const SessionId& session) const;

  /// How long cells wait and run.
  [[nodiscard]] CellTimes& cell_times() { return cell_times_; }
  [[nodiscard]] const CellTimes& cell_times() const { return cell_times_; }

  [[nodiscard]] const GatewayConfig& config() const { return config_; }
  [[nodiscard]] const Now& now() const { return now_; }
  /// When this life of the gateway had its first event.
  [[nodiscard]] const Now& started() const { return *started_; }
  void set_now(const Now& now);
  Rng& rng() { return rng_; }
  /// A message of the kernel's own making for `session`.
  jupyter::Author author(const SessionId& session) { return {session.value, rng_.uuid(), now_.wall}; }

  /// Ends the step: everything that was collected, with the frames that are due.
  std::vector<GatewayEffect> finish();

 private:
  GatewayConfig config_;
  Incarnation life_;
  Rng rng_;
  Now now_;
  std::optional<Now> started_;
  schedule::Scheduler scheduler_;
  std::deque<schedule::Decision> decisions_;
  std::map<HostId, PeerHost> hosts_;
  /// A link lasts as long as both lives, also where its host is removed and added again meanwhile.
  std::map<HostId, Link> links_;
  std::vector<GatewayEffect> effects_;
  std::uint64_t last_token_ = 0;
  std::map<std::uint64_t, Waiting> waiting_;
  CellTimes cell_times_;
};

}  // namespace banyan::node
