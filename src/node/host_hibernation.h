// Hibernation: of a suspended session that nobody asks for, a host keeps in memory only the last report and
// the digests of its chunks. All else is on the disks of its hosts.
//
// Its leader says when (all members have all of it), and stops with its word; who is not at rest then does
// not follow, calls an election after a while, and wakes the others. To stop and to start again from the disk
// is what a crash and a recovery are to Raft, without the crash: nothing is lost, and nobody promised
// anything.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "node/host_chunks.h"

namespace banyan::node {

/// The sessions of this host that hibernate, those that come back, and what waits for them. Their replicas
/// are the owner's. Both that it refers to outlive it.
class Hibernation {
 public:
  /// A message for a session that hibernated.
  struct Waiting {
    HostId from;
    PeerMessage message;
  };
  /// A session that is to be a replica again.
  struct Woken {
    bool awaited = false;                                ///< somebody waits for its group
    std::vector<std::pair<HostId, raft::Message>> raft;  ///< what its members have said meanwhile
  };

  Hibernation(HostContext& host, HostChunks& chunks) : host_(host), chunks_(chunks) {}

  /// All that is left in memory of a replica that has stopped. Its chunks stay in use.
  void begin(const SessionId& session, ReplicaReport report, std::set<Digest> chunks);
  /// False when the message is not for a session that hibernates.
  bool takes(const SessionId& session, const HostId& from, const raft::Message& message);
  /// Whether the message waits for its session.
  bool takes(const HostId& from, PeerMessage& message);
  /// Wakes those that use the chunk, which is damaged here: somebody has to fetch it.
  void wake_users(const Digest& digest);
  /// The chunk, for a coming commit, is one that the session uses, if that hibernates; it wakes.
  void hold_chunk(const SessionId& session, const Digest& digest);
  /// The disk has the session, or not. Nothing when it does not come back now.
  std::optional<Woken> on_loaded(const ReplicaLoaded& event);
  /// What has waited for sessions that are back, or have no leader for so long that an error is the answer.
  /// `caught_up` says whether a session's group has a leader. Called often.
  std::vector<Waiting> end_waking(const std::function<bool(const SessionId&)>& caught_up);
  /// What an earlier life of the gateway wanted is void: the next one asks for what it wants.
  void on_gateway_restarted();
  /// The session leaves this host.
  void forget(const SessionId& session);

  [[nodiscard]] bool waking(const SessionId& session) const { return waking_.contains(session); }
  /// The report of the replica that hibernates; null when there is none.
  [[nodiscard]] const ReplicaReport* report_of(const SessionId& session) const;
  /// All of these reports, or those that this has not given yet.
  std::vector<ReplicaReport> reports(bool all);

 private:
  struct Asleep {
    Time since;
    ReplicaReport report;
    std::set<Digest> chunks;
    bool reported = false;
    bool loading = false;  ///< what came for it waits
    std::vector<std::pair<HostId, raft::Message>> raft;
    std::vector<Waiting> waiting;
  };
  /// It is back; until its group has a leader it can answer nothing, and uses what it used.
  struct Waking {
    Time since;
    std::set<Digest> chunks;
    std::vector<Waiting> waiting;
  };

  void wake(const SessionId& session);
  void release(const std::set<Digest>& chunks);

  HostContext& host_;
  HostChunks& chunks_;
  std::map<SessionId, Asleep> asleep_;
  std::map<SessionId, Waking> waking_;
};

}  // namespace banyan::node
