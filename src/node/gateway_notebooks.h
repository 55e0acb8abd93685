// REST of notebooks: which kernel belongs to which. One kernel has at most one notebook.
#pragma once

#include <functional>

#include "node/gateway_creation.h"

namespace banyan::node {

/// `/api/sessions`, as jupyter_server has it.
class NotebooksApi {
 public:
  /// All of these outlive this.
  NotebooksApi(GatewayContext& gateway, GatewaySessions& sessions, Creations& creations)
      : gateway_(gateway), sessions_(sessions), creations_(creations) {}

  /// `/api/sessions`
  AnswerNow all(const HttpRequest& request);
  /// `/api/sessions/{id}`
  AnswerNow one(const HttpRequest& request, const HttpTarget& target);

 private:
  AnswerNow create(const HttpRequest& request);
  AnswerNow change(const HttpRequest& request, GatewaySession& current);
  GatewaySession* with_notebook(const std::function<bool(const Notebook&)>& matches);

  GatewayContext& gateway_;
  GatewaySessions& sessions_;
  Creations& creations_;
};

}  // namespace banyan::node
