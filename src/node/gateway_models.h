// What REST shows of what there is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/api/jupyter.h"
#include "core/api/operator.h"
#include "node/gateway_sessions.h"

namespace banyan::node {

/// A session as its client sees it.
api::Kernel kernel_model(const GatewaySession& session);
/// All kernels that exist.
std::vector<api::Kernel> kernel_models(const GatewaySessions& sessions);
/// `session` has a notebook.
api::NotebookSession notebook_model(const GatewaySession& session);
std::vector<api::NotebookSession> notebook_models(const GatewaySessions& sessions);
api::KernelSpecModel kernel_spec_model(const KernelSpec& spec);
api::KernelSpecs kernel_spec_models(const GatewayConfig& config);
api::ServerStatus server_status(const GatewaySessions& sessions, WallTime started);

std::vector<api::Host> operator_hosts(const GatewayContext& gateway, const GatewaySessions& sessions);
/// All sessions of which the host has a replica that somebody counts on, and why each has not left the host
/// if that is known. Wider than what the scheduler counts: a replica that is to leave is here until the
/// session's log says that it is no member.
std::map<SessionId, std::string> sessions_on(const GatewayContext& gateway, const GatewaySessions& sessions,
                                             const HostId& host);
std::vector<api::Gpu> operator_gpus(const GatewayContext& gateway);
/// The cells that wait for GPUs, in their order.
std::vector<api::QueuedCell> operator_queue(const GatewayContext& gateway, const GatewaySessions& sessions);
std::vector<api::Session> operator_sessions(const GatewayContext& gateway, const GatewaySessions& sessions);
api::Status operator_status(const GatewayContext& gateway, const GatewaySessions& sessions, WallTime started);

}  // namespace banyan::node
