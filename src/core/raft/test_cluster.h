// For tests: a group under a seeded adversary that loses, repeats and reorders messages, cuts the network,
// crashes replicas in the middle of their writes, changes the membership and compacts logs.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/random.h"
#include "core/raft/test_invariants.h"
#include "core/raft/test_linearizability.h"
#include "core/raft/test_replica.h"

namespace banyan::raft {

/// A defect of the driver, planted to see that the checkers find it.
enum class Plant : std::uint8_t {
  kNone,
  kLyingDisk,         ///< reports a write as durable when it is only queued
  kForgetsVotes,      ///< loses the vote at a restart
  kLocalReads,        ///< serves reads from the applied state without asking the leader
  kUncheckedChanges,  ///< lets several changes of the membership overlap
  kSkewedClocks,      ///< serves lease reads although ticks differ in length
};

/// How one run goes. Everything else follows from the seed.
struct Scheme {
  std::uint64_t seed = 1;
  int steps = 4000;
  ReadMode read_mode = ReadMode::kQuorum;
  Plant plant = Plant::kNone;
};

/// A proposal, and what a snapshot holds: a register whose writes take effect once each.
struct WriteOp {
  std::uint64_t id = 0;
  std::uint64_t value = 0;
};
struct RegisterState {
  std::uint64_t value = 0;
  std::uint64_t chain = 0;  ///< depends on every command applied so far, in order
  std::set<std::uint64_t> seen;
};

/// The group and its adversary.
class Cluster {
 public:
  explicit Cluster(const Scheme& scheme) : scheme_(scheme), rng_(scheme.seed) {
    harshness_ = rng_.uniform();
    config_.election_ticks = 5;
    config_.snapshot_retry_ticks = 20;
    config_.read_mode = scheme.read_mode;
    config_.max_append_bytes = 40 + rng_.below(200);
    config_.max_inflight_messages = 1 + static_cast<int>(rng_.below(4));
    config_.max_apply_bytes = 40 + rng_.below(200);
    config_.pre_vote = rng_.chance(0.5) ? PreVote::kOn : PreVote::kOff;
    config_.on_removal = rng_.chance(0.5) ? OnRemoval::kStay : OnRemoval::kStepDown;
    const bool lease = scheme.read_mode == ReadMode::kLease;
    config_.check_quorum = lease || rng_.chance(0.5) ? CheckQuorum::kOn : CheckQuorum::kOff;
    if (scheme.plant == Plant::kUncheckedChanges) config_.change_check = ChangeCheck::kByDriver;
    std::set<ReplicaId> voters;
    for (; last_id_ < 3; voters.insert({last_id_})) ++last_id_;
    for (const ReplicaId id : voters) start(id, Restored::birth(voters, Blob(encode(RegisterState{}))));
  }

  /// Runs the whole scheme. Returns what was violated, nothing when all held.
  std::string run() {
    for (int step = 0; step < scheme_.steps && violation().empty(); ++step) {
      ++now_;
      act();
    }
    if (violation().empty()) recover();
    if (violation().empty() && !linearizable(history_))
      problem_ = "the history of the register is not linearizable";
    return violation();
  }
  [[nodiscard]] std::size_t operations() const { return history_.size(); }

 private:
  struct Node {
    TestReplica replica;
    RegisterState state;
    std::map<std::uint64_t, std::size_t> writes;         ///< own calls by op id, places in history_
    std::map<std::uint64_t, std::uint64_t> reads;        ///< own calls: context, when invoked
    std::vector<std::pair<Index, std::uint64_t>> ready;  ///< reads that wait for an index: its context
  };

  [[nodiscard]] const std::string& violation() const {
    return problem_.empty() ? invariants_.violation() : problem_;
  }
  void start(ReplicaId id, const Restored& from) {
    Config config = config_;
    config.id = id;
    config.seed = rng_.next();
    nodes_.emplace(id, Node{TestReplica(config, from), {}, {}, {}, {}});
  }
  Node& any() {
    return std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(rng_.below(nodes_.size())))->second;
  }
  static ReplicaId id_of(const Node& node) { return node.replica.config.id; }

  void act();
  void touched(Node& node, double take_chance = 0.8);
  void take(Node& node);
  void deliver_one();
  void finish_write(Node& node);
  void finish_task(Node& node);
  void tick();
  void call(Node& node);
  void serve_reads(Node& node);
  void crash(Node& node);
  void cut_or_heal();
  void change(Node& node);
  void disturb(Node& node);
  void recover();
  [[nodiscard]] bool recovered();

  Scheme scheme_;
  Rng rng_;
  double harshness_ = 0;  ///< scales the rate of all faults; runs differ in it, so that some get far
  Config config_;
  std::uint64_t last_id_ = 0;
  std::uint64_t last_op_ = 0;
  std::uint64_t now_ = 0;
  std::map<ReplicaId, Node> nodes_;
  std::vector<Message> network_;
  std::set<ReplicaId> isolated_;
  std::vector<RegisterOp> history_;
  std::map<Index, std::uint64_t> chains_;
  Invariants invariants_;
  std::string problem_;
};

inline void Cluster::act() {
  if (rng_.chance(0.05 * harshness_)) {
    Node& node = any();
    switch (rng_.below(5)) {
      case 0:
        return crash(node);
      case 1:
        return cut_or_heal();
      case 2:
        return change(node);
      default:
        return disturb(node);
    }
  }
  const std::uint64_t roll = rng_.below(100);
  if (roll < 50) return deliver_one();
  if (roll < 60) return tick();
  Node& node = any();
  if (roll < 68) return take(node);
  if (roll < 82) return finish_write(node);
  if (roll < 94) return finish_task(node);
  call(node);
}

inline void Cluster::touched(Node& node, double take_chance) {
  invariants_.observe(node.replica.raft);
  if (rng_.chance(take_chance)) take(node);
}

inline void Cluster::take(Node& node) {
  Output out = node.replica.take();
  for (Message& m : out.messages) network_.push_back(std::move(m));
  for (const ReadState& read : out.reads) node.ready.emplace_back(read.index, read.context);
  if (scheme_.plant == Plant::kLyingDisk && out.persist) node.replica.raft.persisted(out.persist->token);
  serve_reads(node);
}

inline void Cluster::deliver_one() {
  if (network_.empty()) return;
  const auto at = network_.begin() + static_cast<std::ptrdiff_t>(rng_.below(network_.size()));
  const Message m = *at;
  if (!rng_.chance(0.1 * harshness_)) {  // a message that stays is delivered a second time
    *at = network_.back();
    network_.pop_back();
  }
  const auto to = nodes_.find(m.to);
  const bool cut = isolated_.contains(m.from) != isolated_.contains(m.to);
  if (to == nodes_.end() || cut || rng_.chance(0.1 * harshness_)) {
    const auto from = nodes_.find(m.from);
    if (from == nodes_.end() || rng_.chance(0.5)) return;
    from->second.replica.raft.report_unreachable(m.to);
    from->second.replica.raft.report_snapshot(m.to, rng_.chance(0.9) ? Delivery::kFailed : Delivery::kOk);
    return;
  }
  to->second.replica.raft.step(m);
  touched(to->second);
}

inline void Cluster::finish_write(Node& node) {
  if (node.replica.writes.empty()) return;
  node.replica.finish_write();
  touched(node);
}

inline void Cluster::finish_task(Node& node) {
  if (node.replica.tasks.empty()) return;
  const ApplyTask task = node.replica.finish_task();
  if (task.install) node.state = *decode<RegisterState>(task.install->data.view());
  for (const Entry& entry : task.entries) {
    if (entry.type == EntryType::kCommand) {
      const auto op = *decode<WriteOp>(entry.data.view());
      node.state.chain = node.state.chain * 31 + op.id;
      if (node.state.seen.insert(op.id).second) node.state.value = op.value;
      const auto mine = node.writes.find(op.id);
      if (mine != node.writes.end()) {
        history_[mine->second].returned = now_;
        node.writes.erase(mine);
      }
    }
    const auto [chain, fresh] = chains_.try_emplace(entry.index, node.state.chain);
    if (chain->second != node.state.chain) problem_ = "replicas applied different commands";
  }
  serve_reads(node);
  if (rng_.chance(0.05))
    (void)node.replica.raft.compact(task.last(), Blob(encode(node.state)), rng_.below(6)).has_value();
  touched(node);
}

inline void Cluster::tick() {
  // Leases rely on ticks of equal length everywhere.
  if (scheme_.read_mode == ReadMode::kLease && scheme_.plant != Plant::kSkewedClocks) {
    if (!rng_.chance(0.3)) return;
    for (auto& [id, node] : nodes_) node.replica.raft.tick();
    for (auto& [id, node] : nodes_) touched(node);
    return;
  }
  Node& node = any();
  // One clock runs slow: its replica believes in its lease for longer than the others keep it.
  const bool slow = scheme_.plant == Plant::kSkewedClocks && id_of(node) == ReplicaId{1};
  if (slow && rng_.chance(0.9)) return;
  node.replica.raft.tick();
  touched(node);
}

inline void Cluster::call(Node& node) {
  constexpr std::size_t kHistoryMax = 150;
  if (history_.size() >= kHistoryMax) return;
  const std::uint64_t id = ++last_op_;
  if (rng_.chance(0.5)) {
    if (!node.replica.raft.propose(Blob(encode(WriteOp{id, id})))) return;
    node.writes[id] = history_.size();
    history_.push_back({RegisterOp::Kind::kWrite, id, now_, RegisterOp::kNever});
  } else if (scheme_.plant == Plant::kLocalReads) {
    history_.push_back({RegisterOp::Kind::kRead, node.state.value, now_, now_});
  } else if (node.replica.raft.read_index(id)) {
    node.reads[id] = now_;
  }
  touched(node);
}

inline void Cluster::serve_reads(Node& node) {
  std::erase_if(node.ready, [&](const auto& read) {
    if (node.replica.raft.status().applied < read.first) return false;
    const auto call = node.reads.find(read.second);
    if (call == node.reads.end()) return true;
    history_.push_back({RegisterOp::Kind::kRead, node.state.value, call->second, now_});
    node.reads.erase(call);
    return true;
  });
}

inline void Cluster::crash(Node& node) {
  const ReplicaId id = id_of(node);
  if (scheme_.plant == Plant::kForgetsVotes) node.replica.disk.hard_state.vote = kNobody;
  node.replica.crash_and_restart(rng_.below(node.replica.writes.size() + 1));
  node.state = {};
  node.writes.clear();
  node.reads.clear();
  node.ready.clear();
  invariants_.restarted(id);
  touched(node);
}

inline void Cluster::cut_or_heal() {
  if (!isolated_.empty() && rng_.chance(0.5)) return isolated_.clear();
  for (auto& [id, node] : nodes_)
    if (rng_.chance(0.4)) isolated_.insert(id);
}

inline void Cluster::change(Node& node) {
  constexpr std::uint64_t kIdsMax = 7;
  Change change;
  const std::uint64_t kind = rng_.below(5);
  change.transition = kind == 0   ? Transition::kJointExplicit
                      : kind == 1 ? Transition::kJointImplicit
                                  : Transition::kAuto;
  const std::set<ReplicaId> present = members(node.replica.raft.membership());
  for (std::uint64_t steps = rng_.below(3); steps > 0 && !present.empty(); --steps) {
    const ReplicaId old =
        *std::next(present.begin(), static_cast<std::ptrdiff_t>(rng_.below(present.size())));
    if (rng_.chance(0.4) && last_id_ < kIdsMax) {
      change.steps.push_back(
          {rng_.chance(0.7) ? ChangeKind::kAddVoter : ChangeKind::kAddLearner, {++last_id_}});
      start({last_id_}, Restored{});
    } else if (rng_.chance(0.5)) {
      change.steps.push_back({ChangeKind::kAddVoter, old});
    } else if (present.size() > 2) {
      change.steps.push_back({ChangeKind::kRemove, old});
    }
  }
  (void)node.replica.raft.propose_change(change).has_value();
  touched(node);
}

inline void Cluster::disturb(Node& node) {
  switch (rng_.below(4)) {
    case 0:
      node.replica.raft.campaign();
      break;
    case 1:
      node.replica.raft.forget_leader();
      break;
    default:
      (void)node.replica.raft.transfer_leadership({1 + rng_.below(last_id_)}).has_value();
      break;
  }
  touched(node);
}

/// Without faults the group must get going again: a leader, and every member as far as it.
inline void Cluster::recover() {
  constexpr int kTicks = 400;
  isolated_.clear();
  for (int tick = 0; tick < kTicks && violation().empty(); ++tick) {
    ++now_;
    for (auto& [id, node] : nodes_) {
      Raft& raft = node.replica.raft;
      raft.tick();
      // Under OnRemoval::kStay it is the driver who ends the lead of a removed replica.
      const auto& voters = raft.membership().voters;
      if (raft.role() == Role::kLeader && !voters.contains(id))
        (void)raft.transfer_leadership(*voters.begin()).has_value();
    }
    for (bool busy = true; busy && violation().empty();) {
      busy = !network_.empty();
      for (const Message& m : std::exchange(network_, {}))
        if (nodes_.contains(m.to)) nodes_.at(m.to).replica.raft.step(m);
      for (auto& [id, node] : nodes_) {
        touched(node, 1.0);
        while (!node.replica.writes.empty()) finish_write(node);
        while (!node.replica.tasks.empty()) finish_task(node);
        busy = busy || !node.replica.writes.empty() || !node.replica.tasks.empty();
      }
    }
    if (recovered()) return;
  }
  if (!violation().empty()) return;
  problem_ = "the group did not recover without faults";
  for (const auto& [id, node] : nodes_) {
    const Status s = node.replica.raft.status();
    problem_ += "\n  " + std::to_string(id.value) + (s.role == Role::kLeader ? " leads" : "") + " term " +
                std::to_string(s.term.value) + " applied " + std::to_string(s.applied.value) + " commit " +
                std::to_string(s.commit.value) + " last " + std::to_string(s.last.value) + " members " +
                to_string(s.membership);
  }
}

inline bool Cluster::recovered() {
  for (auto& [id, node] : nodes_) {
    Raft& leader = node.replica.raft;
    if (leader.role() != Role::kLeader || !leader.membership().voters.contains(id)) continue;
    const Index end = leader.log().last();
    const auto same = [&](ReplicaId member) {
      return nodes_.at(member).replica.raft.status().applied == end;
    };
    if (leader.log().last_term() == leader.term() && std::ranges::all_of(members(leader.membership()), same))
      return true;
  }
  return false;
}

}  // namespace banyan::raft
