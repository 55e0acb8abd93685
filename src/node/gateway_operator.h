// REST for whoever runs the platform: its hosts, and what is done to one session.
#pragma once

#include "node/gateway_answers.h"
#include "node/gateway_founded.h"
#include "node/gateway_hosts.h"
#include "node/gateway_sessions.h"

namespace banyan::node {

/// `/api/banyan`, which is ours.
class OperatorApi {
 public:
  /// All of these outlive this.
  OperatorApi(GatewayContext& gateway, HostDirectory& directory, FoundedSessions& founded,
              GatewaySessions& sessions)
      : gateway_(gateway), directory_(directory), founded_(founded), sessions_(sessions) {}

  /// `/api/banyan/{status,hosts,sessions}`
  AnswerNow overview(const HttpRequest& request, const HttpTarget& target);
  /// `/api/banyan/hosts/{host}` and `/drain` below it. Each change is answered when it is durable.
  AnswerNow host(const HttpRequest& request, const HttpTarget& target);
  /// `/api/banyan/strays/{id}`
  AnswerNow stray(const HttpRequest& request, const HttpTarget& target);
  /// `/api/banyan/sessions/{id}/{what}`
  AnswerNow session(const HttpRequest& request, const HttpTarget& target);

 private:
  AnswerNow add_host(const HttpRequest& request);
  AnswerNow chunk(const HttpRequest& request, const HttpTarget& target, GatewaySession& session);

  GatewayContext& gateway_;
  HostDirectory& directory_;
  FoundedSessions& founded_;
  GatewaySessions& sessions_;
};

}  // namespace banyan::node
