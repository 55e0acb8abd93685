// REST for whoever runs the platform: its hosts, and what is done to one session.
#pragma once

#include <functional>
#include <string>

#include "node/gateway_founded.h"
#include "node/gateway_hosts.h"
#include "node/gateway_routes.h"
#include "node/gateway_sessions.h"

namespace banyan::node {

/// `/api/banyan`, which is ours.
class OperatorApi {
 public:
  /// All of these outlive this.
  OperatorApi(GatewayContext& gateway, HostDirectory& directory, FoundedSessions& founded,
              GatewaySessions& sessions)
      : gateway_(gateway), directory_(directory), founded_(founded), sessions_(sessions) {}

  /// Adds its operations, which call this.
  void add_to(Routes& routes);

 private:
  void add_hosts(Routes& routes);
  void add_sessions(Routes& routes);
  void add_transfers(Routes& routes);
  AnswerNow add_host(const Call& call, const std::string& host);
  AnswerNow drain(const Call& call);
  AnswerNow remove_host(const Call& call);
  AnswerNow end_stray(const Call& call);
  AnswerNow with_session(const Call& call, const std::function<AnswerNow(GatewaySession&)>& action);
  AnswerNow cells(const Call& call, GatewaySession& session);
  AnswerNow export_state(const Call& call, GatewaySession& session);
  AnswerNow read_chunk(const Call& call, GatewaySession& session);
  AnswerNow write_chunk(const Call& call, GatewaySession& session);

  GatewayContext& gateway_;
  HostDirectory& directory_;
  FoundedSessions& founded_;
  GatewaySessions& sessions_;
};

}  // namespace banyan::node
