// The scheduler: one pure machine that hears what happens and decides where sessions go and which replica is
// asked to run a cell.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/cluster/cluster.h"
#include "core/schedule/cell_rounds.h"
#include "core/schedule/device_moves.h"
#include "core/schedule/device_queue.h"
#include "core/schedule/drains.h"
#include "core/schedule/events.h"
#include "core/schedule/gpu_hours.h"
#include "core/schedule/hold_times.h"
#include "core/schedule/idle_sessions.h"
#include "core/schedule/newcomers.h"
#include "core/schedule/policy.h"
#include "core/schedule/subscription.h"

namespace banyan::schedule {

/// The configuration, fixed for the scheduler's life. Policies are chosen by name (policy.h).
struct Settings {
  std::uint64_t replicas = 3;  ///< how many replicas a session has
  std::string default_kernel;
  std::string placement = "least_loaded";
  std::string executor_choice = "last_executor";
  bool elect = false;  ///< all replicas are asked to run a cell, and propose themselves; where none does, one
                       ///< is chosen
  Duration suspend_after{};                   ///< sessions that were idle for so long are suspended; 0: never
  SubscriptionLimit subscription_limit = {};  ///< for new sessions
  std::uint64_t gpus_per_user = 0;  ///< so many the cells of one owner may have at once; 0: any number
  Duration gpu_hours_per_user{};  ///< of one device, that they may have within a day (GpuHours); 0: any time
};

/// Owns the model of the cluster. A decision is in the ledger at once, so that the next decision counts it. A
/// session that carries a decision out differently says so by SessionHolds, CellRuns or CellEnded.
class Scheduler {
 public:
  /// The names of the policies in `settings` exist.
  explicit Scheduler(const Settings& settings);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Events come in the order in which they happen, with times that do not go back. The same events at the
  /// same times give the same decisions.
  [[nodiscard]] std::vector<Decision> step(const Now& now, Event event);

  [[nodiscard]] const cluster::Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const Drains& drains() const { return drains_; }
  /// The cells that wait for GPUs, in their order.
  [[nodiscard]] std::vector<QueuedCell> queued_cells() const {
    return device_queue_.cells(holds_.mean(now_.mono));
  }
  /// How many cells wait for GPUs.
  [[nodiscard]] std::size_t queued_count() const { return device_queue_.size(); }
  /// The session's cell, if it waits for GPUs.
  [[nodiscard]] std::optional<QueuedCell> queued_cell(const SessionId& session) const {
    return device_queue_.cell_of(session, holds_.mean(now_.mono));
  }
  /// How many a session is to have, when all its hosts are there.
  [[nodiscard]] std::uint64_t replicas_wanted() const;

 private:
  void on(HostReported& event);
  void on(const HostChanged& event);
  void on(const HostAdded& event);
  void on(const HostDraining& event);
  void on(const HostRemoved& event);
  void on(SessionAsked& event);
  void on(SessionHolds& event);
  void on(const SessionIdle& event);
  void on(const ReservationEnds& event);
  void on(const SessionClosed& event);
  void on(const ReplicaWanted& event);
  void on(CellWaits& event);
  void on(const CellPassedOver& event);
  void on(const CellRuns& event);
  void on(DevicesBound& event);
  void on(const CellEnded& event);
  void on(MoveFailed& event);
  void on(const TimePassed& event);
  void place_newcomers();
  void move_from_draining();
  void move_to_devices();
  /// The session's cell waits for no devices any more.
  void stop_waiting(const SessionId& session);
  /// The host for one more replica of the session, booked; nothing when no host can take it.
  std::optional<HostId> place_replica(const SessionId& session, const std::set<HostId>& avoid);
  /// What becomes of the cell; in the ledger at once.
  CellDecision::What decide(CellWaits& event);
  /// Enough of the devices that the session has reserved work, and a replica on their host is among those:
  /// its cell runs there, whoever waits.
  [[nodiscard]] std::optional<StartCell> start_on_reserved(const CellWaits& event,
                                                           const std::vector<EligibleReplica>& left) const;
  /// What its cell has is the session's own from now on, if it is one that reserves.
  void reserve_if_it_does(const SessionId& session, cluster::Binding binding);
  void ask_again(SessionId session);
  /// Those who may go before others, or on, for something has changed in what their cells have had.
  [[nodiscard]] std::set<std::string> changed_owners();
  [[nodiscard]] EligibleReplica choose(const cluster::Demand& demand,
                                       const std::vector<EligibleReplica>& replicas) const;

  std::uint64_t replicas_;
  bool elect_;
  std::uint64_t gpus_per_user_;
  Duration suspend_after_;
  cluster::Cluster cluster_;
  std::unique_ptr<const Placement> placement_;
  std::unique_ptr<const ExecutorChoice> executor_choice_;
  Newcomers newcomers_;
  CellRounds rounds_;
  GpuHours hours_;
  DeviceQueue device_queue_;
  DeviceMoves device_moves_;
  HoldTimes holds_;
  IdleSessions idle_;
  Drains drains_;
  Now now_;
  std::vector<Decision> decisions_;
};

}  // namespace banyan::schedule
