// Which hosts can run a kernel, as far as the gateway has heard.
#pragma once

#include <optional>
#include <string>

#include "node/gateway_context.h"

namespace banyan::node {

/// A kernel on one host, under the kernel's own name. A host that has not told of this life is still
/// checking; one that names no kernels runs the default one. `reason` says, for whatever is not kRuns, why.
KernelReport kernel_on(const GatewayContext& gateway, const HostId& host, const std::string& kernel);

/// "3.11" of "3.11.2": versions of Python whose values load in each other. Empty when it is not known.
std::string minor_version(const std::string& python);

/// For a person, to follow a sentence: which hosts cannot run the kernel and why. Empty when none says so.
std::string hosts_unable(const GatewayContext& gateway, const std::string& kernel);

/// Why a session of this kernel has no place anywhere; nothing while a host can run it, or may yet.
std::optional<std::string> no_host_runs(const GatewayContext& gateway, const std::string& kernel);

}  // namespace banyan::node
