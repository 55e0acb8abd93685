// Cells that wait for devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/cluster/cluster.h"
#include "core/schedule/gpu_hours.h"
#include "core/schedule/policy.h"

namespace banyan::schedule {

/// A cell that waits, as people see it.
struct QueuedCell {
  SessionId session;
  cluster::Demand demand;
  /// Among those that wait for the same hosts; 1: the next one; 0: none of its hosts can be asked now.
  std::uint64_t place = 0;
  Time since;                        ///< when it began to wait
  std::optional<Duration> expected;  ///< until it runs; nothing while nobody can tell
  std::string owner;                 ///< whose it is; empty when nobody has said
  bool at_limit = false;             ///< its owner has as many devices as one may have
  std::optional<Time> hours_end;     ///< its owner has spent what one may have within a day, until then
  std::optional<HostId> comes_to;    ///< a replica of its session moves there, where devices are idle
};

/// Lines of cells, one on each host. The next cell of a line is the first one of that owner whose cells have
/// the fewest devices on all hosts (the share of the resource that counts here: dominant resource fairness,
/// NSDI 2011), of equal ones the one that came first. It is not overtaken, also when another one needs fewer
/// devices. Whose cells have as many as one owner may have, at once or within a day, is passed by meanwhile.
/// Nothing is set aside for a cell on hosts that it cannot use, but where a replica of its session is on its
/// way.
class DeviceQueue {
 public:
  /// `cluster` and `hours` outlive this. `most`: devices that the cells of one owner may have at once; 0: any
  /// number.
  DeviceQueue(const cluster::Cluster& cluster, const GpuHours& hours, std::uint64_t most = 0)
      : cluster_(cluster), hours_(hours), most_(most) {}

  /// Those of the replicas that may run the session's cell now, because their hosts have idle devices for it;
  /// the cell leaves the queue. None: it waits in the queue from now on, or keeps its place there. Where all
  /// hosts are too small for it, also when nothing is bound there, it does not wait: any may be asked, and
  /// says why it declines.
  [[nodiscard]] std::vector<EligibleReplica> take_turn(const SessionId& session,
                                                       const cluster::Demand& demand,
                                                       std::vector<EligibleReplica> replicas, Time now);
  /// The cell waits in the line of a host on which its session has no replica yet, or in none. take_ready()
  /// does not name it: who brings a replica there asks has_turn().
  void wait_elsewhere(const SessionId& session, const cluster::Demand& demand,
                      const std::optional<HostId>& host, Time now);
  /// The cell, which waits, would have its turn on that host now.
  [[nodiscard]] bool has_turn(const SessionId& session, const HostId& host) const;
  /// Nobody can run the cell now, wherever devices are: it claims none, and keeps its place.
  void pass(const SessionId& session);
  /// A replica of the session that waits comes to that host: so many devices as its cell needs are kept for
  /// it there. Nothing: it does not come any more.
  void comes(const SessionId& session, std::optional<HostId> host);
  /// The session's cell waits no more.
  void drop(const SessionId& session);
  /// The sessions whose cells may have their turn now, in the order in which they came. Each is named once,
  /// until it waits anew. `changed`, `owners`: the hosts of which idle devices may have become more since
  /// this was called last, and the owners whose number of devices may have changed.
  [[nodiscard]] std::vector<SessionId> take_ready(const std::set<HostId>& changed,
                                                  const std::set<std::string>& owners);

  /// Those that wait, in the order in which they came. `mean`: for how long a cell has its devices. What is
  /// expected takes all devices of a cell's hosts for one pool that serves whoever is before it, and then it.
  [[nodiscard]] std::vector<QueuedCell> cells(std::optional<Duration> mean) const;
  /// The session's cell, if it waits.
  [[nodiscard]] std::optional<QueuedCell> cell_of(const SessionId& session,
                                                  std::optional<Duration> mean) const;
  /// Some cell waits for devices of that host.
  [[nodiscard]] bool is_awaited(const HostId& host) const {
    return lines_.contains(host) || reserved_.contains(host);
  }
  /// The sessions whose cells wait, as they would have their turns if all waited for one host.
  [[nodiscard]] std::vector<SessionId> in_turn() const;
  /// How many cells wait.
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  /// Nothing is kept for anybody; for tests.
  [[nodiscard]] bool keeps_nothing() const { return reserved_.empty() && reserved_for_.empty(); }

 private:
  /// A cell's number among all: whoever came before has a smaller one.
  using Ticket = std::uint64_t;
  /// The next one has the smallest: the devices that its owner's cells have, and then its ticket.
  using Rank = std::pair<std::uint64_t, Ticket>;
  /// The cells that wait for a host, by owner.
  using Line = std::map<std::string, std::set<Ticket>>;
  struct Waiting {
    SessionId session;
    std::string owner;
    cluster::Demand demand;
    std::set<HostId> hosts;
    std::optional<HostId> comes_to;
    Time since;
    bool named = false;  ///< by take_ready()
  };
  /// Enough devices are idle there, and no cell that goes before waits for that host.
  [[nodiscard]] bool is_free(const SessionId& session, const cluster::Demand& demand,
                             const HostId& host) const;
  [[nodiscard]] bool is_at_limit(const std::string& owner, const cluster::Demand& demand) const;
  /// One of the two limits is reached.
  [[nodiscard]] bool may_not(const std::string& owner, const cluster::Demand& demand) const;
  /// Devices that the owner's cells have, and those that are kept for them.
  [[nodiscard]] std::uint64_t share_of(const std::string& owner) const;
  [[nodiscard]] std::optional<Rank> next(const Line& line) const;
  /// Without those that are kept for cells that come there.
  [[nodiscard]] std::uint64_t idle_on(const HostId& host) const;
  Ticket enter(const SessionId& session, const cluster::Demand& demand, Time now);
  void wait_for(Ticket ticket, std::set<HostId> hosts);
  /// Who waits for any of some hosts, as they would have their turns, and the devices of these hosts.
  struct Order {
    struct Place {
      std::uint64_t before = 0;       ///< cells
      std::uint64_t gpus_before = 0;  ///< that these need
    };
    std::map<Ticket, Place> places;
    std::uint64_t idle = 0, all = 0;
  };
  [[nodiscard]] Order order_on(const std::set<HostId>& hosts) const;
  [[nodiscard]] QueuedCell described(Ticket ticket, const Order& order, std::optional<Duration> mean) const;

  const cluster::Cluster& cluster_;
  const GpuHours& hours_;
  const std::uint64_t most_;
  std::map<Ticket, Waiting> waiting_;
  std::map<SessionId, Ticket> tickets_;
  /// Of those that wait, and how many of each one's cells are in each line.
  std::map<std::string, std::map<HostId, std::size_t>> owners_;
  std::map<HostId, Line> lines_;                       ///< those that wait for each host
  std::map<HostId, std::uint64_t> reserved_;           ///< devices that are kept there for cells that come
  std::map<std::string, std::uint64_t> reserved_for_;  ///< the same, by the owners of these cells
  std::set<HostId> moved_;                             ///< whose lines have changed since take_ready()
  std::set<HostId>
      held_up_;  ///< who have idle devices and a line: who is next may change by what is elsewhere
  Ticket last_ = 0;
};

}  // namespace banyan::schedule
