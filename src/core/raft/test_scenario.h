// For tests: the commands of the scenario files in tests/raft/scenarios/.
//
// A line "> command" acts; the lines below it, up to a blank line, a comment or the next command, are what
// must come of it. Replicas, entries, messages and writes look as in test_text.h.
//   cluster V.. [learners L..] [option..]   first members, all from one birth; options see World::option()
//   join N.. [option..]                     replicas that know nothing
//   tick N [times] | campaign N | forget N | propose N word | read N context | transfer N to M
//   change N [+v|~l|-r].. [implicit|explicit|leave] | compact N to I [keep K]
//   take N        one batch of output; its messages travel, its writes and applications wait
//   write N [k]   the oldest k writes become durable (all without k)   apply N   the same for applications
//   deliver N.. | drop N..                  all messages that are on their way to N..
//   drop N>M [kind]                         those from N to M, of a kind ("append", "heartbeat", ..)
//   run [N..] [quietly]                     take, write, apply and deliver among N.. until nothing happens
//   hold disk N | hold apply N | release N  whether run may finish writes and applications of N
//   cut N M | heal                          messages between N and M are lost
//   crash N [k]                             restart; the oldest k outstanding writes survive
//   unreachable N M | snapshot N M ok|lost  the transport's reports
//   show roles | show log N | show peers N | show members | show commit
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/test_words.h"
#include "core/raft/test_invariants.h"
#include "core/raft/test_replica.h"
#include "core/raft/test_text.h"

namespace banyan::raft {

/// A group, its network, and the interpreter of commands.
class World {
 public:
  /// Runs one command and returns the lines that come of it.
  std::string run(const std::string& line) {
    lines_.clear();
    Words words(line);
    const std::string name = words.word();
    const auto command = commands().find(name);
    if (command == commands().end()) return "unknown command " + name + "\n";
    command->second(*this, words);
    if (words.more()) say("unknown word " + words.word());
    if (!invariants_.violation().empty()) say("VIOLATION " + invariants_.violation());
    return lines_;
  }

 private:
  struct Node {
    TestReplica replica;
    Membership shown;
    bool hold_disk = false;
    bool hold_apply = false;
  };
  using Command = std::function<void(World&, Words&)>;

  static const std::map<std::string, Command>& commands();
  void say(const std::string& line) { lines_ += line + "\n"; }
  void say(ReplicaId id, const std::string& line) { say(std::to_string(id.value) + " " + line); }
  Node& node(ReplicaId id) {
    const auto found = nodes_.find(id);
    CHECK(found != nodes_.end(), "a scenario names a replica that is not there");
    return found->second;
  }
  Raft& raft(Words& words) { return node(words.id()).replica.raft; }
  template <class T>
  void say_error(const Result<T>& result) {
    if (!result) say("refused: " + result.error().message);
  }
  void observe() {
    for (auto& [id, node] : nodes_) invariants_.observe(node.replica.raft);
  }

  bool option(Config& config, Words& words);
  void start(const std::set<ReplicaId>& ids, const Restored& restored, Words& words);
  bool take(ReplicaId id);
  void write_one(ReplicaId id);
  void apply_one(ReplicaId id);
  bool settle(ReplicaId id);
  bool deliver(const std::set<ReplicaId>& to);
  void run_until_quiet(const std::set<ReplicaId>& among);
  void drop(Words& words);
  void change(Words& words);
  void show(Words& words);

  std::map<ReplicaId, Node> nodes_;
  std::vector<Message> network_;
  std::set<std::pair<ReplicaId, ReplicaId>> cuts_;
  Invariants invariants_;
  std::string lines_;
};

inline bool World::option(Config& config, Words& words) {
  if (words.skip("plain")) {
    config.pre_vote = PreVote::kOff;
    config.check_quorum = CheckQuorum::kOff;
  } else if (words.skip("pre-vote")) {
    config.pre_vote = PreVote::kOn;
  } else if (words.skip("check-quorum")) {
    config.check_quorum = CheckQuorum::kOn;
  } else if (words.skip("lease")) {
    config.read_mode = ReadMode::kLease;
  } else if (words.skip("stay")) {
    config.on_removal = OnRemoval::kStay;
  } else if (words.skip("driver-checks")) {
    config.change_check = ChangeCheck::kByDriver;
  } else if (words.skip("quiet-commits")) {
    config.commit_notice = CommitNotice::kWithNext;
  } else if (words.skip("inflight")) {
    config.max_inflight_messages = static_cast<int>(words.number());
  } else if (words.skip("append-bytes")) {
    config.max_append_bytes = words.number();
  } else if (words.skip("apply-bytes")) {
    config.max_apply_bytes = words.number();
  } else if (words.skip("uncommitted-bytes")) {
    config.max_uncommitted_bytes = words.number();
  } else {
    return false;
  }
  return true;
}

inline void World::start(const std::set<ReplicaId>& ids, const Restored& restored, Words& words) {
  Config config;
  while (option(config, words)) continue;
  for (const ReplicaId id : ids) {
    config.id = id;
    nodes_.emplace(id, Node{TestReplica(config, restored), restored.snapshot.membership});
    // The birth is applied before anything happens, so that scenarios need not show it.
    TestReplica& replica = node(id).replica;
    (void)replica.take();
    while (!replica.tasks.empty()) (void)replica.finish_task();
  }
}

inline bool World::take(ReplicaId id) {
  Output out = node(id).replica.take();
  if (out.role) {
    const bool follows = out.role->role == Role::kFollower && out.role->leader != kNobody;
    say(id, text(out.role->role) + " of term " + std::to_string(out.role->term.value) +
                (follows ? ", led by " + std::to_string(out.role->leader.value) : ""));
  }
  for (const Message& m : out.messages) {
    const bool lost = cuts_.contains({m.from, m.to}) || !nodes_.contains(m.to);
    say(text(m) + (lost ? " (lost)" : ""));
    if (!lost) network_.push_back(m);
  }
  if (out.persist) say(id, text(*out.persist));
  for (const ReadState& read : out.reads)
    say(id, "may read " + std::to_string(read.context) + " at " + std::to_string(read.index.value));
  return !out.empty();
}

inline void World::write_one(ReplicaId id) {
  node(id).replica.finish_write();
  observe();
}

inline void World::apply_one(ReplicaId id) {
  Node& at = node(id);
  const ApplyTask task = at.replica.finish_task();
  if (task.install) say(id, "installs " + text(task.install->term, task.install->index));
  if (!task.entries.empty()) say(id, "applies " + text(task.entries));
  const Membership& now = at.replica.raft.membership();
  if (now != at.shown) say(id, "has members " + to_string(now));
  at.shown = now;
  observe();
}

inline bool World::settle(ReplicaId id) {
  Node& at = node(id);
  bool progress = false;
  for (bool again = true; again; progress |= again) {
    again = take(id);
    for (; !at.hold_disk && !at.replica.writes.empty(); again = true) write_one(id);
    for (; !at.hold_apply && !at.replica.tasks.empty(); again = true) apply_one(id);
  }
  return progress;
}

inline bool World::deliver(const std::set<ReplicaId>& to) {
  std::vector<Message> batch;
  std::erase_if(network_, [&](const Message& m) {
    if (to.contains(m.to)) batch.push_back(m);
    return to.contains(m.to);
  });
  for (const Message& m : batch) {
    node(m.to).replica.raft.step(m);
    observe();
  }
  return !batch.empty();
}

inline void World::run_until_quiet(const std::set<ReplicaId>& among) {
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    bool progress = false;
    for (const ReplicaId id : among) progress |= settle(id);
    progress |= deliver(among);
    if (!progress) return;
  }
  say("still busy");
}

inline void World::drop(Words& words) {
  const std::string first = words.word();
  const std::size_t arrow = first.find('>');
  std::set<ReplicaId> to;
  std::string kind;
  if (arrow == std::string::npos) {
    to = words.ids();
    to.insert({std::stoull(first)});
  } else {
    to.insert({std::stoull(first.substr(arrow + 1))});
    if (words.more()) kind = words.word();
  }
  std::erase_if(network_, [&](const Message& m) {
    if (!to.contains(m.to)) return false;
    if (arrow != std::string::npos && m.from.value != std::stoull(first)) return false;
    if (!kind.empty() && !std::visit(BodyText{}, m.body).starts_with(kind)) return false;
    say("lost " + text(m));
    return true;
  });
}

inline void World::change(Words& words) {
  Raft& at = raft(words);
  Change change;
  while (words.more()) {
    if (words.skip("leave")) continue;
    if (words.skip("implicit")) {
      change.transition = Transition::kJointImplicit;
    } else if (words.skip("explicit")) {
      change.transition = Transition::kJointExplicit;
    } else {
      const std::string step = words.word();
      const ChangeKind kind = step[0] == '+'   ? ChangeKind::kAddVoter
                              : step[0] == '~' ? ChangeKind::kAddLearner
                                               : ChangeKind::kRemove;
      change.steps.push_back({kind, {std::stoull(step.substr(1))}});
    }
  }
  say_error(at.propose_change(change));
}

inline void World::show(Words& words) {
  if (words.skip("log")) {
    const Raft& at = raft(words);
    for (Index i = at.log().first(); i <= at.log().last(); i = i + 1) say(text(at.log().at(i)));
    return;
  }
  if (words.skip("peers")) {
    for (const auto& [id, peer] : raft(words).status().peers) say(id, text(peer));
    return;
  }
  const std::string what = words.word();
  for (auto& [id, at] : nodes_) {
    const Status status = at.replica.raft.status();
    if (what == "roles") {
      const bool follows = status.role == Role::kFollower && status.leader != kNobody;
      say(id, text(status.role) + " of term " + std::to_string(status.term.value) +
                  (follows ? ", led by " + std::to_string(status.leader.value) : ""));
    } else if (what == "members") {
      say(id, to_string(status.membership));
    } else {
      say(id, "first " + std::to_string(status.first.value) + " applied " +
                  std::to_string(status.applied.value) + " commit " + std::to_string(status.commit.value) +
                  " durable " + std::to_string(status.durable.value) + " last " +
                  std::to_string(status.last.value));
    }
  }
}

inline const std::map<std::string, World::Command>& World::commands() {
  static const std::map<std::string, Command> kCommands{
      {"cluster",
       [](World& w, Words& words) {
         Restored birth = Restored::birth(words.ids());
         if (words.skip("learners")) birth.snapshot.membership.learners = words.ids();
         w.start(members(birth.snapshot.membership), birth, words);
       }},
      {"join",
       [](World& w, Words& words) {
         const auto ids = words.ids();
         w.start(ids, Restored{}, words);
       }},
      {"tick",
       [](World& w, Words& words) {
         Raft& at = w.raft(words);
         for (std::uint64_t left = words.number_or(1); left > 0; --left) at.tick();
       }},
      {"campaign", [](World& w, Words& words) { w.raft(words).campaign(); }},
      {"forget", [](World& w, Words& words) { w.raft(words).forget_leader(); }},
      {"propose",
       [](World& w, Words& words) {
         Raft& at = w.raft(words);
         w.say_error(at.propose(Blob(words.word())));
       }},
      {"read",
       [](World& w, Words& words) {
         Raft& at = w.raft(words);
         w.say_error(at.read_index(words.number()));
       }},
      {"transfer",
       [](World& w, Words& words) {
         Raft& at = w.raft(words);
         words.skip("to");
         w.say_error(at.transfer_leadership(words.id()));
       }},
      {"change", [](World& w, Words& words) { w.change(words); }},
      {"compact",
       [](World& w, Words& words) {
         Raft& at = w.raft(words);
         words.skip("to");
         const Index index{words.number()};
         w.say_error(at.compact(index, {}, words.skip("keep") ? words.number() : 0));
       }},
      {"take", [](World& w, Words& words) { w.take(words.id()); }},
      {"write",
       [](World& w, Words& words) {
         const ReplicaId id = words.id();
         for (auto left = words.number_or(w.node(id).replica.writes.size()); left > 0; --left)
           w.write_one(id);
       }},
      {"apply",
       [](World& w, Words& words) {
         const ReplicaId id = words.id();
         for (auto left = words.number_or(w.node(id).replica.tasks.size()); left > 0; --left) w.apply_one(id);
       }},
      {"deliver", [](World& w, Words& words) { w.deliver(words.ids()); }},
      {"drop", [](World& w, Words& words) { w.drop(words); }},
      {"run",
       [](World& w, Words& words) {
         std::set<ReplicaId> among = words.ids();
         if (among.empty())
           for (const auto& [id, node] : w.nodes_) among.insert(id);
         w.run_until_quiet(among);
         if (words.skip("quietly")) w.lines_.clear();
       }},
      {"hold",
       [](World& w, Words& words) {
         const bool disk = words.word() == "disk";
         Node& at = w.node(words.id());
         (disk ? at.hold_disk : at.hold_apply) = true;
       }},
      {"release",
       [](World& w, Words& words) {
         Node& at = w.node(words.id());
         at.hold_disk = at.hold_apply = false;
       }},
      {"cut",
       [](World& w, Words& words) {
         const ReplicaId a = words.id();
         const ReplicaId b = words.id();
         w.cuts_.insert({{a, b}, {b, a}});
       }},
      {"heal", [](World& w, Words&) { w.cuts_.clear(); }},
      {"crash",
       [](World& w, Words& words) {
         const ReplicaId id = words.id();
         w.node(id).replica.crash_and_restart(words.number_or(0));
         w.node(id).shown = w.node(id).replica.raft.membership();
         w.invariants_.restarted(id);
       }},
      {"unreachable",
       [](World& w, Words& words) {
         Raft& at = w.raft(words);
         at.report_unreachable(words.id());
       }},
      {"snapshot",
       [](World& w, Words& words) {
         Raft& at = w.raft(words);
         const ReplicaId to = words.id();
         at.report_snapshot(to, words.word() == "ok" ? Delivery::kOk : Delivery::kFailed);
       }},
      {"show", [](World& w, Words& words) { w.show(words); }},
  };
  return kCommands;
}

}  // namespace banyan::raft
