// Large values of a replica: which it needs, those that a coming commit counts on, and fetching what is not
// here.

#include <algorithm>
#include <utility>

#include "node/replica.h"

namespace banyan::node {

namespace {
constexpr Duration kAskFirst = 100ms;  // a chunk may be on its way already
constexpr Duration kAskAgain = 1s;     // one that a peer did not send is asked from the next one
constexpr Duration kGiveUp = 30s;      // one that no peer has sent: the cell runs without its variable
constexpr Duration kAskLate = 10s;     // and then it is still asked for
constexpr std::size_t kAtOnce = 4;     // chunks that are read or asked for at a time
}  // namespace

/// Keeps the host's use counts equal to what the namespace refers to.
void Replica::count_chunks() {
  std::map<Digest, std::uint64_t> now_used;
  const auto count = [&](const session::Chunk& chunk) {
    if (!chunk.bytes) ++now_used[chunk.digest];
  };
  for (const auto& [id, value] : session_->co_variables()) {
    count(value.pickle);
    for (const auto& buffer : value.buffers) count(buffer);
  }
  for (const auto& [digest, uses] : now_used) {
    if (!chunks_in_use_.contains(digest)) host_.use_chunk(digest);
  }
  for (const auto& [digest, uses] : chunks_in_use_) {
    if (!now_used.contains(digest)) host_.unuse_chunk(digest);
  }
  if (now_used == chunks_in_use_ && complete_) return;
  chunks_in_use_ = std::move(now_used);
  note_complete();
}

void Replica::note_complete() {
  std::erase_if(wanted_chunks_, [&](const auto& item) {
    return !chunks_in_use_.contains(item.first) || host_.chunk_durable(item.first);
  });
  complete_ =
      std::ranges::all_of(chunks_in_use_, [&](const auto& item) { return host_.chunk_durable(item.first); });
}

/// A copy that a commit counts on stays, also where an earlier commit that is applied meanwhile ends its use.
void Replica::hold_chunk(const ExecutionId& execution, const Digest& digest) {
  if (session_ && session_->find(execution) != nullptr) return;
  if (held_chunks_[execution].insert(digest).second) host_.use_chunk(digest);
}

void Replica::release_chunks() {
  for (auto it = held_chunks_.begin(); it != held_chunks_.end();) {
    const auto held = it++;
    if (session_->find(held->first) == nullptr) continue;
    for (const Digest& digest : held->second) host_.unuse_chunk(digest);
    held_chunks_.erase(held);
  }
}

/// Reads what an earlier life may have left here, and asks peers for the rest, a few at a time.
void Replica::fetch_chunks() {
  const Time now = host_.now().mono;
  const bool cut_off = raft_.leader() == raft::kNobody;  // others may have what nobody sends
  auto asked = static_cast<std::size_t>(std::ranges::count_if(
      wanted_chunks_, [&](const auto& item) { return item.second.asked && !given_up(item.first); }));
  for (const auto& [digest, uses] : chunks_in_use_) {
    if (host_.chunk_durable(digest)) continue;
    const auto found = wanted_chunks_.find(digest);
    if (found == wanted_chunks_.end()) {
      if (reading_chunks_.size() < kAtOnce && reading_chunks_.insert(digest).second) host_.read_chunk(digest);
      continue;
    }
    Wanted& wanted = found->second;
    const bool lost = given_up(digest);
    if (wanted.asked && !lost && cut_off) wanted.asked = now;
    const Time sent =
        wanted.asked ? std::max(answered_at_, pushed_at_) : pushed_at_;  // it may come behind those
    if (now < std::max(wanted.ask_at, sent + kAskAgain)) continue;
    if (!wanted.asked) {
      if (asked >= kAtOnce) continue;
      ++asked;
      wanted.asked = now;
    }
    wanted.ask_at = now + (lost ? kAskLate : kAskAgain);
    ask_for_chunk(digest);
  }
}

void Replica::ask_for_chunk(const Digest& digest) {
  std::vector<HostId> peers;  // also those that left: they are kept as long as they may have the only copy
  for (const auto& [id, host] : hosts_) {
    if (host != host_.id() && host_.reachable(host)) peers.push_back(host);
  }
  if (peers.empty()) return;
  host_.send(peers[asked_peers_++ % peers.size()], ChunkWanted{session_id_, digest});
}

bool Replica::given_up(const Digest& digest) const {
  const auto wanted = wanted_chunks_.find(digest);
  return wanted != wanted_chunks_.end() && wanted->second.asked && !host_.chunk_durable(digest) &&
         host_.now().mono - std::max({*wanted->second.asked, answered_at_, pushed_at_}) >= kGiveUp;
}

/// Fills in the bytes of chunks from the disk.
Replica::Gathered Replica::gather(const session::CoVariable& value, session::CoVariable& complete) {
  complete = value;
  Gathered all = Gathered::kWhole;
  const auto fill = [&](session::Chunk& chunk) {
    if (chunk.bytes) return;
    if (const auto loaded = loaded_chunks_.find(chunk.digest); loaded != loaded_chunks_.end()) {
      chunk.bytes = loaded->second;
    } else if (given_up(chunk.digest)) {
      all = Gathered::kLost;
    } else {
      if (all == Gathered::kWhole) all = Gathered::kNotYet;
      const bool may_be_here = host_.chunk_durable(chunk.digest) || !wanted_chunks_.contains(chunk.digest);
      if (may_be_here && reading_chunks_.insert(chunk.digest).second) host_.read_chunk(chunk.digest);
    }
  };
  fill(complete.pickle);
  for (auto& buffer : complete.buffers) fill(buffer);
  return all;
}

void Replica::chunk_arrives(const ChunkPart& part) {
  (part.execution.value.empty() ? answered_at_ : pushed_at_) = host_.now().mono;
}

void Replica::chunk_read(const Digest& digest, const std::optional<Blob>& bytes) {
  if (chunks_in_use_.contains(digest)) note_complete();
  if (reading_chunks_.erase(digest) == 0 || !session_) return;
  if (!bytes) {
    wanted_chunks_.try_emplace(digest, Wanted{.ask_at = host_.now().mono + kAskFirst, .asked = {}});
  } else if (worker_ && worker_->phase == WorkerPhase::kReady && !worker_at_head()) {
    loaded_chunks_[digest] = *bytes;
    sync_view();
  }
  pump();
}

void Replica::chunk_durable(const Digest& digest) {
  wanted_chunks_.erase(digest);
  if (chunks_in_use_.contains(digest)) note_complete();
  propose_commit_if_stored();
  if (session_ && !complete_) fetch_chunks();
  if (worker_ && session_) sync_view();
  pump();
}

}  // namespace banyan::node
