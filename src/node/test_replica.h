// The parts of one replica without what composes them, for tests of one part: the test says what the log of
// the session has come to, and sees what is proposed to it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/codec.h"
#include "base/overloaded.h"
#include "node/replica_chunks.h"
#include "node/replica_history.h"
#include "node/replica_view.h"

namespace banyan::node {

/// Replica 1 of a session with members on h1, h2 and h3, on h1. Its log takes every proposal; whether that
/// shows in the session the test decides.
class TestReplica : public ::testing::Test {
 protected:
  explicit TestReplica(session::Standbys standbys = session::Standbys::kHot, const Sizes& sizes = {})
      : host_({.id = {"h1"}, .timing = {}, .sizes = sizes}, kLife, 7) {
    advance(1h);
    const session::Members members{{kHere, {"h1"}}, {kOther, {"h2"}}, {kThird, {"h3"}}};
    core_.session.emplace(SessionId{"s"}, session::Spec{.kernel_name = "python3", .standbys = standbys},
                          members);
    core_.log.learn_hosts(members);
    core_.log.campaign();
    settle();
    proposed_.clear();
    done_.clear();
  }

  void advance(Duration time) {
    now_.mono += time;
    host_.set_now(now_);
  }
  /// What was begun comes to its end: writes land, proposals are committed, messages reach the gateway.
  void settle() {
    for (bool more = true; std::exchange(more, false);) {
      while (auto batch = core_.log.take()) {
        more = true;
        if (batch->install) core_.log.on_installed(batch->install->index);
        for (const raft::Entry& entry : batch->committed) {
          if (entry.type == raft::EntryType::kCommand)
            proposed_.push_back(*decode<session::Command>(entry.data.view()));
          core_.log.on_applied(entry);
        }
        reads_.insert(reads_.end(), batch->reads.begin(), batch->reads.end());
      }
      for (HostEffect& effect : host_.finish()) {
        if (const auto* const write = std::get_if<Persist>(&effect)) {
          more = true;
          for (const Durable& durable : host_.persisted(write->token).writes)
            core_.log.on_persisted(durable.token);
        } else if (auto* const frame = std::get_if<SendFrame>(&effect)) {
          more = true;
          deliver(*frame);
        } else {
          done_.push_back(std::move(effect));
        }
      }
    }
  }
  /// Of what was wanted done, said to the gateway or another host, or proposed since the last call: those of
  /// that type.
  template <class Effect>
  std::vector<Effect> done() {
    return take<Effect>(done_);
  }
  template <class Message>
  std::vector<Message> told(const HostId& to = kGateway) {
    return take<Message>(told_[to]);
  }
  template <class Command>
  std::vector<Command> proposed() {
    return take<Command>(proposed_);
  }

  // What the log says.
  void says(session::Command command) {
    for (const session::Event& event : core_.session->apply(std::move(command)))
      std::visit(Overloaded{
                     [&](const session::Started& e) {
                       if (!cells_.on_started(e)) return;
                       view_.sync();
                       cells_.go_on();
                     },
                     [&](const session::BidLost& e) { cells_.on_bid_lost(e); },
                     [&](const session::AllYielded& e) { cells_.on_all_yielded(e); },
                     [&](const session::CellEnded& e) {
                       if (cells_.on_ended(e)) view_.sync();
                       cells_.start_waiting();
                     },
                     [&](const session::LeadTaken& e) {
                       if (e.from == kHere) cells_.on_lead_gone();
                     },
                     [&](const session::Cleared&) { cells_.on_cleared(); },
                     [&](const session::ValuesMoved& e) { sync_.follow(e, *core_.session); },
                     [&](const session::Amended& e) { history_.on_amended(e); },
                     [](const auto&) {},
                 },
                 event);
  }
  void starts(const std::string& cell, ReplicaId executor = kHere, Incarnation life = kLife) {
    says(session::Propose{.execution = {cell},
                          .replica = executor,
                          .code = "code of " + cell,
                          .life = life,
                          .restarts = core_.session->last_clear()});
  }
  void ends(const std::string& cell, session::Delta delta = {}) {
    says(session::Commit{.execution = {cell},
                         .epoch = core_.session->epoch(),
                         .reply = R"({"status":"ok"})",
                         .outputs = {},
                         .delta = std::move(delta)});
  }
  /// The cell that was running is lost, and its executor has no lead any more.
  void taken_over() { says(session::TakeOver{core_.session->epoch(), "its host is gone"}); }
  /// A value in the log.
  static session::Delta value(const std::string& name) {
    session::Delta delta;
    delta.changed = {{.names = {name}, .blocks = {{digest_of(name), name.size(), Blob(name)}}, .parts = {1}}};
    return delta;
  }

  // What the gateway says.
  Execute order(const std::string& cell, ReplicaId lead = kHere) {
    return {.session = {"s"},
            .execution = {cell},
            .request = jupyter::make_message(jupyter::Channel::kShell, "execute_request", "{}",
                                             R"json({"code":"f()"})json", host_.author({"s"})),
            .lead = lead};
  }

  // What the worker does.
  /// There is one that serves requests.
  WorkerId ready() {
    if (!worker_.exists()) worker_.launch(true);
    view_.on_ready({.worker = *worker_.id(), .pid = 7});
    return *worker_.id();
  }
  jupyter::Message message(jupyter::Channel channel, const std::string& type, const std::string& parent,
                           const std::string& content = "{}") {
    return jupyter::make_message(channel, type,
                                 R"({"msg_id":")" + parent + R"(","msg_type":"execute_request"})", content,
                                 host_.author({"s"}));
  }
  void print(const std::string& cell, const std::string& text) {
    cells_.on_message({*worker_.id(), message(jupyter::Channel::kIopub, "stream", cell,
                                              R"({"name":"stdout","text":")" + text + R"("})")});
  }
  void report(const std::string& cell, session::Delta delta = {}) {
    cells_.on_report({.worker = *worker_.id(),
                      .execution = {cell},
                      .delta = std::move(delta),
                      .reply = WorkerReport::Reply{R"({"status":"ok"})", "{}"}});
  }
  void idle(const std::string& cell) {
    cells_.on_message(
        {*worker_.id(), message(jupyter::Channel::kIopub, "status", cell, R"({"execution_state":"idle"})")});
  }
  /// The worker runs the user code of the cell.
  void run(const std::string& cell) {
    cells_.execute(order(cell));
    starts(cell);
    cells_.forward();
    cells_.on_fenced({.worker = *worker_.id(), .execution = {cell}});
    ASSERT_TRUE(cells_.cell() != nullptr && cells_.cell()->is_going());
  }

  static constexpr ReplicaId kHere{1}, kOther{2}, kThird{3};
  static constexpr Incarnation kLife{1};

 private:
  static GroupLog log_of(HostContext& host) {
    return *GroupLog::open(host, {.session = {"s"},
                                  .replica = kHere,
                                  .spec = {.kernel_name = "python3"},
                                  .members = {{kHere, {"h1"}}},
                                  .origin = Origin::kFounding});
  }
  template <class One, class Any>
  std::vector<One> take(std::vector<Any>& all) {
    settle();
    std::vector<One> found;
    std::erase_if(all, [&](Any& each) {
      auto* const one = std::get_if<One>(&each);
      if (one != nullptr) found.push_back(std::move(*one));
      return one != nullptr;
    });
    return found;
  }
  void deliver(SendFrame& frame) {
    Link& link = links_.try_emplace(frame.to, Incarnation{99}, host_.timing(), host_.sizes()).first->second;
    for (PeerMessage& message : link.receive(std::get<LinkFrame>(std::move(frame.frame)), now_.mono).messages)
      told_[frame.to].push_back(std::move(message));
    while (auto answer = link.poll(now_.mono)) host_.link(frame.to).receive(*answer, now_.mono);
  }

  Now now_{};
  std::map<HostId, Link> links_;
  std::vector<HostEffect> done_;
  std::map<HostId, std::vector<PeerMessage>> told_;
  std::vector<session::Command> proposed_;

 protected:
  std::vector<raft::ReadState> reads_;  ///< that the log has answered
  HostContext host_;
  HostSpeeds speeds_{host_};
  HostChunks chunks_{host_, speeds_, false};
  ReplicaCore core_{.host = host_, .session_id = {"s"}, .id = kHere, .log = log_of(host_)};
  Lease lease_{host_};
  ChunkSync sync_{host_, chunks_, speeds_, {"s"}};
  PendingChunks pending_{host_, chunks_};
  BesideCells beside_{host_, {"s"}};
  HistoryQuestions questions_{host_, {"s"}};
  WorkerLife worker_{{core_, chunks_, speeds_, sync_, questions_}};
  ReplicaCells cells_{{core_, chunks_, sync_, pending_, lease_, worker_, beside_}};
  ReplicaView view_{{core_, sync_, worker_, cells_, beside_}};
  ReplicaChunks of_chunks_{{core_, chunks_, sync_, pending_, worker_, cells_, view_}};
  ReplicaHistory history_{{core_, chunks_, speeds_, sync_, pending_, worker_, cells_, view_, questions_}};
};

}  // namespace banyan::node
