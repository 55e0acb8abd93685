// What REST shows, as JSON texts. Source: the REST API of jupyter_server 2; /api/banyan is ours.
#pragma once

#include <map>
#include <string>

#include "node/gateway_sessions.h"

namespace banyan::node {

/// A kernel: id, name, last_activity, execution_state, connections, and a reason when it cannot serve.
std::string kernel_model(const GatewaySession& session);
/// All kernels that exist.
std::string kernel_models(const GatewaySessions& sessions);
/// A Jupyter session: the notebook and its kernel. `session` has a notebook.
std::string notebook_model(const GatewaySession& session);
std::string notebook_models(const GatewaySessions& sessions);
/// One kernelspec, as `GET /api/kernelspecs/{name}` shows it.
std::string kernel_spec_model(const KernelSpec& spec);
std::string kernel_spec_models(const GatewayConfig& config);
/// `GET /api/status`.
std::string server_status(const GatewaySessions& sessions, WallTime started);

/// `GET /api/banyan/hosts`, `…/sessions` and `…/status`: what the operator's commands show.
std::string operator_hosts(const GatewayContext& gateway, const GatewaySessions& sessions);
/// All sessions of which the host has a replica that somebody counts on, and why each has not left the host
/// if that is known. Wider than what the scheduler counts: a replica that is to leave is here until the
/// session's log says that it is no member.
std::map<SessionId, std::string> sessions_on(const GatewayContext& gateway, const GatewaySessions& sessions,
                                             const HostId& host);
std::string operator_sessions(const GatewayContext& gateway, const GatewaySessions& sessions);
std::string operator_status(const GatewayContext& gateway, const GatewaySessions& sessions, WallTime started);

}  // namespace banyan::node
