#include "node/gateway_voters.h"

#include <algorithm>

namespace banyan::node {

void Voters::on_settled() {
  std::erase_if(lost_, [&](ReplicaId replica) { return !record_.members.contains(replica); });
}

bool Voters::beyond_repair() const {
  const std::size_t voters = record_.committed.size();
  const auto lost = static_cast<std::size_t>(
      std::ranges::count_if(record_.committed, [&](const auto& member) { return is_lost(member.first); }));
  return voters - lost < voters / 2 + 1;
}

bool Voters::can_run(ReplicaId replica, const HostId& host) const {
  return gateway_.usable(host) && !is_lost(replica);
}

/// One that is about to leave would take the cell with it: such are asked only where nobody else is left. One
/// whose host cannot run the kernel is asked only where no other could: it says why.
session::Members Voters::may_be_asked(const std::set<HostId>& passed_over) const {
  const auto unable = [&](const HostId& host) {
    return gateway_.cluster().kernel_on(host, record_.spec.kernel_name).state == KernelState::kCannot;
  };
  const bool some_can = std::ranges::any_of(record_.committed, [&](const auto& member) {
    return can_run(member.first, member.second) && !unable(member.second);
  });
  session::Members staying, leaving;
  for (const auto& [replica, host] : record_.committed) {
    if (can_run(replica, host) && !passed_over.contains(host) && !(some_can && unable(host)))
      (record_.member_on(host) ? staying : leaving).emplace(replica, host);
  }
  return staying.empty() ? leaving : staying;
}

std::size_t Voters::up() const {
  return static_cast<std::size_t>(
      std::count_if(record_.committed.begin(), record_.committed.end(),
                    [&](const auto& member) { return can_run(member.first, member.second); }));
}

bool Voters::can_serve() const { return up() >= record_.committed.size() / 2 + 1; }

}  // namespace banyan::node
