#include "node/gateway_voters.h"

#include <algorithm>

namespace banyan::node {

void Voters::on_settled() {
  std::erase_if(lost_, [&](ReplicaId replica) { return !record_.members.contains(replica); });
}

bool Voters::beyond_repair() const {
  const std::size_t voters = record_.committed.size();
  return voters - lost() < voters / 2 + 1;
}

bool Voters::can_run(ReplicaId replica, const HostId& host) const {
  return gateway_.usable(host) && !is_lost(replica);
}

std::size_t Voters::lost() const {
  const auto is_gone = [&](const auto& member) {
    return is_lost(member.first) || !gateway_.hosts().contains(member.second);
  };
  return static_cast<std::size_t>(std::ranges::count_if(record_.committed, is_gone));
}

std::size_t Voters::up() const {
  return static_cast<std::size_t>(
      std::count_if(record_.committed.begin(), record_.committed.end(),
                    [&](const auto& member) { return can_run(member.first, member.second); }));
}

bool Voters::is_away(ReplicaId replica) const {
  return is_lost(replica) ||
         gateway_.silence(record_.members.at(replica).host) >= gateway_.config().timing.replace_after;
}

bool Voters::is_unable(ReplicaId replica) const {
  const auto since =
      gateway_.cluster().unable_since(record_.members.at(replica).host, record_.spec.kernel_name);
  return since && gateway_.now().mono - *since >= gateway_.config().timing.replace_after;
}

bool Voters::wanted_can_agree() const {
  const auto away =
      std::ranges::count_if(record_.members, [&](const auto& member) { return is_away(member.first); });
  return static_cast<std::size_t>(away) * 2 < record_.members.size();
}

bool Voters::can_serve() const { return up() >= record_.committed.size() / 2 + 1; }

}  // namespace banyan::node
