// What the parts of a session at the gateway stand on, for tests of one part: three hosts that answer, and a
// session with a replica on each.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "node/gateway_context.h"
#include "node/gateway_last_execution.h"
#include "node/gateway_membership.h"
#include "node/gateway_reports.h"

namespace banyan::node {

/// Time passes by advance(). What the parts send, store and reply is collected by finish().
class TestGround {
 public:
  explicit TestGround(bool elect = false, const std::string& choice = "last_executor")
      : gateway(config(elect, choice), Incarnation{100}, 7) {
    gateway.set_now(now_);
    for (const HostId& host : {h1, h2, h3}) {
      add(host);
      const ReplicaId replica{record.next_replica++};
      record.members[replica] = {.host = host, .open = true};
      record.committed[replica] = host;
    }
    for (const auto& [replica, host] : record.committed) {
      ReplicaReport report{.session = record.id, .replica = replica};
      report.leader = report.executor = ReplicaId{1};
      report.worker = WorkerState::kReady;
      report.complete = true;
      gateway.hosts().at(host).replicas[record.id] = report;
    }
    members.tell_holds();
    finish();
  }

  ReplicaReport& report_of(const HostId& host) { return gateway.hosts().at(host).replicas.at(record.id); }
  /// A host that answers.
  void add(const HostId& host) {
    gateway.add_host(host);
    links_.emplace(host, Link{Incarnation{++lives_}, gateway.config().timing, gateway.config().sizes});
    find(host);
  }
  /// The host does not answer any more.
  void lose(const HostId& host) { gateway.tell(schedule::HostChanged{host, cluster::HostState::kSilent}); }
  void find(const HostId& host) {
    gateway.hosts().at(host).up = gateway.hosts().at(host).reported = true;
    gateway.tell(schedule::HostChanged{host, cluster::HostState::kUp});
  }
  void advance(Duration time) {
    now_.mono += time;
    gateway.set_now(now_);
  }

  /// Ends the step: messages reach the hosts, records the store.
  void finish() {
    for (bool more = true; std::exchange(more, false);) {
      for (GatewayEffect& effect : gateway.finish()) {
        if (auto* const frame = std::get_if<SendFrame>(&effect)) {
          more = true;
          deliver(*frame);
        } else if (auto* const write = std::get_if<Store>(&effect)) {
          writes.push_back(*write);
        } else if (auto* const reply = std::get_if<HttpReply>(&effect)) {
          replies.push_back(std::move(*reply));
        }
      }
    }
  }
  /// The messages of that type that the host has got since the last call, in order.
  template <class Message>
  std::vector<Message> take(const HostId& host) {
    finish();
    std::vector<Message> taken;
    for (const PeerMessage& message : std::exchange(got_[host], {}))
      if (const auto* const one = std::get_if<Message>(&message)) taken.push_back(*one);
    return taken;
  }

  const HostId h1{"h1"}, h2{"h2"}, h3{"h3"};
  GatewayContext gateway;
  SessionRecord record{.id = {"s"}, .spec = {.kernel_name = "python3"}};
  ReplicaReports reports{gateway, record};
  Membership members{gateway, record};
  LastExecution last{gateway, record, reports};
  std::vector<Store> writes;       ///< in order
  std::vector<HttpReply> replies;  ///< in order

 private:
  static GatewayConfig config(bool elect, const std::string& choice) {
    GatewayConfig config;
    config.elect = elect;
    config.executor_choice = choice;
    config.token = "secret";
    return config;
  }
  void deliver(SendFrame& frame) {
    Link& link = links_.at(frame.to);
    for (PeerMessage& message : link.receive(std::get<LinkFrame>(frame.frame), now_.mono).messages)
      got_[frame.to].push_back(std::move(message));
    while (auto answer = link.poll(now_.mono)) gateway.link(frame.to).receive(std::move(*answer), now_.mono);
  }

  Now now_{};
  std::uint64_t lives_ = 0;
  std::map<HostId, Link> links_;
  std::map<HostId, std::vector<PeerMessage>> got_;
};

}  // namespace banyan::node
