// What was learned of how long things take on this host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/planner/speeds.h"
#include "node/host_context.h"

namespace banyan::node {

/// Speeds that outlast a life of the host agent: the disk has them. The HostContext outlives it.
class HostSpeeds {
 public:
  explicit HostSpeeds(HostContext& host) : host_(host) {}

  /// What keep() of an earlier life wrote; empty for nothing.
  void recall(const std::string& record);
  /// Writes them now and then, when there is something new. Called often.
  void keep();
  [[nodiscard]] planner::Speeds& now() { return speeds_; }

 private:
  HostContext& host_;
  planner::Speeds speeds_;
  std::uint64_t kept_ = 0;  ///< samples when they were written
  std::optional<Time> keep_at_;
};

}  // namespace banyan::node
