#include "node/chunk_sync.h"

#include <algorithm>
#include <utility>

namespace banyan::node {

namespace {
constexpr Duration kAskFirst = 100ms;    // a chunk may be on its way already
constexpr Duration kFetchAgain = 1s;     // one that a peer did not send is asked from the next one
constexpr Duration kGiveUp = 30s;        // one that no peer has sent: the cell runs without its variable
constexpr Duration kGiveUpStore = 3min;  // a data store may be away for a while
constexpr Duration kFormerMembers = 3s;  // these are waited for when all members lack it
constexpr Duration kAskLate = 10s;       // and then it is still asked for
constexpr std::size_t kAtOnce = 32;      // chunks that are read or asked for at a time
constexpr std::size_t kAtOnceMin = 2;
constexpr std::size_t kBesideBuild = 4;
constexpr Duration kBesideEvery = 100ms;   // about 10 MB/s
constexpr double kUsualChunk = 256 << 10;  // bytes
constexpr double kAhead_s = 0.1;

/// So many that a way is busy, and what is behind them (Raft's heartbeats) does not wait for long.
std::size_t asked_at_once(HostSpeeds& speeds, const ChunkSync::Standing& standing) {
  const double bytes = speeds.now().receive_rate(standing.peers) * kAhead_s;
  return std::clamp(static_cast<std::size_t>(bytes / kUsualChunk), kAtOnceMin, kAtOnce);
}

bool all_members_are_there(const HostContext& host, const ChunkSync::Standing& standing) {
  return std::ranges::all_of(standing.session.members(), [&](const auto& member) {
    return member.first == standing.self || host.reachable(member.second);
  });
}
}  // namespace

ChunkSync::ChunkSync(HostContext& host, HostChunks& chunks, HostSpeeds& speeds, SessionId session)
    : host_(host),
      chunks_(chunks),
      speeds_(speeds),
      session_id_(std::move(session)),
      held_(chunks),
      reading_(chunks) {}

void ChunkSync::use(const Digest& digest) {
  if (!in_use_.insert(digest).second) return;
  chunks_.use(digest);
  note_place(digest);
}

void ChunkSync::unuse(const Digest& digest) {
  if (in_use_.erase(digest) == 0) return;
  chunks_.unuse(digest);
  note_place(digest);
}

/// Whether the chunk is to be had from elsewhere.
void ChunkSync::note_place(const Digest& digest) {
  if (in_use_.contains(digest) && !chunks_.durable(digest)) {
    missing_.insert(digest);
  } else {
    missing_.erase(digest);
    lacked_.forget(digest);
    lost_.erase(digest);
    wanted_.erase(digest);
  }
}

void ChunkSync::follow(const session::ValuesMoved& event, const session::Session& session) {
  for (const Blob& bytes : event.spilled) {  // on the disk before the log entry that brought them goes
    const Digest digest = digest_of(bytes.view());
    if (!session.chunks().contains(digest)) continue;
    use(digest);
    chunks_.put(digest, bytes);
  }
  for (const Digest& digest : event.wanted) {
    if (session.chunks().contains(digest)) use(digest);
  }
  for (const Digest& digest : event.dropped) {
    if (!session.chunks().contains(digest)) unuse(digest);
  }
}

void ChunkSync::adopt(const session::Session& session) {
  for (const auto& [digest, uses] : session.chunks()) use(digest);
  const std::set<Digest> before = in_use_;
  for (const Digest& digest : before) {
    if (!session.chunks().contains(digest)) unuse(digest);
  }
}

void ChunkSync::close() {
  for (const Digest& digest : hand_over()) chunks_.unuse(digest);
  held_.release_all();
}

bool ChunkSync::lacks_few() const { return missing_.size() <= kAtOnce; }

void ChunkSync::fetch(const Standing& standing) {
  const Time now = host_.now().mono;
  // Others may have what nobody sends: the time without a leader is not counted.
  if (standing.leader == raft::kNobody)
    for (auto& [digest, wanted] : wanted_)
      if (wanted.asked && !given_up(digest, standing))
        wanted.asked = std::min(now, *wanted.asked + (now - looked_at_));
  looked_at_ = now;
  // One that nobody who can be asked has is not on its way.
  auto asked = static_cast<std::size_t>(std::ranges::count_if(wanted_, [&](const auto& item) {
    return item.second.asked && !lacked_.is_lacked_by_all(standing.peers, item.first) &&
           !given_up(item.first, standing);
  }));
  // What is not needed for the view must not slow down what is.
  const std::size_t at_once = asked_at_once(speeds_, standing);
  std::size_t beside = standing.builds ? std::min(kBesideBuild, at_once) : at_once;
  const bool stands_back = standing.view_is_awaited;
  if (stands_back && now < beside_at_) beside = 0;
  const auto fetch = [&](const Digest& digest) {
    if (chunks_.captured(digest) != nullptr || chunks_.is_being_written(digest)) return;  // it is here
    const auto found = wanted_.find(digest);
    if (found == wanted_.end()) {
      if (reading_.size() < kAtOnce) reading_.ask(digest, standing.runs_cells);
      return;
    }
    Wanted& wanted = found->second;
    const bool lost = given_up(digest, standing), first = !wanted.asked;
    // It may come behind those that come now.
    const bool was_lacked = lacked_.is_lacked(digest);
    const Time sent = was_lacked ? Time() : wanted.asked ? std::max(answered_at_, pushed_at_) : pushed_at_;
    if (now < std::max(wanted.ask_at, sent + kFetchAgain)) return;
    if (!wanted.asked) {
      const bool from_store = asks_store_first(digest, standing);  // not in front of heartbeats
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
    ask(digest, wanted, first, standing);
  };
  std::erase_if(wanted_first_, [this](const Digest& digest) { return !missing_.contains(digest); });
  std::ranges::for_each(wanted_first_, fetch);
  std::ranges::for_each(missing_, fetch);
  fetching_ = asked;
  if (!lacked_.empty()) note_lost(standing);
}

bool ChunkSync::has_room(const Standing& standing) const {
  const bool held_back = wanted_first_.empty() && host_.now().mono < beside_at_ && standing.view_is_awaited;
  return !held_back && fetching_ <= asked_at_once(speeds_, standing) / 2;
}

/// The members, which are all there, say that they lack it; or the data store has not what was there, and no
/// member has sent it.
void ChunkSync::note_lost(const Standing& standing) {
  if (!all_members_are_there(host_, standing)) return;
  for (const Digest& digest : lacked_.denied())
    if (missing_.contains(digest) && given_up(digest, standing)) lost_.insert(digest);
  for (const auto& [digest, peers] : lacked_.by_peers())
    if (all_lack(digest, standing)) lost_.insert(digest);
}

/// A host that was a member may have it, too, but one that does not answer may be gone for ever.
bool ChunkSync::all_lack(const Digest& digest, const Standing& standing) const {
  const auto wanted = wanted_.find(digest);
  if (!lacked_.is_lacked(digest) || wanted == wanted_.end() || in_store(digest, standing.session))
    return false;
  const bool had_time = wanted->second.asked && host_.now().mono - *wanted->second.asked >= kFormerMembers;
  return std::ranges::none_of(lacked_.may_have(digest, standing.peers), [&](const HostId& peer) {
    const auto is_here = [&](const auto& member) { return member.second == peer; };
    return !had_time || std::ranges::any_of(standing.session.members(), is_here);
  });
}

void ChunkSync::on_lacked(const HostId& peer, const Digest& digest, const Standing& standing) {
  const auto wanted = wanted_.find(digest);
  if (wanted == wanted_.end() || !missing_.contains(digest)) return;
  lacked_.add(peer, digest);
  chunks_.on_lacked(peer, digest);
  if (!lacked_.is_lacked_by_all(standing.peers, digest)) {
    wanted->second.ask_at = host_.now().mono;
    return;
  }
  if (fetching_ > 0) --fetching_;
  if (all_members_are_there(host_, standing) && all_lack(digest, standing)) lost_.insert(digest);
}

void ChunkSync::on_stored(const HostId& peer, const Digest& digest) {
  const auto wanted = wanted_.find(digest);
  if (wanted == wanted_.end() || !missing_.contains(digest)) return;
  lacked_.forget(peer, digest);
  lost_.erase(digest);
  wanted->second.ask_at = host_.now().mono;
  wanted->second.asked = host_.now().mono;
}

Duration ChunkSync::left_to_wait(const Digest& digest, const Standing& standing) const {
  const auto wanted = wanted_.find(digest);
  if (wanted == wanted_.end() || !wanted->second.asked || !all_lack(digest, standing)) return Duration();
  return std::max(Duration(), kGiveUp - (host_.now().mono - *wanted->second.asked));
}

bool ChunkSync::in_store(const Digest& digest, const session::Session& session) const {
  return session.elsewhere().sha256.contains(digest) && !lacked_.is_denied(digest);
}

bool ChunkSync::asks_store_first(const Digest& digest, const Standing& standing) const {
  return chunks_.store_answers() && in_store(digest, standing.session) &&
         (standing.leader == standing.self || standing.has_lead || standing.peers.empty());
}

void ChunkSync::want_first(const std::vector<session::Chunk>& blocks) {
  for (const session::Chunk& block : blocks)
    if (missing_.contains(block.digest)) wanted_first_.insert(block.digest);
}

std::uint64_t ChunkSync::Wanted::next_turn(std::uint64_t& turns) {
  turn = turn ? *turn + 1 : turns++;
  return *turn;
}

/// Each time another one of those that may have it.
void ChunkSync::ask(const Digest& digest, Wanted& wanted, bool first, const Standing& standing) {
  std::vector<HostId> places = standing.peers;
  const bool stored = in_store(digest, standing.session);
  if (!first && stored && chunks_.store_answers()) places.push_back(kDataStore);
  // The leader reads it from the data store for all; a large value is where its cell ran.
  const HostId& best = stored ? standing.leaders_host : standing.executors_host;
  if (first && asks_store_first(digest, standing)) {
    places = {kDataStore};
  } else if (first && std::ranges::find(places, best) != places.end()) {
    places = {best};
  } else if (lacked_.is_lacked(digest)) {
    places = lacked_.may_have(digest, places);
    if (places.empty()) places = standing.peers;  // one of them may have got it meanwhile
  }
  if (places.empty()) return;
  const HostId place = places[wanted.next_turn(turns_) % places.size()];
  if (place != kDataStore) return chunks_.ask(place, session_id_, digest);
  chunks_.on_asked(place, digest);
  chunks_.fetch(digest, standing.session.elsewhere());
}

/// While others come, this one may be behind them, unless all who can be asked have said that they lack it.
bool ChunkSync::given_up(const Digest& digest, const Standing& standing) const {
  if (lost_.contains(digest)) return true;
  const auto wanted = wanted_.find(digest);
  if (wanted == wanted_.end() || !wanted->second.asked || chunks_.durable(digest) ||
      chunks_.is_being_written(digest))
    return false;
  const Time asked = *wanted->second.asked;
  const bool may_come = !lacked_.is_lacked_by_all(standing.peers, digest);
  const Time since = may_come ? std::max({asked, answered_at_, pushed_at_}) : asked;
  const bool stored = chunks_.has_store() && in_store(digest, standing.session);
  return host_.now().mono - since >= (stored ? kGiveUpStore : kGiveUp);
}

ChunkSync::Gathered ChunkSync::gather(const session::CoVariable& value, const std::set<Digest>& has,
                                      const Standing& standing, session::CoVariable& complete) {
  complete = value;
  Gathered all = Gathered::kWhole;
  bool elsewhere = false;
  const auto fill = [&](session::Chunk& chunk) {
    if (chunk.bytes || has.contains(chunk.digest)) return;
    if (const auto loaded = loaded_.find(chunk.digest); loaded != loaded_.end()) {
      chunk.bytes = loaded->second;
    } else if (const Blob* const captured = chunks_.captured(chunk.digest)) {
      chunk.bytes = *captured;
    } else if (given_up(chunk.digest, standing)) {
      all = Gathered::kLost;
    } else {
      if (all == Gathered::kWhole) all = Gathered::kReading;
      const bool may_be_here = chunks_.durable(chunk.digest) || !wanted_.contains(chunk.digest);
      elsewhere |= !may_be_here;
      if (may_be_here) reading_.ask(chunk.digest, standing.runs_cells);
    }
  };
  std::ranges::for_each(complete.blocks, fill);
  return all == Gathered::kReading && elsewhere ? Gathered::kNotYet : all;
}

void ChunkSync::load_if_first(const Digest& digest, const Blob& bytes) {
  if (wanted_first_.contains(digest)) loaded_[digest] = bytes;
}

void ChunkSync::unload(const std::vector<session::Chunk>& blocks) {
  for (const session::Chunk& block : blocks) loaded_.erase(block.digest);
}

void ChunkSync::worker_is_gone() {
  reading_.clear();
  loaded_.clear();
}

void ChunkSync::on_part(const ChunkPart& part) {
  (part.execution.value.empty() ? answered_at_ : pushed_at_) = host_.now().mono;
}

void ChunkSync::on_fetched(const ChunkFetched& said, const Standing& standing) {
  const auto wanted = wanted_.find(said.digest);
  if (wanted == wanted_.end()) return;
  // Another session may have it under another key.
  if (said.denied && said.key == standing.session.elsewhere().key(said.digest))
    lacked_.add_denied(said.digest);
  if (said.bytes) {
    answered_at_ = host_.now().mono;
  } else if (!standing.peers.empty()) {
    wanted->second.ask_at = host_.now().mono + kFetchAgain;
    const HostId& peer = standing.peers[wanted->second.next_turn(turns_) % standing.peers.size()];
    chunks_.ask(peer, session_id_, said.digest);
  }
}

bool ChunkSync::on_durable(const Digest& digest) {
  const bool was_missing = missing_.contains(digest);
  note_place(digest);
  if (was_missing && fetching_ > 0) --fetching_;
  return was_missing;
}

bool ChunkSync::on_read(const Digest& digest) {
  note_place(digest);
  return reading_.on_answer(digest);
}

void ChunkSync::on_not_found(const Digest& digest, const Standing& standing) {
  if (!missing_.contains(digest)) return;  // nothing refers to it any more
  const Duration pause = asks_store_first(digest, standing) ? 0ms : kAskFirst;
  wanted_.try_emplace(digest, Wanted{.ask_at = host_.now().mono + pause, .asked = {}});
}

}  // namespace banyan::node
