// The members of one session's group, each on a host of its own, for tests of the parts that stand on the
// log.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/codec.h"
#include "node/group_log.h"
#include "node/upkeep.h"

namespace banyan::node {

/// Members 1, 2… of a session "s", on hosts h1, h2…; each applies what is committed to a session of its own.
class TestGroup {
 public:
  static constexpr Incarnation kLife{99};  ///< the one in which each member hears the others
  struct Member {
    Member(std::uint64_t number, const Sizes& sizes)
        : context({.id = {"h" + std::to_string(number)}, .timing = {}, .sizes = sizes}, Incarnation{number},
                  number) {}

    HostContext context;
    std::optional<GroupLog> log;
    std::optional<session::Session> session;
    std::unique_ptr<Upkeep> upkeep;
    std::map<HostId, Link> links;                     ///< the other ends, at whom it sends to
    std::map<HostId, std::vector<PeerMessage>> sent;  ///< beside the log's messages
  };

  explicit TestGroup(std::uint64_t size, session::Spec spec = {.kernel_name = "python3"},
                     const Sizes& sizes = {})
      : spec_(std::move(spec)), sizes_(sizes) {
    session::Members members;
    for (std::uint64_t n = 1; n <= size; ++n) members[ReplicaId{n}] = HostId{"h" + std::to_string(n)};
    for (const auto& [id, host] : members) add(id, members, Origin::kFounding);
    advance(1h);
    at(1).log->campaign();
    settle();
  }

  Member& at(std::uint64_t number) { return members_.at(ReplicaId{number}); }
  /// A member that joins, and knows nothing yet.
  void add(ReplicaId id, const session::Members& members, Origin origin) {
    Member& member = members_.try_emplace(id, id.value, sizes_).first->second;
    auto log = GroupLog::open(
        member.context,
        {.session = {"s"}, .replica = id, .spec = spec_, .members = members, .origin = origin});
    CHECK(log.has_value(), "the log of a new member opens");
    member.log.emplace(std::move(*log));
    member.upkeep = std::make_unique<Upkeep>(member.context, *member.log);
    for (auto& [other, its] : members_) {  // all hosts are connected
      if (other == id) continue;
      its.context.link(member.context.id());
      member.context.link(its.context.id());
    }
  }
  /// Its host is gone: it neither gets messages nor does anything.
  void lose(std::uint64_t number) { lost_.insert(ReplicaId{number}); }
  void find(std::uint64_t number) { lost_.erase(ReplicaId{number}); }
  /// What the others send it stays on the way.
  void hold(std::uint64_t number) { held_[ReplicaId{number}]; }
  /// And arrives.
  void release(std::uint64_t number) {
    const auto arrives = held_.extract(ReplicaId{number});
    for (const auto& [from, message] : arrives.mapped()) at(number).log->on_message(from, message);
    settle();
  }

  /// Everything that was begun comes to its end.
  void settle() {
    for (bool more = true; std::exchange(more, false);)
      for (auto& [id, member] : members_)
        if (!lost_.contains(id)) more |= step(id, member);
  }
  /// Time passes, a tick of 50 ms at a time, and each member does what is due.
  void advance(Duration time) {
    for (Duration passed{}; passed < time; passed += kTick) {
      now_.mono += time > 10s ? time : kTick;
      for (auto& [id, member] : members_) member.context.set_now(now_);
      if (time > 10s) return;
      for (auto& [id, member] : members_) {
        if (lost_.contains(id)) continue;
        member.log->on_ticks(1);
        if (member.session && tends) member.upkeep->tend(*member.session, here[id]);
      }
      settle();
    }
  }
  /// What the member has sent to a host, or to the gateway, since the last call.
  std::vector<PeerMessage> take_sent(std::uint64_t number, const HostId& to) {
    settle();
    return std::exchange(at(number).sent[to], {});
  }
  /// The member that leads; 0 when none does.
  std::uint64_t leader() {
    for (auto& [id, member] : members_)
      if (!lost_.contains(id) && member.log->leads()) return id.value;
    return 0;
  }
  /// The member runs a cell from now on.
  void begin_cell(std::uint64_t number, const std::string& cell, Incarnation life) {
    ASSERT_TRUE(at(number).log->propose(
        session::Propose{.execution = {cell}, .replica = ReplicaId{number}, .life = life}));
    settle();
  }
  /// And ends it.
  void end_cell(std::uint64_t number, const std::string& cell) {
    ASSERT_TRUE(
        at(number).log->propose(session::Commit{.execution = {cell}, .epoch = at(number).session->epoch()}));
    settle();
  }

  bool tends = true;                      ///< the members do what is due
  std::map<ReplicaId, ExecutionId> here;  ///< the cell that a host knows to run
  std::vector<session::Event> events;     ///< what member 1 has applied

 private:
  static constexpr Duration kTick = 50ms;
  const session::Spec spec_;
  const Sizes sizes_;

  bool step(ReplicaId id, Member& member) {
    bool more = false;
    while (auto batch = member.log->take()) {
      more = true;
      if (batch->install && !batch->install->data.empty()) {
        member.session = *session::Session::restore(batch->install->data);
        member.log->learn_hosts(member.session->members());
      }
      if (batch->install) member.log->on_installed(batch->install->index);
      for (const raft::Entry& entry : batch->committed) {
        apply(id, member, entry);
        member.log->on_applied(entry);
      }
      if (member.session) member.upkeep->on_batch(*member.session);
      member.log->send(std::move(batch->messages));
    }
    for (HostEffect& effect : member.context.finish()) {
      if (const auto* const write = std::get_if<Persist>(&effect)) {
        for (const Durable& durable : member.context.persisted(write->token).writes)
          member.log->on_persisted(durable.token);
        more = true;
      } else if (auto* const sent = std::get_if<SendFrame>(&effect)) {
        more = true;
        if (const auto* const frame = std::get_if<RaftFrame>(&sent->frame)) {
          deliver(member.context.id(), sent->to, *frame);
        } else {
          take(member, *sent);
        }
      }
    }
    return more;
  }
  void apply(ReplicaId id, Member& member, const raft::Entry& entry) {
    Blob command = entry.data;
    if (entry.type == raft::EntryType::kChange) command = decode<raft::Change>(entry.data.view())->context;
    if (command.empty()) return;
    std::vector<session::Event> happened;
    if (entry.type == raft::EntryType::kChange) {
      happened = member.session->apply(*decode<session::SetMembers>(command.view()));
      member.log->learn_hosts(member.session->members());
    } else {
      happened = member.session->apply(*decode<session::Command>(command.view()));
    }
    for (const session::Event& event : happened)
      if (std::holds_alternative<session::LeadTaken>(event)) member.upkeep->on_lead_taken();
    member.upkeep->look(*member.session);
    if (id == ReplicaId{1}) events.insert(events.end(), happened.begin(), happened.end());
  }
  void take(Member& member, SendFrame& sent) {
    if (std::ranges::any_of(lost_, [&](ReplicaId id) { return members_.at(id).context.id() == sent.to; }))
      return;
    Link& link = member.links.try_emplace(sent.to, kLife, member.context.timing(), member.context.sizes())
                     .first->second;
    for (PeerMessage& message : link.receive(std::get<LinkFrame>(sent.frame), now_.mono).messages)
      member.sent[sent.to].push_back(std::move(message));
    while (auto answer = link.poll(now_.mono)) member.context.link(sent.to).receive(*answer, now_.mono);
  }
  void deliver(const HostId& from, const HostId& to, const RaftFrame& frame) {
    for (auto& [id, member] : members_) {
      if (member.context.id() != to || lost_.contains(id)) continue;
      const auto held = held_.find(id);
      for (const RaftFrame::Item& item : frame.items) {
        if (held != held_.end())
          held->second.emplace_back(from, item.message);
        else
          member.log->on_message(from, item.message);
      }
    }
  }

  Now now_{};
  std::map<ReplicaId, Member> members_;
  std::set<ReplicaId> lost_;
  std::map<ReplicaId, std::vector<std::pair<HostId, raft::Message>>> held_;
};

}  // namespace banyan::node
