// The members of one session, as the gateway wants them and as the log says they are, for tests.
#pragma once

#include <gtest/gtest.h>

#include <set>

#include "node/gateway_membership.h"
#include "node/test_parts.h"

namespace banyan::node {

inline const ReplicaId kOne{1}, kTwo{2}, kThree{3}, kFour{4};

/// Three members on h1, h2 and h3, all open; h4 is spare.
class MembersTest : public ::testing::Test, protected TestGround {
 protected:
  MembersTest() {
    add(h4);
    decide();
    finish();
    writes.clear();
  }

  /// Time passes, and all hosts but these are heard.
  void pass(Duration time, const std::set<HostId>& silent = {}) {
    advance(time);
    for (auto& [host, peer] : gateway.hosts())
      if (!silent.contains(host)) peer.heard_or_start = gateway.now().mono;
  }
  Membership::Departed watch() {
    Membership::Departed departed = members.watch(activity);
    decide();
    return departed;
  }
  /// What the scheduler decides is carried out.
  void decide() {
    while (const auto decision = gateway.take_decision()) {
      if (const auto* const place = std::get_if<schedule::PlaceReplica>(&*decision))
        members.on_place(place->host, activity);
      if (std::holds_alternative<schedule::NoHost>(*decision)) members.on_no_host(activity);
    }
  }
  /// The record that was written last is durable.
  void note() {
    finish();
    members.on_noted(record.wishes);
  }
  /// The host has opened what it was asked to.
  void open(const HostId& host, ReplicaId replica, bool complete = false) {
    gateway.hosts().at(host).replicas[record.id] = {
        .session = record.id, .replica = replica, .complete = complete};
    (void)members.on_report(host, report_of(host));
  }
  /// The log says that the members are what is wanted: the new members know it, and this host is the last one
  /// that reports it.
  std::optional<Membership::Departed> agree(const HostId& host) {
    for (const auto& [replica, member] : record.members) {
      auto& replicas = gateway.hosts().at(member.host).replicas;
      const auto report = replicas.find(record.id);
      if (report == replicas.end() || report->second.replica != replica) continue;
      report->second.members = record.wanted();
      report->second.members_wish = record.wishes;
    }
    return members.on_report(host, report_of(host));
  }
  std::set<HostId> wanted() {
    std::set<HostId> hosts;
    for (const auto& [replica, member] : record.members) hosts.insert(member.host);
    return hosts;
  }

  const HostId h4{"h4"};
  SessionActivity activity{.executor = h1};
};

}  // namespace banyan::node
