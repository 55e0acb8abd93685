// The log of one session on this host: its Raft group, where the members are, and how far the log is applied.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/raft/raft.h"
#include "core/session/session.h"
#include "node/host_context.h"

namespace banyan::node {

/// One replica's Raft group and all that belongs to it on a host. It writes to the disk and sends to the
/// other members through the context. Its replica reports what happens, takes batches of what is committed,
/// and says when these are applied.
class GroupLog {
 public:
  /// A new replica's, which writes itself to the disk. The context outlives this.
  static Result<GroupLog> open(HostContext& host, const OpenReplica& request);
  /// As the disk holds it. kCorrupt when that cannot have been written by a replica.
  static Result<GroupLog> recover(HostContext& host, StoredReplica stored);

  // What happens.
  void on_message(const HostId& from, const raft::Message& message);
  void on_persisted(raft::WriteToken token) { raft_.persisted(token); }
  void on_ticks(int count);
  /// The connection to a host is gone. True when it is the leader's: this replica will ask to be elected
  /// soon.
  [[nodiscard]] bool on_peer_down(const HostId& peer);

  // Batches.
  /// What is to be done next, but for its write, which is on its way to the disk; nothing when nothing is.
  std::optional<raft::Output> take();
  /// Sends the messages of a batch. Its entries are applied before that: a change of the membership may name
  /// the host that a message goes to.
  void send(std::vector<raft::Message> messages);
  void on_installed(raft::Index index);
  void on_applied(const raft::Entry& entry);
  /// So much has been applied that a snapshot of the session should take its place.
  [[nodiscard]] bool is_compaction_due() const;
  void compact(Blob snapshot);

  // Where the members are.
  /// These are members or will be. What was known of others stays: ids are never used again.
  void learn_hosts(const session::Members& members);
  /// Writes what is known of the members to the disk.
  void keep_hosts();
  /// An empty name for a member that is not known.
  [[nodiscard]] HostId host_of(ReplicaId id) const;
  /// The hosts that can be reached. Also of those that left: they may have the only copy of a chunk.
  [[nodiscard]] std::vector<HostId> peers() const;
  /// When the member was heard last; nothing before it was heard in this life. It may have said that long
  /// before: a host that was stopped for a while reads what others sent in the meantime.
  [[nodiscard]] std::optional<Time> heard_at(ReplicaId id) const;
  /// When the heartbeat of this leader was sent that the member has answered last: then or later it was
  /// there.
  [[nodiscard]] std::optional<Time> there_at(ReplicaId id) const;

  // Asking the group. False when nobody takes it: there is no leader.
  bool propose(const session::Command& command);
  /// Proposes to replace the members. False also while another such change is under way.
  bool propose_members(const session::SetMembers& wanted);
  /// Asks for a linearizable read; a batch has the answer, by the context.
  bool read(std::uint64_t context) { return raft_.read_index(context).has_value(); }
  /// Hands Raft's leadership to the member.
  bool hand_lead_to(ReplicaId member) { return raft_.transfer_leadership(member).has_value(); }
  /// Asks to be elected.
  void campaign() { raft_.campaign(); }
  /// Asks to be elected if it follows nobody.
  void campaign_if_lost();

  // What it is.
  [[nodiscard]] ReplicaId id() const { return id_; }
  [[nodiscard]] Founding founding() const { return founding_; }
  [[nodiscard]] raft::Index applied() const { return applied_; }
  [[nodiscard]] raft::Term term() const { return raft_.term(); }
  /// raft::kNobody when unknown.
  [[nodiscard]] ReplicaId leader() const { return raft_.leader(); }
  [[nodiscard]] bool leads() const { return raft_.role() == raft::Role::kLeader; }
  /// Since when; nothing unless it leads and has said so in a batch.
  [[nodiscard]] std::optional<Time> leading_since() const { return leading_since_; }
  /// No change of the members is under way: a majority of those that there are has the log.
  [[nodiscard]] bool are_members_settled() const { return !raft::is_joint(raft_.membership()); }
  /// A leader has said how the log goes on that the disk had, as of the last tick.
  [[nodiscard]] bool caught_up() const { return caught_up_; }
  [[nodiscard]] bool at_rest() const { return caught_up_ && raft_.at_rest(); }
  /// A leader at rest tells its followers by this that they may hibernate.
  [[nodiscard]] Hibernate rest() const { return {session_id_, raft_.term(), raft_.log().last()}; }
  /// Whether that came from the leader, and its log is as long as the one here.
  [[nodiscard]] bool agrees(const HostId& from, const Hibernate& said) const;

 private:
  GroupLog(HostContext& host, SessionId session, ReplicaId id, raft::Raft raft, session::Members hosts,
           Founding founding);
  void on_beat(const raft::Message& message);
  void on_beat_answered(const raft::Message& message);

  HostContext* host_;
  SessionId session_id_;
  ReplicaId id_;
  Founding founding_;
  raft::Raft raft_;
  session::Members hosts_;  ///< of every member there was
  raft::Index applied_;
  raft::Index compacted_;
  std::uint64_t bytes_since_compaction_ = 0;
  std::map<std::pair<raft::Term, std::uint64_t>, Time> beats_;  ///< when each round of heartbeats was sent
  std::map<ReplicaId, Time> there_;                             ///< there_at()
  std::map<ReplicaId, Time> heard_;                             ///< last message of each member
  std::optional<Time> campaign_at_;
  std::optional<Time> leading_since_;
  bool caught_up_ = true;
  raft::Index found_last_;  ///< the end of the log that the disk had at the start
};

}  // namespace banyan::node
