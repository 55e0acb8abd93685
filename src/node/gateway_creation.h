// New kernels: placed on hosts, written down, opened, answered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "node/gateway_answers.h"
#include "node/gateway_founded.h"
#include "node/gateway_sessions.h"

namespace banyan::node {

/// A kernel that a request of REST asks for.
struct WantedKernel {
  enum class Shown : std::uint8_t { kKernel, kNotebook } shown = Shown::kKernel;  ///< by the answer
  RequestId request;
  session::Spec spec;
  std::optional<Notebook> notebook = {};
  std::optional<SessionId> replaces = {};  ///< the kernel that the notebook had, which ends
};

/// Kernels that were asked for and wait for hosts, or for the control store.
class Creations {
 public:
  /// All of these outlive this.
  Creations(GatewayContext& gateway, FoundedSessions& founded, GatewaySessions& sessions)
      : gateway_(gateway), founded_(founded), sessions_(sessions) {}

  /// What a new session is to be; kInvalid for a kernelspec that there is not. `env`: of its processes.
  [[nodiscard]] Result<session::Spec> spec_from(
      const std::string& kernel_name, const std::optional<std::map<std::string, std::string>>& env) const;
  /// The request is answered when the scheduler has decided: a client that started together with the platform
  /// gets its kernel, not an error.
  void create(WantedKernel wanted);

  void on_place(const schedule::PlaceSession& decision);
  void on_refuse(const schedule::RefuseSession& decision);
  /// A session's record is durable and its replicas are asked to open.
  void on_founded(GatewaySession& session);
  /// A host has said that it holds a session of this id, which a new one was to get.
  void on_stray(const SessionId& id);

 private:
  [[nodiscard]] std::uint64_t first_replica(const session::Spec& spec);
  void reply(RequestId request, Answer answer);

  GatewayContext& gateway_;
  FoundedSessions& founded_;
  GatewaySessions& sessions_;
  std::map<SessionId, WantedKernel> waiting_;
};

}  // namespace banyan::node
