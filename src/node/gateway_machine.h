// The gateway's state: sessions, hosts, requests that wait for either.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/gateway_context.h"
#include "node/gateway_founded.h"
#include "node/gateway_hosts.h"
#include "node/gateway_models.h"
#include "node/gateway_session.h"
#include "node/http_target.h"

namespace banyan::node {

/// Dispatches events to sessions and answers REST; GatewayNode owns one.
class GatewayMachine {
 public:
  GatewayMachine(GatewayConfig config, Incarnation life, std::uint64_t seed);
  std::vector<GatewayEffect> step(const Now& now, GatewayEvent event);

 private:
  /// A kernel that was asked for and is not there yet.
  struct Creation {
    enum class Answer : std::uint8_t { kKernel, kNotebook } answer = Answer::kKernel;
    RequestId request;
    SessionId id;
    session::Spec spec;
    std::optional<Notebook> notebook;
    std::optional<SessionId> replaces;  ///< the kernel that the notebook had
  };
  /// A connection whose client is not known: it named no session_id.
  struct Anonymous {
    SessionId session;
    Time since;
    ClientManner manner;
  };
  struct Answer {
    int status = 200;
    std::string body;
    std::map<std::string, std::string> headers;
    std::vector<std::string> cookies = {};  ///< values of Set-Cookie
  };

  // gateway_node.cc
  void handle(StoreLoaded& event);
  void handle(const Tick& event);
  void handle(FrameArrived& event);
  void handle(const PeerUp& event);
  void handle(const PeerDown& event);
  void handle(const PeerIntroduced& event);
  void handle(const HttpRequest& event);
  void handle(const ClientOpening& event);
  void handle(FromClient& event);
  void handle(const ClientDrained& event);
  void handle(const ClientConfirmed& event);
  void handle(const ClientClosed& event);
  void handle(const Stored& event);

  void carry_out(schedule::Decision& decision);
  void note_state(const HostId& id, const PeerHost& host);
  void peer_message(const HostId& from, PeerMessage message);
  void host_report(const HostId& from, HostReport report);
  void host_reset(const HostId& from);
  void set_up(const HostId& id, PeerHost& host, bool up);
  void watch_hosts();
  void watch_anonymous();
  GatewaySession* session(const SessionId& id);
  GatewaySession* existing(const SessionId& id);
  GatewaySession* session_of(ConnectionId connection);
  void end_session(const SessionId& id);

  // gateway_rest.cc
  using Handler = std::optional<Answer> (GatewayMachine::*)(const HttpRequest&, const HttpTarget&);
  std::optional<Answer> respond(const HttpRequest& request, const HttpTarget& target);
  std::optional<Answer> kernels(const HttpRequest& request, const HttpTarget& target);
  std::optional<Answer> kernel(const HttpRequest& request, const HttpTarget& target);
  std::optional<Answer> kernel_specs(const HttpRequest& request, const HttpTarget& target);
  std::optional<Answer> kernel_spec_file(const HttpRequest& request, const HttpTarget& target);
  std::optional<Answer> banyan(const HttpRequest& request, const HttpTarget& target);
  std::optional<Answer> server(const HttpRequest& request, const HttpTarget& target);
  std::optional<Answer> create_kernel(const HttpRequest& request);
  static Answer error(int status, std::string_view message);
  void reply(RequestId request, Answer answer);

  // gateway_operator.cc: /api/banyan/hosts, /api/banyan/strays/{id}, /api/banyan/sessions/{id}
  std::optional<Answer> add_host(const HttpRequest& request);
  std::optional<Answer> change_host(const HttpRequest& request, const HttpTarget& target);
  std::optional<Answer> stray(const HttpRequest& request, const HttpTarget& target);
  std::optional<Answer> operation(const HttpRequest& request, const HttpTarget& target);
  std::optional<Answer> chunk(const HttpRequest& request, const HttpTarget& target, GatewaySession& session);

  // gateway_notebooks.cc: /api/sessions
  std::optional<Answer> notebooks(const HttpRequest& request, const HttpTarget& target);
  std::optional<Answer> notebook(const HttpRequest& request, const HttpTarget& target);
  std::optional<Answer> create_notebook(const HttpRequest& request);
  std::optional<Answer> change_notebook(const HttpRequest& request, GatewaySession& current);
  GatewaySession* with_notebook(const std::function<bool(const Notebook&)>& matches);

  // gateway_creation.cc
  Result<session::Spec> spec_from(const std::string& kernel_name, const std::string& env_json) const;
  void create(Creation creation);
  static Answer stray_answer(const SessionId& id);
  void refuse_strayed(const SessionId& id);
  void carry_out(schedule::PlaceSession& decision);
  void carry_out(schedule::RefuseSession& decision);
  void created(GatewaySession& session);

  GatewayContext context_;
  HostDirectory directory_;
  FoundedSessions founded_;
  GatewaySessions sessions_;
  std::map<ConnectionId, SessionId> connections_;
  std::map<ConnectionId, Anonymous> anonymous_;
  std::map<SessionId, Creation> creations_;  ///< that wait for hosts, or for the control store
  WallTime started_;
  bool loaded_ = false;
};

}  // namespace banyan::node
