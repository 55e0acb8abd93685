#include "node/host_context.h"

#include <utility>

#include "base/codec.h"

namespace banyan::node {

namespace {
constexpr Duration kUnusedChunks = 60s;  // stay on the disk for so long
constexpr Duration kKeepSpeeds = 60s;
constexpr Duration kLazyWrites = 500ms;          // a commit index may wait so long for company
constexpr std::uint64_t kSampleBytes = 2 << 20;  // so much at once says how fast it is
constexpr Duration kStoreSilent = 10s;           // so long it is not asked then
constexpr Duration kFlowEnds = 2s;               // a chunk is asked for again before that
constexpr Duration kScrubEvery = 250ms;          // a chunk; they have 256 KiB or less, most of them
}  // namespace

HostContext::HostContext(const HostConfig& config, Incarnation life, std::uint64_t seed)
    : id_(config.id),
      life_(life),
      rng_(seed),
      timing_(config.timing),
      sizes_(config.sizes),
      has_store_(!config.store.empty()),
      plan_(config.plan),
      gpus_(config.gpus) {}

Link& HostContext::link(const HostId& peer) {
  return links_.try_emplace(peer, life_, timing_, sizes_).first->second;
}

bool HostContext::backlogged(const HostId& peer) const {
  const auto found = links_.find(peer);
  return found != links_.end() && found->second.backlog_bytes() >= sizes_.session_buffer;
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
    for (const Digest& digest : landed.chunks) {
      if (writing_chunks_.erase(digest) > 0) {
        durable_chunks_.insert(digest);
        all.chunks.push_back(digest);
      }
    }
    in_flight_.erase(in_flight_.begin());
  }
  return all;
}

void HostContext::recall_speeds(const std::string& record) {
  if (record.empty()) return;
  if (const auto known = decode<planner::SpeedsRecord>(record)) {
    speeds_.recall(*known);
  } else {
    log(Log::Level::kWarning, "what was known of this host's speeds cannot be read: they are learned anew");
  }
}

void HostContext::keep_speeds() {
  if (!keep_speeds_at_) keep_speeds_at_ = now_.mono + kKeepSpeeds;
  if (now_.mono < *keep_speeds_at_ || speeds_.samples() == speeds_kept_) return;
  keep_speeds_at_ = now_.mono + kKeepSpeeds;
  speeds_kept_ = speeds_.samples();
  write(PutSpeeds{encode(speeds_.record())});
}

void HostContext::chunks_found(const std::vector<Digest>& digests) {
  found_chunks_.insert(digests.begin(), digests.end());
}

void HostContext::uses_known() {
  for (const Digest& digest : std::exchange(found_chunks_, {})) unused_since_[digest] = now_.mono;
}

void HostContext::put_chunk(const Digest& digest, const Blob& bytes) {
  if (durable_chunks_.contains(digest) || !writing_chunks_.insert(digest).second) return;
  found_chunks_.erase(digest);
  if (!chunk_uses_.contains(digest)) unused_since_[digest] = now_.mono;
  landing_.chunks.push_back(digest);
  write(PutChunk{digest, bytes});
}

void HostContext::use_chunk(const Digest& digest) {
  ++chunk_uses_[digest];
  unused_since_.erase(digest);
  found_chunks_.erase(digest);
}

void HostContext::unuse_chunk(const Digest& digest) {
  const auto uses = chunk_uses_.find(digest);
  if (uses == chunk_uses_.end() || --uses->second > 0) return;
  chunk_uses_.erase(uses);
  unused_since_[digest] = now_.mono;
}

void HostContext::drop_unused_chunks() {
  for (auto it = unused_since_.begin(); it != unused_since_.end();) {
    const auto unused = it++;
    if (now_.mono - unused->second < kUnusedChunks) continue;
    durable_chunks_.erase(unused->first);
    writing_chunks_.erase(unused->first);
    write(DropChunk{unused->first});
    unused_since_.erase(unused);
  }
}

void HostContext::set_reachable(const HostId& peer, bool reachable) {
  if (reachable) {
    unreachable_.erase(peer);
  } else {
    unreachable_.insert(peer);
  }
}

void HostContext::read_chunk(const Digest& digest) {
  if (reading_chunks_.empty()) {
    reading_since_ = now_.mono;
    read_bytes_ = 0;
  }
  if (reading_chunks_.insert(digest).second) emit(ReadChunk{digest});
}

bool HostContext::chunk_read(const Digest& digest, std::optional<std::uint64_t> bytes) {
  reading_chunks_.erase(digest);
  read_bytes_ += bytes.value_or(0);
  if (read_bytes_ > 0 && (reading_chunks_.empty() || read_bytes_ >= kSampleBytes)) {
    speeds_.read(read_bytes_, microseconds(now_.mono - reading_since_));
    reading_since_ = now_.mono;
    read_bytes_ = 0;
  }
  if (writing_chunks_.contains(digest)) return true;
  if (bytes) {
    // Known from an earlier life, unless it has left the disk since it was asked for.
    const bool kept =
        chunk_uses_.contains(digest) || unused_since_.contains(digest) || found_chunks_.contains(digest);
    if (kept) durable_chunks_.insert(digest);
    return true;
  }
  return durable_chunks_.erase(digest) == 0;  // it is fetched again from a peer
}

void HostContext::fetch_chunk(const Digest& digest, const session::Elsewhere& there) {
  const auto sha256 = there.sha256.find(digest);
  if (!has_store_ || sha256 == there.sha256.end() || !fetching_chunks_.insert(digest).second) return;
  emit(FetchChunk{digest, there.key(digest), sha256->second});
}

void HostContext::chunk_fetched(const ChunkFetched& said) {
  fetching_chunks_.erase(said.digest);
  if (!said.bytes) flows_[kDataStore].asked.erase(said.digest);
  store_silent_at_ = said.bytes || said.denied ? std::nullopt : std::optional(now_.mono);
}

bool HostContext::store_answers() const {
  return has_store_ && (!store_silent_at_ || now_.mono - *store_silent_at_ >= kStoreSilent);
}

void HostContext::chunk_asked(const HostId& peer, const Digest& digest) {
  for (auto& [other, flow] : flows_) {  // it did not send it
    if (other != peer && !(other == kDataStore && fetching_chunks_.contains(digest)))
      flow.asked.erase(digest);
  }
  Flow& flow = flows_[peer];
  // What was not sent for so long is not counted as on its way.
  if (flow.asked.empty() || now_.mono - flow.last >= kFlowEnds)
    flow = {.since = now_.mono, .last = now_.mono};
  flow.last = now_.mono;
  flow.asked.insert(digest);
}

std::size_t HostContext::chunks_asked() const {
  std::size_t count = 0;
  for (const auto& [peer, flow] : flows_)
    if (peer != kDataStore && now_.mono - flow.last < kFlowEnds) count += flow.asked.size();
  return count;
}

void HostContext::chunk_came(const HostId& peer, const Digest& digest, std::uint64_t bytes) {
  const auto found = flows_.find(peer);
  if (found == flows_.end() || found->second.asked.erase(digest) == 0) return;
  Flow& flow = found->second;
  flow.bytes += bytes;
  flow.last = now_.mono;
  if (!flow.asked.empty() && (flow.bytes < kSampleBytes || now_.mono == flow.since)) return;
  speeds_.received(peer, flow.bytes, microseconds(now_.mono - flow.since));
  flow.since = now_.mono;
  flow.bytes = 0;
}

void HostContext::scrub() {
  if (durable_chunks_.empty() || !reading_chunks_.empty() || (scrub_at_ && now_.mono < *scrub_at_)) return;
  scrub_at_ = now_.mono + kScrubEvery;
  auto next = durable_chunks_.upper_bound(scrubbed_);
  if (next == durable_chunks_.end()) next = durable_chunks_.begin();
  scrubbed_ = *next;
  read_chunk(scrubbed_);
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
