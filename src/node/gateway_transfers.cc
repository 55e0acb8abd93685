#include "node/gateway_transfers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "node/gateway_answers.h"

namespace banyan::node {

namespace {
constexpr Duration kSilent = 5s;     // then another host is asked
constexpr Duration kFindMax = 5s;    // for a chunk that its hosts may be fetching
constexpr Duration kStoreMax = 60s;  // for a majority's disks
}  // namespace

void GatewayTransfers::read(RequestId request, const Digest& digest, std::vector<HostId> hosts) {
  const auto [found, fresh] = readings_.try_emplace(digest);
  found->second.requests.push_back(request);
  if (!fresh) return;
  Reading& reading = found->second;
  reading.hosts = std::move(hosts);
  reading.begun = gateway_.now().mono;
  begin_round(digest, reading);
}

void GatewayTransfers::begin_round(const Digest& digest, Reading& reading) {
  reading.round = reading.hosts;
  ask(digest, reading);
}

void GatewayTransfers::ask(const Digest& digest, Reading& reading) {
  reading.bytes.clear();
  reading.heard = gateway_.now().mono;
  std::erase_if(reading.round, [&](const HostId& host) { return !gateway_.usable(host); });
  if (!reading.round.empty()) gateway_.send(reading.round.back(), ChunkWanted{session_, digest});
}

void GatewayTransfers::ask_next(const Digest& digest, Reading& reading) {
  reading.round.pop_back();
  ask(digest, reading);
}

/// Between two rounds.
bool GatewayTransfers::give_up(const Digest& digest, const Reading& reading) {
  if (gateway_.now().mono - reading.begun < kFindMax) return false;
  for (const RequestId request : reading.requests)
    gateway_.emit(error_reply(request, 404,
                              "No host of the session has the chunk " + to_hex(digest) + " now; try again."));
  return true;
}

void GatewayTransfers::arrives(const HostId& host, const ChunkPart& part) {
  const auto found = readings_.find(part.digest);
  if (found == readings_.end()) return;
  Reading& reading = found->second;
  if (reading.round.empty() || reading.round.back() != host) return;
  if (part.size == 0) return ask_next(part.digest, reading);
  reading.heard = gateway_.now().mono;
  if (part.offset == 0) reading.bytes.clear();
  if (part.offset != reading.bytes.size()) return;
  reading.bytes.append(part.bytes.view());
  if (reading.bytes.size() < part.size) return;
  if (digest_of(reading.bytes) != part.digest) return ask_next(part.digest, reading);
  for (const RequestId request : reading.requests)
    gateway_.emit(HttpReply{request, 200, {{"Content-Type", "application/octet-stream"}}, reading.bytes});
  readings_.erase(found);
}

void GatewayTransfers::write(RequestId request, const std::string& upload, const Digest& digest,
                             const Blob& bytes, const std::vector<HostId>& hosts) {
  Writing& writing = writings_[digest];
  writing.requests.push_back(request);
  writing.since = gateway_.now().mono;
  writing.needed = hosts.size() / 2 + 1;
  std::ranges::copy_if(hosts, std::inserter(writing.waits, writing.waits.end()),
                       [&](const HostId& host) { return gateway_.usable(host); });
  const std::uint64_t part = gateway_.config().sizes.chunk_part;
  for (const HostId& host : writing.waits) {  // the others fetch it when they are back
    for (std::uint64_t offset = 0; offset < bytes.size(); offset += part) {
      gateway_.send(
          host, ChunkPart{.session = session_,
                          .digest = digest,
                          .size = bytes.size(),
                          .offset = offset,
                          .bytes = bytes.part(offset, std::min<std::uint64_t>(part, bytes.size() - offset)),
                          .execution = {upload}});
    }
  }
}

void GatewayTransfers::stored(const HostId& host, const Digest& digest) {
  const auto found = writings_.find(digest);
  if (found == writings_.end()) return;
  found->second.stored.insert(host);
  found->second.waits.erase(host);
  if (end_if_stored(found->second)) writings_.erase(found);
}

/// On all hosts that are up, and on a majority: the one that takes the state looks for its chunks.
bool GatewayTransfers::end_if_stored(Writing& writing) {
  std::erase_if(writing.waits, [&](const HostId& host) { return !gateway_.usable(host); });
  if (!writing.waits.empty() || writing.stored.size() < writing.needed) return false;
  for (const RequestId request : writing.requests) gateway_.emit(HttpReply{request, 204, {}, {}});
  return true;
}

void GatewayTransfers::tick() {
  const Time now = gateway_.now().mono;
  for (auto it = readings_.begin(); it != readings_.end();) {
    auto& [digest, reading] = *it;
    if (reading.round.empty()) {
      if (give_up(digest, reading)) {
        it = readings_.erase(it);
        continue;
      }
      begin_round(digest, reading);
    } else if (!gateway_.usable(reading.round.back())) {
      ask(digest, reading);
    } else if (now - reading.heard >= kSilent) {
      ask_next(digest, reading);
    }
    ++it;
  }
  for (auto it = writings_.begin(); it != writings_.end();) {
    const auto writing = it++;
    if (end_if_stored(writing->second)) {
      writings_.erase(writing);
    } else if (now - writing->second.since >= kStoreMax) {
      for (const RequestId request : writing->second.requests)
        gateway_.emit(
            error_reply(request, 503, "Not enough hosts of the session stored the chunk; try again."));
      writings_.erase(writing);
    }
  }
}

void GatewayTransfers::close() {
  const auto tell = [&](const std::vector<RequestId>& requests) {
    for (const RequestId request : requests) gateway_.emit(ended_reply(request));
  };
  for (const auto& [digest, reading] : readings_) tell(reading.requests);
  for (const auto& [digest, writing] : writings_) tell(writing.requests);
}

}  // namespace banyan::node
