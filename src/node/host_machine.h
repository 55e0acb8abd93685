// The host agent's state: its replicas and what they share.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node/host_context.h"
#include "node/host_node.h"
#include "node/host_peers.h"
#include "node/replica.h"

namespace banyan::node {

/// Dispatches events to replicas and peers; HostNode owns one.
class HostMachine {
 public:
  HostMachine(const HostConfig& config, Incarnation life, std::uint64_t seed);
  std::vector<HostEffect> step(const Now& now, HostEvent event);

 private:
  struct Stranger {
    Time since;
    std::vector<std::pair<HostId, raft::Message>> messages;  ///< and who sent them
  };

  void handle(Recovered& event);
  void handle(const Tick& event);
  void handle(FrameArrived& event);
  void handle(const PeerUp& event);
  void handle(const PeerDown& event);
  void handle(const Persisted& event);
  void handle(const ChunkRead& event);
  void handle(const ChunkFetched& event);
  void handle(const WorkerReady& event);
  void handle(FromWorker& event);
  void handle(const WorkerFenced& event);
  void handle(const WorkerAsks& event);
  void handle(WorkerReport& event);
  void handle(const WorkerApplied& event);
  void handle(const WorkerRepeated& event);
  void handle(const WorkerReads& event);
  void handle(const WorkerRemoves& event);
  void handle(const WorkerExited& event);
  void handle(const HostFigures& event);
  void handle(HostKernels& event);
  void handle(ReplicaLoaded& event);

  void raft_frame(const HostId& from, RaftFrame frame);
  void link_frame(const HostId& from, LinkFrame frame);
  void peer_message(const HostId& from, PeerMessage message);
  void deliver(const HostId& from, PeerMessage& message);
  // host_hibernation.cc: suspended sessions that are on the disk only
  void hibernate_tired();
  void hibernate(const SessionId& session);
  void take(const HostId& from, const Hibernate& said);
  bool wakes(const SessionId& session, const HostId& from, const raft::Message& message);
  bool wakes(const HostId& from, PeerMessage& message);
  void wake(const SessionId& session);
  void wake_users(const Digest& digest);
  void forget_waiting();
  void forget_hibernating(const SessionId& session);
  void end_waking();

  void open(const OpenReplica& request);
  void close(const CloseReplica& order);
  struct Sender {
    HostId host;
    SessionId session;
    std::uint64_t bytes = 0;
  };
  void chunk_part(const HostId& from, const ChunkPart& part);
  void chunk_at_hand(const Digest& digest, const Blob& bytes, Sender from);
  void lacks(const Digest& digest);
  void send_chunk(const HostId& to, const SessionId& session, const Digest& digest, const Blob& bytes);
  void report(bool whole);
  void send_reports();
  void add_to(HostReport& report, ReplicaReport one);
  Replica* replica(const SessionId& session);
  Replica* replica_of(WorkerId worker);

  HostContext context_;
  HostPeers peers_;
  std::map<SessionId, std::unique_ptr<Replica>> replicas_;
  struct Waiting {
    HostId from;
    PeerMessage message;
  };
  /// All that is left of a replica in memory. Its chunks stay in use.
  struct Hibernating {
    Time since;
    ReplicaReport report;
    std::set<Digest> chunks;
    bool reported = false;
    bool loading = false;  ///< what came for it waits
    std::vector<std::pair<HostId, raft::Message>> raft;
    std::vector<Waiting> waiting;
  };
  std::map<SessionId, Hibernating> hibernating_;
  /// It is back; until its group has a leader it can answer nothing, and uses what it used.
  struct Waking {
    Time since;
    std::set<Digest> chunks;
    std::vector<Waiting> waiting;
  };
  std::map<SessionId, Waking> waking_;
  std::map<SessionId, Stranger> strangers_;  ///< Raft traffic of groups that are not open yet
  std::optional<Time> next_raft_tick_;
  std::map<SessionId, std::string> reported_;  ///< what the gateway last heard, encoded
  std::vector<SessionId> closed_;
  HostReport figures_;
  std::string reported_figures_;
  std::map<std::pair<HostId, Digest>, std::string> arriving_;           ///< chunks, part by part
  std::map<Digest, std::set<std::pair<HostId, SessionId>>> asked_for_;  ///< peers that wait for a chunk
  std::map<Digest, std::vector<Sender>> to_confirm_;  ///< they want to know that it is stored
};

}  // namespace banyan::node
