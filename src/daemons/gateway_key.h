// Which key the gateway has, as a host agent knows it.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "daemons/config.h"
#include "runtime/net/websocket_network.h"

namespace banyan::daemons {

/// A host agent keeps the key of the first gateway that proves the cluster's secret to it, in a file of its
/// data directory, and refuses any other gateway from then on. Where its configuration names a key, that one
/// counts, and the file is neither read nor written.
class GatewayKey {
 public:
  /// What the configuration or the file says. kInvalid for a file that holds no key, kIo.
  static Result<GatewayKey> load(const HostSettings& settings);

  /// For the network: the key, when it is known, and what a person does when the gateway has another one.
  [[nodiscard]] const runtime::KnownKey& known() const { return known_; }
  /// The gateway has proven this key. The first one is kept.
  Result<Done> keep(const std::string& key);

 private:
  GatewayKey(std::filesystem::path file, runtime::KnownKey known);

  std::filesystem::path file_;
  runtime::KnownKey known_;
};

}  // namespace banyan::daemons
