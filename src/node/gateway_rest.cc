#include "node/gateway_rest.h"

#include <utility>

#include "core/api/jupyter.h"
#include "node/gateway_models.h"

namespace banyan::node {

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
  auto answer = routes_.answer(request, target);
  if (!answer) return;
  if (target.query.contains("token") && !is_public)
    answer->cookies = token_cookies(request.headers, gateway_.config().token, gateway_.rng().uuid());
  gateway_.emit(reply_of(request.id, std::move(*answer)));
}

void Rest::add_server() {
  routes_.add({.method = "GET",
               .path = "/api",
               .id = "version",
               .summary = "How clients find out that here is a server.",
               .replies = {api::json_reply<api::Version>(200, "The version.")},
               .open = true},
              [](const Call&) { return Answer{200, api::to_text(api::Version{std::string(kVersion)})}; });
  routes_.add({.method = "GET",
               .path = "/api/status",
               .id = "serverStatus",
               .summary = "What jupyter_server tells of itself.",
               .replies = {api::json_reply<api::ServerStatus>(200, "How it is.")}},
              [this](const Call&) {
                return Answer{200, api::to_text(server_status(sessions_, gateway_.started().wall))};
              });
  routes_.add({.method = "GET",
               .path = "/api/me",
               .id = "me",
               .summary = "Who is asking.",
               .replies = {api::json_reply<api::Me>(200, "Everybody who has the token is one user.")}},
              [](const Call&) {
                return Answer{200, api::to_text(api::Me{.identity = {.username = "banyan",
                                                                     .name = "Banyan user",
                                                                     .display_name = "Banyan user",
                                                                     .initials = "BU"}})};
              });
}

}  // namespace banyan::node
