#include "node/host_context.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace banyan::node {

namespace {
constexpr Duration kLazyWrites = 500ms;  // a commit index may wait so long for company
}

HostContext::HostContext(const HostConfig& config, Incarnation life, std::uint64_t seed)
    : id_(config.id),
      life_(life),
      rng_(seed),
      timing_(config.timing),
      sizes_(config.sizes),
      plan_(config.plan) {
  devices_.set(config.devices);
}

Link& HostContext::link(const HostId& peer) {
  return links_.try_emplace(peer, life_, timing_, sizes_).first->second;
}

bool HostContext::backlogged(const HostId& peer) const {
  const auto found = links_.find(peer);
  return found != links_.end() && found->second.backlog_bytes() >= sizes_.session_buffer;
}

std::optional<Time> HostContext::heard_at(const HostId& peer, std::optional<Incarnation> life) const {
  const auto found = links_.find(peer);
  if (found == links_.end() || (life && found->second.peer_life() != life)) return std::nullopt;
  return found->second.last_heard();
}

void HostContext::send(const HostId& to, PeerMessage message) {
  if (to != id_ && to != kDataStore) link(to).send(std::move(message));
}

void HostContext::send_raft(const HostId& to, const SessionId& session, raft::Message message) {
  raft_out_[to].items.push_back({session, std::move(message)});
}

void HostContext::persist(const SessionId& session, raft::Persist write) {
  writes_.emplace_back(PutHardState{session, write.hard_state});
  if (write.snapshot) writes_.emplace_back(PutSnapshot{session, std::move(*write.snapshot)});
  if (write.snapshot || !write.entries.empty())
    writes_.emplace_back(PutEntries{session, std::move(write.entries), write.truncate_after});
  landing_.writes.push_back({session, write.token});
  if (write.sync == raft::Sync::kRequired) {
    sync_wanted_ = true;
  } else if (!lazy_since_) {
    lazy_since_ = now_.mono;
  }
}

void HostContext::write(DiskWrite write) {
  writes_.push_back(std::move(write));
  sync_wanted_ = true;
}

void HostContext::write_chunk(const Digest& digest, const Blob& bytes) {
  landing_.chunks.push_back(digest);
  write(PutChunk{digest, bytes});
}

void HostContext::drop_chunk(const Digest& digest) {
  landing_.dropped.push_back(digest);
  write(DropChunk{digest});
}

void HostContext::drop_replica(const SessionId& session) {
  const auto forget = [&](Landed& landed) {
    std::erase_if(landed.writes, [&](const Durable& one) { return one.session == session; });
    std::erase(landed.births, session);
  };
  forget(landing_);
  for (Batch& batch : in_flight_) forget(batch.landed);
  write(DropReplica{session});
}

HostContext::Landed HostContext::persisted(std::uint64_t token) {
  Landed all;
  while (!in_flight_.empty() && in_flight_.front().token <= token) {
    Landed& landed = in_flight_.front().landed;
    for (auto& write : landed.writes) all.writes.push_back(std::move(write));
    for (auto& session : landed.births) all.births.push_back(std::move(session));
    std::ranges::copy(landed.chunks, std::back_inserter(all.chunks));
    std::ranges::copy(landed.dropped, std::back_inserter(all.dropped));
    in_flight_.erase(in_flight_.begin());
  }
  return all;
}

void HostContext::set_reachable(const HostId& peer, bool reachable) {
  if (reachable) {
    unreachable_.erase(peer);
  } else {
    unreachable_.insert(peer);
  }
}

std::vector<HostEffect> HostContext::finish() {
  if (!writes_.empty() && (sync_wanted_ || (lazy_since_ && now_.mono - *lazy_since_ >= kLazyWrites))) {
    in_flight_.push_back({++last_token_, std::exchange(landing_, {})});
    emit(Persist{last_token_, std::exchange(writes_, {})});
    sync_wanted_ = false;
    lazy_since_.reset();
  }
  const auto send_link = [&](const HostId& peer) {
    while (auto frame = link(peer).poll(now_.mono)) emit(SendFrame{peer, std::move(*frame)});
  };
  send_link(kGateway);  // a client may wait for it
  for (auto& [peer, frame] : raft_out_) emit(SendFrame{peer, std::move(frame)});
  raft_out_.clear();
  for (const auto& [peer, link] : links_) {
    if (peer != kGateway) send_link(peer);
  }
  return std::exchange(effects_, {});
}

}  // namespace banyan::node
