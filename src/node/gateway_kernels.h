// REST of kernels and kernelspecs.
#pragma once

#include <functional>

#include "node/gateway_creation.h"
#include "node/gateway_routes.h"

namespace banyan::api {
struct NewKernel;
}

namespace banyan::node {

/// `/api/kernels` and `/api/kernelspecs`, as jupyter_server has them.
class KernelsApi {
 public:
  /// All of these outlive this.
  KernelsApi(GatewayContext& gateway, GatewaySessions& sessions, Creations& creations)
      : gateway_(gateway), sessions_(sessions), creations_(creations) {}

  /// Adds its operations, which call this.
  void add_to(Routes& routes);

 private:
  void add_kernels(Routes& routes);
  void add_specs(Routes& routes);
  AnswerNow create(const Call& call, const api::NewKernel& wanted);
  AnswerNow with_kernel(const Call& call, const std::function<AnswerNow(GatewaySession&)>& action);
  AnswerNow spec(const Call& call);
  AnswerNow spec_file(const Call& call);

  GatewayContext& gateway_;
  GatewaySessions& sessions_;
  Creations& creations_;
};

}  // namespace banyan::node
