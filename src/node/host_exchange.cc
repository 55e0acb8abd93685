#include "node/host_exchange.h"

#include <algorithm>

namespace banyan::node {

std::optional<Blob> ChunkExchange::on_part(const HostId& from, const ChunkPart& part) {
  if (chunks_.durable(part.digest)) {
    arriving_.erase({from, part.digest});
    host_.send(from, ChunkStored{part.session, part.digest});
    return std::nullopt;
  }
  Blob bytes = part.bytes;
  if (part.bytes.size() < part.size) {
    std::string& whole = arriving_[{from, part.digest}];
    if (part.offset == 0) whole.clear();
    if (part.offset != whole.size() || part.offset + part.bytes.size() > part.size) return std::nullopt;
    whole.append(part.bytes.view());
    if (whole.size() < part.size) return std::nullopt;
    bytes = Blob(std::move(whole));
  }
  arriving_.erase({from, part.digest});
  if (digest_of(bytes.view()) != part.digest) {
    host_.log(Log::Level::kError,
              "a chunk from " + from.value + " does not match its digest; it is not stored");
    return std::nullopt;
  }
  store(part.digest, bytes, {from, part.session}, !part.execution.value.empty());
  return bytes;
}

bool ChunkExchange::on_fetched(const ChunkFetched& said) {
  if (!said.bytes) lacks(said.digest);
  if (!said.bytes || chunks_.durable(said.digest)) return false;
  store(said.digest, *said.bytes, {kDataStore, {}}, false);
  return true;
}

void ChunkExchange::store(const Digest& digest, const Blob& bytes, Sender from, bool for_reply) {
  from.bytes = bytes.size();
  to_confirm_[digest].push_back(std::move(from));
  if (for_reply) {
    chunks_.put(digest, bytes);
  } else {
    chunks_.put_in_background(digest, bytes);
  }
}

void ChunkExchange::on_wanted(const HostId& from, const ChunkWanted& wanted) {
  if (wanted.asks_only) {
    if (chunks_.durable(wanted.digest)) host_.send(from, ChunkStored{wanted.session, wanted.digest});
    return;
  }
  if (const Blob* const bytes = chunks_.captured(wanted.digest))
    return send(from, wanted.session, wanted.digest, Blob(*bytes));
  asked_for_[wanted.digest].insert({from, wanted.session, wanted.says_lacking});
  chunks_.read(wanted.digest);
}

std::vector<SessionId> ChunkExchange::on_read(const ChunkRead& said) {
  std::vector<SessionId> given;
  const auto asked = asked_for_.find(said.digest);
  if (asked == asked_for_.end()) return given;
  if (said.bytes) {
    for (const auto& [host, session, says_lacking] : asked->second) {
      given.push_back(session);
      send(host, session, said.digest, *said.bytes);
    }
    asked_for_.erase(asked);
  } else if (!chunks_.fetching(said.digest) && !chunks_.is_being_written(said.digest)) {
    // What comes here, from a data store too, goes on from here.
    lacks(said.digest);
  }
  return given;
}

void ChunkExchange::send(const HostId& to, const SessionId& session, const Digest& digest,
                         const Blob& bytes) {
  const std::uint64_t part = host_.sizes().chunk_part;
  for (std::uint64_t offset = 0; offset < bytes.size(); offset += part) {
    host_.send(to, ChunkPart{session,
                             digest,
                             bytes.size(),
                             offset,
                             bytes.part(offset, std::min<std::uint64_t>(part, bytes.size() - offset)),
                             {}});
  }
}

/// The gateway asks the next host then, and so does a replica.
void ChunkExchange::lacks(const Digest& digest) {
  const auto asked = asked_for_.extract(digest);
  if (!asked) return;
  for (const auto& [host, session, says_lacking] : asked.mapped()) {
    if (host == kGateway) host_.send(host, ChunkPart{.session = session, .digest = digest});
    if (says_lacking) host_.send(host, ChunkLacking{session, digest});
  }
}

void ChunkExchange::on_durable(const Digest& digest) {
  std::erase_if(arriving_, [&](const auto& item) { return item.first.second == digest; });
  if (const auto waiting = to_confirm_.extract(digest)) {
    for (const auto& [host, session, bytes] : waiting.mapped()) {
      chunks_.on_come(host, digest, bytes);
      host_.send(host, ChunkStored{session, digest});
    }
  }
  if (asked_for_.contains(digest)) chunks_.read(digest);
}

void ChunkExchange::on_peer_restarted(const HostId& peer) {
  std::erase_if(arriving_, [&](const auto& item) { return item.first.first == peer; });
}

}  // namespace banyan::node
