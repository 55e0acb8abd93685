// The namespaces that workers have had, and where the chunks of the large values in them lie.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "sim/namespace_text.h"

namespace banyan::sim {

/// What judges have to know of values whose bytes may be missing somewhere.
class LargeValues {
 public:
  /// A namespace that some worker has had, as Namespace::text(): from then on its digest can be read.
  /// Returns the digest.
  std::string note_namespace(const std::string& text);
  /// The variables of a namespace with that digest; nothing where no worker has had it.
  [[nodiscard]] std::optional<Variables> variables(const std::string& digest) const;
  /// The chunks of the large values in all these.
  [[nodiscard]] const std::set<Digest>& chunks() const { return chunks_; }

  /// The disk has the chunk from now on.
  void stored(const HostId& host, const Digest& digest) { disks_[digest].insert(host); }
  void dropped(const HostId& host, const Digest& digest) { disks_[digest].erase(host); }
  void lost_disk(const HostId& host) {
    for (auto& [digest, hosts] : disks_) hosts.erase(host);
  }
  /// The chunks that the disks of more than half of these hosts have.
  [[nodiscard]] std::set<Digest> on_majority(const std::vector<HostId>& hosts) const;

 private:
  std::map<std::string, std::string> namespaces_;  ///< texts by digest
  std::set<Digest> chunks_;
  std::map<Digest, std::set<HostId>> disks_;
};

}  // namespace banyan::sim
