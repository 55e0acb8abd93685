#include "node/gateway_rest.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "node/gateway_models.h"

namespace banyan::node {

using nlohmann::json;

namespace {
constexpr std::string_view kVersion = "2.15.0";  // of the jupyter_server whose API this is
}

void Rest::on_request(const HttpRequest& request) {
  const HttpTarget target = parse_target(request.target);
  const bool is_public =
      target.path.size() == 1 && target.word(0) == "api";  // how clients probe for a server
  if (!is_public && !shows_token(request.method, target, request.headers, gateway_.config().token))
    return gateway_.emit(
        error_reply(request.id, 403,
                    "The token is missing or wrong. Send it as 'Authorization: token …' or as ?token=…; "
                    "`banyan up` prints it. With a cookie alone, what is no GET needs the _xsrf cookie in "
                    "X-XSRFToken."));
  auto answer = route(request, target);
  if (!answer) return;
  if (target.query.contains("token") && !is_public)
    answer->cookies = token_cookies(request.headers, gateway_.config().token, gateway_.rng().uuid());
  gateway_.emit(reply_of(request.id, std::move(*answer)));
}

AnswerNow Rest::route(const HttpRequest& request, const HttpTarget& target) {
  if (target.word(0) == "kernelspecs") return kernels_.spec_file(request, target);
  if (target.word(0) != "api") return error_answer(404, "There is nothing here; the API is under /api.");
  const std::string resource = target.word(1);
  const std::size_t depth = target.path.size();
  if (resource == "kernels" && depth == 2) return kernels_.all(request);
  if (resource == "kernels") return kernels_.one(request, target);
  if (resource == "kernelspecs" && depth <= 3) return kernels_.specs(request, target);
  if (resource == "sessions" && depth == 2) return notebooks_.all(request);
  if (resource == "sessions" && depth == 3) return notebooks_.one(request, target);
  if (resource == "banyan" && depth == 3) return operator_.overview(request, target);
  if (resource == "banyan" && depth == 4 && target.word(2) == "strays")
    return operator_.stray(request, target);
  if (resource == "banyan" && (depth == 4 || depth == 5) && target.word(2) == "hosts")
    return operator_.host(request, target);
  if (resource == "banyan" && (depth == 5 || depth == 6) && target.word(2) == "sessions")
    return operator_.session(request, target);
  if (depth <= 2) return server(request, target);
  return error_answer(404, "There is no such resource.");
}

AnswerNow Rest::server(const HttpRequest& request, const HttpTarget& target) {
  const std::string what = target.word(1);
  const bool known = what.empty() || what == "status" || what == "me";
  if (!known) return error_answer(404, "There is no such resource.");
  if (request.method != "GET") return error_answer(405, "Use GET.");
  if (what == "status") return Answer{200, server_status(sessions_, gateway_.started().wall), {}};
  if (what.empty()) return Answer{200, json{{"version", kVersion}}.dump(), {}};
  const json identity = {{"username", "banyan"}, {"name", "Banyan user"}, {"display_name", "Banyan user"},
                         {"initials", "BU"},     {"avatar_url", nullptr}, {"color", nullptr}};
  return Answer{200, json{{"identity", identity}, {"permissions", json::object()}}.dump(), {}};
}

}  // namespace banyan::node
