// `banyan openapi`: the description of REST. No gateway has to run for it.

#include <cstdio>
#include <variant>

#include "cli/commands.h"
#include "node/gateway_node.h"

namespace banyan::cli {

int openapi() {
  const std::string token = "any";
  node::GatewayNode gateway({.token = token}, Incarnation{1}, 1);
  (void)gateway.step({}, node::StoreLoaded{});
  const node::HttpRequest question{.id = {1},
                                   .method = "GET",
                                   .target = "/api/banyan/openapi.json",
                                   .headers = {{"authorization", "token " + token}},
                                   .body = {}};
  for (const node::GatewayEffect& effect : gateway.step({}, question)) {
    const auto* const reply = std::get_if<node::HttpReply>(&effect);
    if (reply == nullptr || reply->status != 200) continue;
    std::printf("%s\n", reply->body.c_str());
    return kDone;
  }
  std::fprintf(stderr, "banyan: the gateway machine did not describe its API; this is a bug\n");
  return kFailed;
}

}  // namespace banyan::cli
