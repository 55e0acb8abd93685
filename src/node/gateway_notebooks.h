// REST of notebooks: which kernel belongs to which. One kernel has at most one notebook.
#pragma once

#include <functional>
#include <optional>

#include "node/gateway_creation.h"
#include "node/gateway_routes.h"

namespace banyan::api {
struct WantedNotebook;
}

namespace banyan::node {

/// `/api/sessions`, as jupyter_server has it.
class NotebooksApi {
 public:
  /// All of these outlive this.
  NotebooksApi(GatewayContext& gateway, GatewaySessions& sessions, Creations& creations)
      : gateway_(gateway), sessions_(sessions), creations_(creations) {}

  /// Adds its operations, which call this.
  void add_to(Routes& routes);

 private:
  AnswerNow create(const Call& call, const api::WantedNotebook& wanted);
  AnswerNow start(const Call& call, const api::WantedNotebook& wanted, Notebook notebook,
                  std::optional<SessionId> replaces);
  AnswerNow change(const Call& call, const api::WantedNotebook& wanted, GatewaySession& current);
  AnswerNow with(const Call& call, const std::function<AnswerNow(GatewaySession&)>& action);
  GatewaySession* with_notebook(const std::function<bool(const Notebook&)>& matches);

  GatewayContext& gateway_;
  GatewaySessions& sessions_;
  Creations& creations_;
};

}  // namespace banyan::node
