// Large values of a replica: which it needs, those that a coming commit counts on, and fetching what is not
// here.

#include <algorithm>
#include <utility>

#include "node/replica.h"

namespace banyan::node {

namespace {
constexpr Duration kAskFirst = 100ms;    // a chunk may be on its way already
constexpr Duration kFetchAgain = 1s;     // one that a peer did not send is asked from the next one
constexpr Duration kGiveUp = 30s;        // one that no peer has sent: the cell runs without its variable
constexpr Duration kGiveUpStore = 3min;  // a data store may be away for a while
constexpr Duration kAskLate = 10s;       // and then it is still asked for
constexpr std::size_t kAtOnce = 32;      // chunks that are read or asked for at a time
constexpr std::size_t kAtOnceMin = 2;
constexpr std::size_t kBesideBuild = 4;
constexpr Duration kBesideEvery = 100ms;  // about 10 MB/s
constexpr Duration kBuildAlone = 5s;
constexpr double kUsualChunk = 256 << 10;  // bytes
constexpr double kAhead_s = 0.1;
}  // namespace

void Replica::use_chunk(const Digest& digest) {
  if (!chunks_in_use_.insert(digest).second) return;
  chunks_.use(digest);
  note_place(digest);
}

void Replica::unuse_chunk(const Digest& digest) {
  if (chunks_in_use_.erase(digest) == 0) return;
  chunks_.unuse(digest);
  note_place(digest);
}

/// Whether the chunk is to be had from elsewhere.
void Replica::note_place(const Digest& digest) {
  if (chunks_in_use_.contains(digest) && !chunks_.durable(digest)) {
    missing_chunks_.insert(digest);
  } else {
    missing_chunks_.erase(digest);
    denied_chunks_.erase(digest);
    lost_chunks_.erase(digest);
    wanted_chunks_.erase(digest);
  }
}

/// Keeps the host's use counts equal to what the session's commits refer to.
void Replica::happened(const session::ValuesMoved& event) {
  for (const Blob& bytes : event.spilled) {  // on the disk before the log entry that brought them goes
    const Digest digest = digest_of(bytes.view());
    if (!session_->chunks().contains(digest)) continue;
    use_chunk(digest);
    if (!chunks_.durable(digest)) chunks_.put(digest, bytes);
  }
  for (const Digest& digest : event.wanted) {
    if (session_->chunks().contains(digest)) use_chunk(digest);
  }
  for (const Digest& digest : event.dropped) {
    if (!session_->chunks().contains(digest)) unuse_chunk(digest);
  }
}

void Replica::adopt_chunks() {
  for (const auto& [digest, uses] : session_->chunks()) use_chunk(digest);
  const std::set<Digest> before = chunks_in_use_;
  for (const Digest& digest : before) {
    if (!session_->chunks().contains(digest)) unuse_chunk(digest);
  }
}

/// A copy that a commit counts on stays, also where an earlier commit that is applied meanwhile ends its use.
void Replica::hold_chunk(const ExecutionId& execution, const Digest& digest) {
  if (session_ && session_->find(execution) != nullptr) return;
  if (held_chunks_[execution].insert(digest).second) chunks_.use(digest);
}

void Replica::release_chunks() {
  for (auto it = held_chunks_.begin(); it != held_chunks_.end();) {
    const auto held = it++;
    if (session_->find(held->first) != nullptr) release_held(held->first);
  }
}

void Replica::release_held(const ExecutionId& execution) {
  const auto held = held_chunks_.find(execution);
  if (held == held_chunks_.end()) return;
  for (const Digest& digest : held->second) chunks_.unuse(digest);
  held_chunks_.erase(held);
}

/// Reads what an earlier life may have left here, and asks peers for the rest, a few at a time.
void Replica::fetch_chunks() {
  const Time now = host_.now().mono;
  const bool cut_off = raft_.leader() == raft::kNobody;  // others may have what nobody sends
  auto asked = static_cast<std::size_t>(std::ranges::count_if(
      wanted_chunks_, [&](const auto& item) { return item.second.asked && !given_up(item.first); }));
  // What is not needed for the view must not slow down what is.
  const std::size_t at_once = chunks_at_once();
  std::size_t beside = worker_ && worker_->build ? std::min(kBesideBuild, at_once) : at_once;
  const bool stands_back = view_is_awaited();
  if (stands_back && now < beside_at_) beside = 0;
  const auto fetch = [&](const Digest& digest) {
    const auto found = wanted_chunks_.find(digest);
    if (found == wanted_chunks_.end()) {
      if (reading_chunks_.size() < kAtOnce && reading_chunks_.insert(digest).second) chunks_.read(digest);
      return;
    }
    Wanted& wanted = found->second;
    const bool lost = given_up(digest), first = !wanted.asked;
    if (wanted.asked && !lost && cut_off) wanted.asked = now;
    const Time sent =
        wanted.asked ? std::max(answered_at_, pushed_at_) : pushed_at_;  // it may come behind those
    if (now < std::max(wanted.ask_at, sent + kFetchAgain)) return;
    if (!wanted.asked) {
      const bool from_store = asks_store_first(digest);  // not in front of heartbeats
      const bool needed = wanted_first_.contains(digest);
      const std::size_t most = from_store ? kAtOnce : at_once;
      const std::size_t limit = needed || (from_store && !stands_back) ? most : beside;
      // All sessions of the host share its ways.
      const bool busy = !from_store && asked >= kAtOnceMin && chunks_.on_their_way() >= limit;
      if (asked >= limit || busy) return;
      ++asked;
      wanted.asked = now;
      if (stands_back && !needed) beside_at_ = now + kBesideEvery;
    }
    wanted.ask_at = now + (lost ? kAskLate : kFetchAgain);
    ask_for_chunk(digest, first);
  };
  std::erase_if(wanted_first_, [this](const Digest& digest) { return !missing_chunks_.contains(digest); });
  std::ranges::for_each(wanted_first_, fetch);
  std::ranges::for_each(missing_chunks_, fetch);
  fetching_ = asked;
  if (!denied_chunks_.empty()) note_lost();
}

/// A view of the executor, or of who will be, is built, and has not been for long: a cell or a move may wait.
bool Replica::view_is_awaited() const {
  return worker_ && worker_->build && runs_cells() && host_.now().mono - worker_->build->since < kBuildAlone;
}

/// The store has not what was there, and none of the members, which were all there, has sent it.
void Replica::note_lost() {
  const auto there = [this](const auto& member) {
    return member.first == id_ || host_.reachable(member.second);
  };
  if (!std::ranges::all_of(session_->members(), there)) return;
  for (const Digest& digest : denied_chunks_)
    if (missing_chunks_.contains(digest) && given_up(digest)) lost_chunks_.insert(digest);
}

/// So many that a way is busy, and what is behind them (Raft's heartbeats) does not wait for long.
std::size_t Replica::chunks_at_once() const {
  const double bytes = speeds_.now().receive_rate(peers()) * kAhead_s;
  return std::clamp(static_cast<std::size_t>(bytes / kUsualChunk), kAtOnceMin, kAtOnce);
}

/// Also those that left: they are kept as long as they may have the only copy.
std::vector<HostId> Replica::peers() const {
  std::vector<HostId> peers;
  for (const auto& [id, host] : hosts_) {
    if (host != host_.id() && host_.reachable(host)) peers.push_back(host);
  }
  return peers;
}

bool Replica::in_store(const Digest& digest) const {
  return session_ && session_->elsewhere().sha256.contains(digest) && !denied_chunks_.contains(digest);
}

/// So that one replica brings what none has, and the others have it from there; and one whose cell waits.
bool Replica::asks_store_first(const Digest& digest) const {
  return chunks_.store_answers() && in_store(digest) &&
         (raft_.leader() == id_ || (cell_ && cell_->started) || peers().empty());
}

/// Each time another one of those that may have it.
void Replica::ask_for_chunk(const Digest& digest, bool first) {
  std::vector<HostId> places = peers();
  const bool from_store = first && asks_store_first(digest);
  if (!first && in_store(digest) && chunks_.store_answers()) places.push_back(kDataStore);
  const HostId leader = host_of(raft_.leader());
  const bool from_leader = first && in_store(digest) && std::ranges::find(places, leader) != places.end();
  if (from_store) {
    places = {kDataStore};
  } else if (from_leader) {
    places = {leader};
  }
  if (places.empty()) return;
  const HostId& place = places[asked_peers_++ % places.size()];
  if (place != kDataStore) return ask_peer(place, digest);
  chunks_.on_asked(place, digest);
  chunks_.fetch(digest, session_->elsewhere());
}

void Replica::ask_peer(const HostId& peer, const Digest& digest) {
  chunks_.on_asked(peer, digest);
  host_.send(peer, ChunkWanted{session_id_, digest});
}

bool Replica::given_up(const Digest& digest) const {
  const auto wanted = wanted_chunks_.find(digest);
  return wanted != wanted_chunks_.end() && wanted->second.asked && !chunks_.durable(digest) &&
         host_.now().mono - std::max({*wanted->second.asked, answered_at_, pushed_at_}) >=
             (chunks_.has_store() && in_store(digest) ? kGiveUpStore : kGiveUp);
}

/// Fills in the bytes of chunks from the disk, but for those in `has`.
Replica::Gathered Replica::gather(const session::CoVariable& value, const std::set<Digest>& has,
                                  session::CoVariable& complete) {
  complete = value;
  Gathered all = Gathered::kWhole;
  bool elsewhere = false;
  const auto fill = [&](session::Chunk& chunk) {
    if (chunk.bytes || has.contains(chunk.digest)) return;
    if (const auto loaded = loaded_chunks_.find(chunk.digest); loaded != loaded_chunks_.end()) {
      chunk.bytes = loaded->second;
    } else if (given_up(chunk.digest)) {
      all = Gathered::kLost;
    } else {
      if (all == Gathered::kWhole) all = Gathered::kReading;
      const bool may_be_here = chunks_.durable(chunk.digest) || !wanted_chunks_.contains(chunk.digest);
      elsewhere |= !may_be_here;
      if (may_be_here && reading_chunks_.insert(chunk.digest).second) chunks_.read(chunk.digest);
    }
  };
  std::ranges::for_each(complete.blocks, fill);
  return all == Gathered::kReading && elsewhere ? Gathered::kNotYet : all;
}

void Replica::chunk_arrives(const ChunkPart& part) {
  (part.execution.value.empty() ? answered_at_ : pushed_at_) = host_.now().mono;
}

void Replica::chunk_given() { gave_at_ = host_.now().mono; }

void Replica::chunk_fetched(const ChunkFetched& said) {
  const auto wanted = wanted_chunks_.find(said.digest);
  if (wanted == wanted_chunks_.end()) return;
  // Another session may have it under another key.
  if (said.denied && said.key == session_->elsewhere().key(said.digest)) denied_chunks_.insert(said.digest);
  if (said.bytes) {
    answered_at_ = host_.now().mono;
  } else if (const std::vector<HostId> peers = this->peers(); !peers.empty()) {
    wanted->second.ask_at = host_.now().mono + kFetchAgain;
    ask_peer(peers[asked_peers_++ % peers.size()], said.digest);
  }
}

/// One that the view waits for is not read back from the disk. While a cell runs again, which may take long,
/// the memory is the cell's.
void Replica::chunk_at_hand(const Digest& digest, const Blob& bytes) {
  if (worker_ && worker_->build && !worker_->repeating && runs_cells() && wanted_first_.contains(digest))
    loaded_chunks_[digest] = bytes;
}

void Replica::chunk_read(const Digest& digest, const std::optional<Blob>& bytes) {
  note_place(digest);
  if (reading_chunks_.erase(digest) == 0 || !session_) return;
  if (!bytes) {
    const Duration pause = asks_store_first(digest) ? 0ms : kAskFirst;
    wanted_chunks_.try_emplace(digest, Wanted{.ask_at = host_.now().mono + pause, .asked = {}});
  } else if (worker_ && worker_->phase == WorkerPhase::kReady && !worker_at_head()) {
    loaded_chunks_[digest] = *bytes;
    if (reading_chunks_.empty()) sync_view();
  }
  pump();
}

void Replica::chunk_durable(const Digest& digest) {
  const bool was_missing = missing_chunks_.contains(digest);
  note_place(digest);
  propose_commit_if_stored();
  // Of many chunks not each one is a reason to look at all that are missing: a tick will do.
  if (was_missing && fetching_ > 0) --fetching_;
  if (was_missing && has_all()) host_.report_soon(session_id_);
  const bool held_back = wanted_first_.empty() && host_.now().mono < beside_at_ && view_is_awaited();
  if (was_missing && session_ && !held_back && fetching_ <= chunks_at_once() / 2) fetch_chunks();
  if (worker_ && session_ && missing_chunks_.size() <= kAtOnce) sync_view();
  pump();
}

}  // namespace banyan::node
