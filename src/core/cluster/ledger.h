// The ledger: on which hosts each session has replicas, and where its cell runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"

namespace banyan::cluster {

/// What each session holds. The sums of each host are computed from the sessions' entries, so they can
/// neither drift nor become negative. Each call states what holds from now on, whatever was said before, so a
/// call that is repeated changes nothing.
class Ledger {
 public:
  /// The session has one replica on each of these hosts, and none elsewhere.
  void hold(const SessionId& session, std::set<HostId> hosts);
  /// The session's cell runs on that host, or will in a moment; nothing: none of its cells runs. A session
  /// runs one cell at a time.
  void run(const SessionId& session, std::optional<HostId> host);
  /// The session holds nothing any more.
  void drop(const SessionId& session);

  /// The hosts of the session's replicas; none for a session that is not known.
  [[nodiscard]] const std::set<HostId>& replicas_of(const SessionId& session) const;
  [[nodiscard]] std::uint64_t replicas_on(const HostId& host) const;
  /// The sessions with a replica on the host, in the order of their ids.
  [[nodiscard]] std::vector<SessionId> sessions_on(const HostId& host) const;
  [[nodiscard]] std::uint64_t cells_on(const HostId& host) const;
  /// How many entries it has, of sessions and of hosts.
  [[nodiscard]] std::size_t size() const { return sessions_.size() + hosts_.size(); }

 private:
  struct Entry {
    std::set<HostId> replicas;
    std::optional<HostId> cell;
  };
  struct Sum {
    std::uint64_t replicas = 0;
    std::uint64_t cells = 0;
  };
  void forget_if_idle(const HostId& host);
  void release_replicas(const std::set<HostId>& hosts);
  void release_cell(const std::optional<HostId>& host);

  std::map<SessionId, Entry> sessions_;
  std::map<HostId, Sum> hosts_;  ///< the hosts on which some session holds something
};

}  // namespace banyan::cluster
