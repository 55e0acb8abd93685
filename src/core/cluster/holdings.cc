#include "core/cluster/holdings.h"

#include "base/check.h"

namespace banyan::cluster {

void Holdings::set_owner(const SessionId& session, std::string owner) {
  Session& known = sessions_[session];
  known.exists = true;
  if (known.owner == owner) return;
  count(owner, known.uses.size(), 0);
  count(known.owner, 0, known.uses.size());
  known.owner = std::move(owner);
}

void Holdings::forget(const SessionId& session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  found->second.exists = false;
  forget_if_idle(session);
}

void Holdings::take(const SessionId& session, const HostId& host, const DeviceId& device) {
  Session& known = sessions_[session];
  if (known.uses[{host, device}]++ == 0) count(known.owner, 1, 0);
}

void Holdings::release(const SessionId& session, const HostId& host, const DeviceId& device) {
  Session& known = sessions_.at(session);
  const auto use = known.uses.find({host, device});
  CHECK(use != known.uses.end(), "what is released was bound");
  if (--use->second > 0) return;
  known.uses.erase(use);
  count(known.owner, 0, 1);
  forget_if_idle(session);
}

void Holdings::count(const std::string& owner, std::uint64_t more, std::uint64_t fewer) {
  if (more + fewer == 0) return;
  std::uint64_t& devices = owners_[owner];
  devices = devices + more - fewer;
  if (devices == 0) owners_.erase(owner);
  changed_.insert(owner);
}

void Holdings::forget_if_idle(const SessionId& session) {
  const auto found = sessions_.find(session);
  if (!found->second.exists && found->second.uses.empty()) sessions_.erase(found);
}

std::uint64_t Holdings::of(const std::string& owner) const {
  const auto found = owners_.find(owner);
  return found == owners_.end() ? 0 : found->second;
}

const std::string& Holdings::owner_of(const SessionId& session) const {
  static const std::string kNobody;
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? kNobody : found->second.owner;
}

}  // namespace banyan::cluster
