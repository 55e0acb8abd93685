#include "sim/large_values.h"

#include <algorithm>

#include "sim/model_python.h"

namespace banyan::sim {

std::string LargeValues::note_namespace(const std::string& text) {
  std::string digest = digest_of_namespace(text);
  if (namespaces_.try_emplace(digest, text).second)
    for (const auto& [name, value] : variables_of(text))
      if (const auto large = large_value(value)) chunks_.insert(large->chunk);
  return digest;
}

std::optional<Variables> LargeValues::variables(const std::string& digest) const {
  if (digest == Namespace().digest()) return Variables();
  const auto found = namespaces_.find(digest);
  return found == namespaces_.end() ? std::nullopt : std::optional(variables_of(found->second));
}

std::set<Digest> LargeValues::on_majority(const std::vector<HostId>& hosts) const {
  std::set<Digest> all;
  for (const auto& [digest, disks] : disks_) {
    const auto count = std::ranges::count_if(hosts, [&](const HostId& host) { return disks.contains(host); });
    if (static_cast<std::size_t>(count) > hosts.size() / 2) all.insert(digest);
  }
  return all;
}

}  // namespace banyan::sim
