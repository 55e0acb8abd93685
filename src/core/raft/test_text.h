// For tests: what replicas say and do, as lines a person can read.
#pragma once

#include <sstream>
#include <string>

#include "base/codec.h"
#include "core/raft/raft.h"

namespace banyan::raft {

inline std::string text(Term term, Index index) {
  return std::to_string(term.value) + "/" + std::to_string(index.value);
}

inline std::string text(const Change& change) {
  if (change.steps.empty()) return "leave";
  std::string line;
  for (const ChangeStep& step : change.steps) {
    if (!line.empty()) line += ' ';
    line += step.kind == ChangeKind::kAddVoter ? '+' : step.kind == ChangeKind::kAddLearner ? '~' : '-';
    line += std::to_string(step.id.value);
  }
  if (change.transition == Transition::kJointImplicit) line += " implicit";
  if (change.transition == Transition::kJointExplicit) line += " explicit";
  return line;
}

inline std::string text(const Entry& entry) {
  const std::string place = text(entry.term, entry.index) + " ";
  if (entry.type == EntryType::kNoop) return place + "noop";
  if (entry.type == EntryType::kChange) return place + "change " + text(*decode<Change>(entry.data.view()));
  return place + std::string(entry.data.view());
}

inline std::string text(const std::vector<Entry>& entries) {
  std::string line;
  for (const Entry& entry : entries) line += (line.empty() ? "" : ", ") + text(entry);
  return line;
}

/// Renders the body of a message; one overload for each alternative.
struct BodyText {
  std::string operator()(const Append& m) const {
    return "append after " + text(m.prev_term, m.prev_index) + " [" + text(m.entries) + "] commit " +
           std::to_string(m.commit.value);
  }
  std::string operator()(const AppendAccepted& m) const {
    return "accepted " + std::to_string(m.match.value);
  }
  std::string operator()(const AppendRejected& m) const {
    return "rejected " + std::to_string(m.prev_index.value) + " hint " + text(m.hint_term, m.hint_index);
  }
  std::string operator()(const Heartbeat& m) const {
    return "heartbeat " + std::to_string(m.round) + " commit " + std::to_string(m.commit.value);
  }
  std::string operator()(const HeartbeatReply& m) const { return "alive " + std::to_string(m.round); }
  std::string operator()(const InstallSnapshot& m) const {
    return "snapshot " + text(m.snapshot.term, m.snapshot.index) + " of " + to_string(m.snapshot.membership);
  }
  std::string operator()(const VoteRequest& m) const {
    const std::string kind = m.ballot == Ballot::kPoll ? "poll" : m.transfer ? "vote for heir" : "vote";
    return kind + "? log " + text(m.last_term, m.last_index);
  }
  std::string operator()(const VoteReply& m) const {
    return std::string(m.ballot == Ballot::kPoll ? "poll" : "vote") + (m.granted ? " yes" : " no");
  }
  std::string operator()(const TermNotice&) const { return "newer term"; }
  std::string operator()(const Forward& m) const {
    return "forward " + text(Entry{{}, {}, m.type, m.data}).substr(4);
  }
  std::string operator()(const ReadRequest& m) const { return "read? " + std::to_string(m.context); }
  std::string operator()(const ReadReply& m) const {
    return "read " + std::to_string(m.context) + " at " + std::to_string(m.index.value);
  }
  std::string operator()(const TransferRequest& m) const {
    return "transfer to " + std::to_string(m.target.value);
  }
  std::string operator()(const TimeoutNow&) const { return "campaign now"; }
};

inline std::string text(const Message& m) {
  return std::to_string(m.from.value) + ">" + std::to_string(m.to.value) + " t" +
         std::to_string(m.term.value) + " " + std::visit(BodyText{}, m.body);
}

inline std::string text(const Persist& write) {
  std::string line = "writes term " + std::to_string(write.hard_state.term.value);
  if (write.hard_state.vote != kNobody) line += " vote " + std::to_string(write.hard_state.vote.value);
  line += " commit " + std::to_string(write.hard_state.commit.value);
  if (write.snapshot) line += " snapshot " + text(write.snapshot->term, write.snapshot->index);
  if (!write.entries.empty())
    line += " after " + std::to_string(write.truncate_after.value) + " [" + text(write.entries) + "]";
  return line + (write.sync == Sync::kLazy ? " lazily" : "");
}

inline std::string text(Role role) {
  switch (role) {
    case Role::kFollower:
      return "follower";
    case Role::kPreCandidate:
      return "pre-candidate";
    case Role::kCandidate:
      return "candidate";
    case Role::kLeader:
      return "leader";
  }
  return "?";
}

inline std::string text(const PeerStatus& peer) {
  std::ostringstream line;
  line << (peer.flow == Flow::kProbe       ? "probe"
           : peer.flow == Flow::kReplicate ? "replicate"
                                           : "snapshot")
       << " match " << peer.match.value << " next " << peer.next.value << (peer.paused ? " paused" : "")
       << (peer.recently_active ? "" : " inactive");
  return line.str();
}

}  // namespace banyan::raft
