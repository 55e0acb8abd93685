// REST of kernels and kernelspecs.
#pragma once

#include "node/gateway_creation.h"

namespace banyan::node {

/// `/api/kernels` and `/api/kernelspecs`, as jupyter_server has them.
class KernelsApi {
 public:
  /// All of these outlive this.
  KernelsApi(GatewayContext& gateway, GatewaySessions& sessions, Creations& creations)
      : gateway_(gateway), sessions_(sessions), creations_(creations) {}

  /// `/api/kernels`
  AnswerNow all(const HttpRequest& request);
  /// `/api/kernels/{id}` and what is below it
  AnswerNow one(const HttpRequest& request, const HttpTarget& target);
  /// `/api/kernelspecs` and `/api/kernelspecs/{name}`
  AnswerNow specs(const HttpRequest& request, const HttpTarget& target);
  /// `/kernelspecs/{name}/{file}`: a logo, or code of a front end
  AnswerNow spec_file(const HttpRequest& request, const HttpTarget& target);

 private:
  AnswerNow create(const HttpRequest& request);

  GatewayContext& gateway_;
  GatewaySessions& sessions_;
  Creations& creations_;
};

}  // namespace banyan::node
