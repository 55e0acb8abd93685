// REST: who may ask, and which part answers what. Source: jupyter_server's REST API, and those of Jupyter
// Kernel Gateway and Enterprise Gateway.
#pragma once

#include "node/gateway_kernels.h"
#include "node/gateway_notebooks.h"
#include "node/gateway_operator.h"

namespace banyan::node {

/// Answers requests, or hands them to the parts that answer later.
class Rest {
 public:
  /// All of these outlive this.
  Rest(GatewayContext& gateway, HostDirectory& directory, FoundedSessions& founded, GatewaySessions& sessions,
       Creations& creations)
      : gateway_(gateway),
        sessions_(sessions),
        kernels_(gateway, sessions, creations),
        notebooks_(gateway, sessions, creations),
        operator_(gateway, directory, founded, sessions) {
    add_server();
    kernels_.add_to(routes_);
    notebooks_.add_to(routes_);
    operator_.add_to(routes_);
  }
  Rest(const Rest&) = delete;
  Rest& operator=(const Rest&) = delete;

  void on_request(const HttpRequest& request);

 private:
  void add_server();

  GatewayContext& gateway_;
  GatewaySessions& sessions_;
  KernelsApi kernels_;
  NotebooksApi notebooks_;
  OperatorApi operator_;
  Routes routes_;
};

}  // namespace banyan::node
