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

std::size_t Voters::up() const {
  return static_cast<std::size_t>(
      std::count_if(record_.committed.begin(), record_.committed.end(),
                    [&](const auto& member) { return can_run(member.first, member.second); }));
}

bool Voters::can_serve() const { return up() >= record_.committed.size() / 2 + 1; }

}  // namespace banyan::node
