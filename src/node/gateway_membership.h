// Which hosts hold a session: opening its replicas, replacing those that are gone, adding what is missing.
//
// Two sets: `members` is what the gateway wants, `committed` what the session's log is known to say. They
// differ only while a change is on its way; quorums are counted over `committed`. Changes are numbered: the
// log says which wish of the gateway it has fulfilled.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "core/schedule/events.h"
#include "node/gateway_context.h"
#include "node/gateway_records.h"
#include "node/gateway_voters.h"

namespace banyan::node {

/// What the rest of the session does at the moment, as far as it bears on who may leave.
struct SessionActivity {
  bool runs_cell = false;      ///< a cell is with the hosts
  bool executor_known = true;  ///< no cell runs, or it is known where
  std::optional<HostId>
      executor;  ///< of the cell that runs, else of the last one; needed where has_surplus()
  std::optional<HostId> moves_to;  ///< the session is being moved there
};

/// The membership of one session. It decides no place: it tells the scheduler what it wants (ReplicaWanted)
/// and carries out the answer when that is still safe. It never calls the session: hosts whose replicas start
/// no cell of the session any more come back as results, and whoever waits for one there asks elsewhere.
class Membership {
 public:
  /// Hosts whose replicas start no cell of the session any more.
  using Departed = std::set<HostId>;

  /// Both outlive this. The membership's part of `record` is changed here only.
  Membership(GatewayContext& gateway, SessionRecord& record);

  // What happens.
  /// The session's record exists: its replicas are opened.
  void on_founded() { open_replicas(std::nullopt); }
  /// The record that names the members of this wish is durable.
  void on_noted(std::uint64_t wish);
  /// Another life of the host has said what it holds.
  void on_new_life(const HostId& host);
  /// The host is about to be none of the platform's, and may come back without what it has.
  void on_removed(const HostId& host);
  /// A host reports a replica. Nothing when that is none of the session's members: then it is to leave, or is
  /// one that an earlier life of the gateway has asked for.
  [[nodiscard]] std::optional<Departed> on_report(const HostId& host, const ReplicaReport& report);
  /// Called often: asks again, gives up, replaces.
  [[nodiscard]] Departed watch(const SessionActivity& activity);
  /// The scheduler has found a host for the replica that was wanted.
  void on_place(const HostId& host, const SessionActivity& activity);
  /// It has found none.
  void on_no_host(const SessionActivity& activity);
  /// A replica more on that host. When it has what the others have, `leaves` leaves; 0: nobody does.
  void move_to(const HostId& host, ReplicaId leaves);
  /// The move to that host is given up: the replica that it has brought there leaves again.
  void move_back(const HostId& host);
  /// Tells the scheduler on which hosts it has replicas, which takes back what that has booked.
  void tell_holds();
  /// Every host that may have a replica of it.
  [[nodiscard]] std::set<HostId> holders() const;

  // What is known.
  /// The log says what is wanted.
  [[nodiscard]] bool settled() const { return record_.fulfilled == record_.wishes; }
  /// Settled, with all values everywhere and nobody to leave: a move may begin.
  [[nodiscard]] bool whole() const { return settled() && !wanting_ && !has_surplus() && filled_but({}); }
  /// It has more replicas than it is to have: one of them leaves soon.
  [[nodiscard]] bool has_surplus() const;
  /// The record names the wanted members.
  [[nodiscard]] bool noted() const { return noted_; }
  /// A replica that leaves has been there: it has to be closed before another one may come.
  [[nodiscard]] bool leaves(const HostId& host) const { return leaving_.contains(host); }
  /// What the replicas that count can do now.
  [[nodiscard]] const Voters& voters() const { return voters_; }
  /// Its members can be changed now.
  [[nodiscard]] bool may_change() const { return noted_ && voters_.can_serve(); }

 private:
  void open_replicas(std::optional<HostId> only);
  void send_members();
  void want_replica();
  void add_on(const HostId& host);
  void remove(ReplicaId replica);
  void drop(ReplicaId replica);
  void drop_gone(const SessionActivity& activity);
  void drop_surplus(const SessionActivity& activity);
  void withdraw(const std::string& why);
  void note();
  void store_noted();
  void take_stock(const HostId& host);
  void repair(const SessionActivity& activity);
  [[nodiscard]] Departed settle();
  [[nodiscard]] Departed settle_if_done();
  [[nodiscard]] bool may_grow() const;
  [[nodiscard]] bool filled_but(ReplicaId replica) const;
  [[nodiscard]] bool gone(ReplicaId replica, const SessionActivity& activity) const;
  [[nodiscard]] std::optional<ReplicaId> gone_member(const SessionActivity& activity) const;
  [[nodiscard]] std::optional<ReplicaId> gone_beside_joining(const SessionActivity& activity) const;
  void log(Log::Level level, const std::string& text) const;

  GatewayContext& gateway_;
  SessionRecord& record_;
  Voters voters_;
  bool noted_ = true;                   ///< the record names the wanted members
  bool wanting_ = false;                ///< the scheduler is about to answer
  std::optional<Time> sent_at_;         ///< the hosts were asked for the change
  std::optional<Time> agreed_since_;    ///< the log says what is wanted, but new replicas miss values
  std::optional<Time> unfilled_since_;  ///< somebody is gone, and the others have not all values
  std::set<HostId> leaving_;            ///< close their replica once the membership is committed
};

}  // namespace banyan::node
