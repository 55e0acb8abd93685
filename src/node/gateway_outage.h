// When less than a majority of a session's replicas is up: how long that lasts, and what people are told.
#pragma once

#include <optional>
#include <string>

#include "node/gateway_membership.h"

namespace banyan::node {

/// Hosts start again within seconds, so that cells wait for a while before they are refused.
class Outage {
 public:
  /// All of these outlive this.
  Outage(const GatewayContext& gateway, const SessionRecord& record, const Membership& members)
      : gateway_(gateway), record_(record), members_(members) {}

  /// Called often.
  void watch();
  /// It has lasted for so long that nobody is to wait for its end.
  [[nodiscard]] bool lasts() const;
  /// Why the session cannot go on, and what to do, for a person; empty when a majority is up.
  [[nodiscard]] std::string reason() const;
  /// The end of a cell that could not be run for this.
  [[nodiscard]] Verdict verdict() const;

 private:
  const GatewayContext& gateway_;
  const SessionRecord& record_;
  const Membership& members_;
  std::optional<Time> since_;
};

}  // namespace banyan::node
