// The host agent's state: its replicas and what they share.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/host_chunks.h"
#include "node/host_context.h"
#include "node/host_exchange.h"
#include "node/host_hibernation.h"
#include "node/host_node.h"
#include "node/host_peers.h"
#include "node/host_reports.h"
#include "node/host_speeds.h"
#include "node/replica.h"

namespace banyan::node {

/// Dispatches events to replicas and peers; HostNode owns one.
class HostMachine {
 public:
  HostMachine(const HostConfig& config, Incarnation life, std::uint64_t seed);
  std::vector<HostEffect> step(const Now& now, HostEvent event);
  [[nodiscard]] std::uint64_t captured_bytes() const { return chunks_.captured_bytes(); }

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
  void handle(const ChunkLanded& event);
  void handle(const ChunkRead& event);
  void handle(const ChunkFetched& event);
  void handle(HostFigures& event);
  void handle(HostKernels& event) { reports_.set_kernels(std::move(event.kernels)); }
  void handle(ReplicaLoaded& event);
  /// What the worker of some replica says.
  template <class Event>
    requires requires(const Event& event) { event.worker; }
  void handle(Event& event);

  void raft_frame(const HostId& from, RaftFrame frame);
  void link_frame(const HostId& from, LinkFrame frame);
  void peer_message(const HostId& from, PeerMessage message);
  void deliver(const HostId& from, PeerMessage& message);
  void hibernate_tired();
  void follow(const HostId& from, const Hibernate& said);
  void hibernate(const SessionId& session);
  void end_waking();
  void ask(const HostId& from, const AskSession& asked);
  void open(const OpenReplica& request);
  void close(const CloseReplica& order);
  void chunk_part(const HostId& from, const ChunkPart& part);
  void chunk_is_durable(const Digest& digest);
  void chunk_at_hand(const Digest& digest, const Blob& bytes);
  void report_all();
  void report_soon();
  /// Reports of these, as far as they have a replica that is born.
  [[nodiscard]] std::vector<ReplicaReport> reports_of(const std::set<SessionId>& sessions) const;
  /// The replica of the session, to which something is about to happen; nullptr where there is none.
  Replica* stirred(const SessionId& session);
  Replica* stirred_of(WorkerId worker);
  void make_way();

  HostContext context_;
  HostSpeeds speeds_;
  HostChunks chunks_;
  ChunkExchange exchange_;
  HostReports reports_;
  Hibernation hibernation_;
  HostPeers peers_;
  std::map<SessionId, std::unique_ptr<Replica>> replicas_;
  std::set<SessionId> in_the_way_;           ///< as of the last step
  std::map<SessionId, Stranger> strangers_;  ///< Raft traffic of groups that are not open yet
  std::optional<Time> next_raft_tick_;
  const bool whole_ticks_;
};

}  // namespace banyan::node
