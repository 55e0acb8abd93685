#include "node/gateway_founded.h"

#include <algorithm>
#include <utility>

namespace banyan::node {

/// A session's record may have been written without the count after it, or by an earlier version, which noted
/// nothing: that is life 0.
void FoundedSessions::recover(const StoredSessions& stored) {
  damaged_ = stored.damaged;
  FoundedRecords known = stored.founded;
  for (const auto& [id, one] : stored.sessions) {
    std::uint64_t& sessions = known[one.session.founding.life];
    sessions = std::max({sessions, one.session.founding.number, std::uint64_t{1}});
  }
  for (const auto& [life, sessions] : known) {
    const auto noted = stored.founded.find(life);
    if (noted == stored.founded.end() || noted->second != sessions)
      gateway_.store(founded_key(life), founded_record(sessions));
  }
  founded_ = std::move(known);
  life_ = gateway_.rng().next() | 1;
}

void FoundedSessions::store_count() { gateway_.store(founded_key(life_), founded_record(founded_[life_])); }

bool FoundedSessions::has_ended(const Founding& session) const {
  const auto life = founded_.find(session.life);
  return life != founded_.end() && session.number <= life->second;
}

void FoundedSessions::note_strays(const HostId& host, std::set<SessionId> strays) {
  std::set<SessionId>& known = gateway_.hosts().at(host).strays;
  for (const SessionId& session : strays) {
    if (!known.contains(session))
      gateway_.log(Log::Level::kError,
                   "host " + host.value + " has a replica of session " + session.value +
                       ", which the control store does not know: it is left as it is. If the store was lost, "
                       "stop the gateway and put back what it had; to delete the session, DELETE "
                       "/api/banyan/strays/ID");
  }
  known = std::move(strays);
}

bool FoundedSessions::strayed(const SessionId& id) const {
  return std::ranges::any_of(gateway_.hosts(),
                             [&](const auto& host) { return host.second.strays.contains(id); });
}

void FoundedSessions::close_stray(const SessionId& id) {
  for (const auto& [host, peer] : gateway_.hosts()) {
    if (peer.strays.contains(id)) gateway_.send(host, CloseReplica{id});
  }
}

}  // namespace banyan::node
