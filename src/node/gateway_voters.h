// What the replicas that count in a session can do now, and those that are wanted.
#pragma once

#include <cstddef>
#include <set>

#include "node/gateway_context.h"
#include "node/gateway_records.h"

namespace banyan::node {

/// The replicas that are counted in quorums, as far as is known of the session's log
/// (SessionRecord::committed), and those of them that have lost their data: they are counted until others
/// have taken their places.
class Voters {
 public:
  /// Both outlive this.
  Voters(const GatewayContext& gateway, const SessionRecord& record) : gateway_(gateway), record_(record) {}

  /// The host of the replica does not have its data any more. False when that was known before.
  bool lose(ReplicaId replica) { return lost_.insert(replica).second; }
  /// Others have taken the places of those that are no members any more.
  void on_settled();

  /// Its data is gone.
  [[nodiscard]] bool is_lost(ReplicaId replica) const { return lost_.contains(replica); }
  /// How many have lost their data, or were on a host that has been removed since, and are still counted.
  [[nodiscard]] std::size_t lost() const;
  /// Its host is up, and has its log.
  [[nodiscard]] bool can_run(ReplicaId replica, const HostId& host) const;
  /// How many of them are up and have their data.
  [[nodiscard]] std::size_t up() const;
  /// A majority of them is up.
  [[nodiscard]] bool can_serve() const;
  /// So many have lost their data that what is left can never agree again.
  [[nodiscard]] bool beyond_repair() const;

  // Of the replicas that are wanted.
  /// It has lost its data, or its host has been silent for long.
  [[nodiscard]] bool is_away(ReplicaId replica) const;
  /// Its host has said for a while that it cannot run the session's kernel.
  [[nodiscard]] bool is_unable(ReplicaId replica) const;
  /// A majority of them is not away. A change to them takes one: without it no leader begins it (Upkeep).
  [[nodiscard]] bool wanted_can_agree() const;

 private:
  const GatewayContext& gateway_;
  const SessionRecord& record_;
  std::set<ReplicaId> lost_;
};

}  // namespace banyan::node
