#include "core/cluster/ledger.h"

#include <utility>

#include "base/check.h"

namespace banyan::cluster {

void Ledger::hold(const SessionId& session, std::set<HostId> hosts) {
  for (const HostId& host : hosts) ++hosts_[host].replicas;
  release_replicas(std::exchange(sessions_[session].replicas, std::move(hosts)));
}

void Ledger::run(const SessionId& session, std::optional<HostId> host) {
  if (!host && !sessions_.contains(session)) return;
  if (host) ++hosts_[*host].cells;
  release_cell(std::exchange(sessions_[session].cell, std::move(host)));
}

void Ledger::drop(const SessionId& session) {
  const auto found = sessions_.extract(session);
  if (found.empty()) return;
  release_replicas(found.mapped().replicas);
  release_cell(found.mapped().cell);
}

const std::set<HostId>& Ledger::replicas_of(const SessionId& session) const {
  static const std::set<HostId> none;
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? none : found->second.replicas;
}

std::uint64_t Ledger::replicas_on(const HostId& host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? 0 : found->second.replicas;
}

std::vector<SessionId> Ledger::sessions_on(const HostId& host) const {
  std::vector<SessionId> found;
  for (const auto& [session, entry] : sessions_)
    if (entry.replicas.contains(host)) found.push_back(session);
  return found;
}

std::uint64_t Ledger::cells_on(const HostId& host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? 0 : found->second.cells;
}

void Ledger::release_replicas(const std::set<HostId>& hosts) {
  for (const HostId& host : hosts) {
    Sum& sum = hosts_.at(host);
    CHECK(sum.replicas > 0, "what is released was held");
    --sum.replicas;
    forget_if_idle(host);
  }
}

void Ledger::release_cell(const std::optional<HostId>& host) {
  if (!host) return;
  Sum& sum = hosts_.at(*host);
  CHECK(sum.cells > 0, "what is released was held");
  --sum.cells;
  forget_if_idle(*host);
}

void Ledger::forget_if_idle(const HostId& host) {
  const auto found = hosts_.find(host);
  if (found->second.replicas == 0 && found->second.cells == 0) hosts_.erase(found);
}

}  // namespace banyan::cluster
