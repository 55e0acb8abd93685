// REST: kernels, kernelspecs, the server itself, and what the operator's commands ask (docs: jupyter_server's
// REST API; spec of Jupyter Kernel Gateway and Enterprise Gateway).

#include <nlohmann/json.hpp>
#include <utility>

#include "node/gateway_answers.h"
#include "node/gateway_machine.h"

namespace banyan::node {

using nlohmann::json;

namespace {

constexpr std::string_view kVersion = "2.15.0";  // of the jupyter_server whose API this is

std::string content_type(std::string_view file) {
  const std::string ending = lower(file.substr(std::min(file.rfind('.'), file.size())));
  if (ending == ".png") return "image/png";
  if (ending == ".svg") return "image/svg+xml";
  if (ending == ".js") return "text/javascript";
  if (ending == ".css") return "text/css";
  return "application/octet-stream";
}

}  // namespace

GatewayMachine::Answer GatewayMachine::error(int status, std::string_view message) {
  return {status, error_answer(status, message).body, {}};
}

void GatewayMachine::reply(RequestId request, Answer answer) {
  context_.emit(HttpReply{request, answer.status, std::move(answer.headers), std::move(answer.body),
                          std::move(answer.cookies)});
}

void GatewayMachine::handle(const HttpRequest& event) {
  const HttpTarget target = parse_target(event.target);
  const bool is_public =
      target.path.size() == 1 && target.word(0) == "api";  // how clients probe for a server
  if (!is_public && !shows_token(event.method, target, event.headers, context_.config().token)) {
    return reply(event.id, error(403,
                                 "The token is missing or wrong. Send it as 'Authorization: token …' or as "
                                 "?token=…; `banyan up` prints it. With a cookie alone, what is no GET needs "
                                 "the _xsrf cookie in X-XSRFToken."));
  }
  auto answer = respond(event, target);
  if (!answer) return;
  if (target.query.contains("token") && !is_public)
    answer->cookies = token_cookies(event.headers, context_.config().token, context_.rng().uuid());
  reply(event.id, std::move(*answer));
}

/// The answer, or nothing when it comes later.
std::optional<GatewayMachine::Answer> GatewayMachine::respond(const HttpRequest& request,
                                                              const HttpTarget& target) {
  if (target.word(0) == "kernelspecs") return kernel_spec_file(request, target);
  if (target.word(0) != "api") return error(404, "There is nothing here; the API is under /api.");
  const std::string resource = target.word(1);
  const std::size_t depth = target.path.size();
  if (resource == "kernels" && depth == 2) return kernels(request, target);
  if (resource == "kernels") return kernel(request, target);
  if (resource == "kernelspecs" && depth <= 3) return kernel_specs(request, target);
  if (resource == "sessions" && depth == 2) return notebooks(request, target);
  if (resource == "sessions" && depth == 3) return notebook(request, target);
  if (resource == "banyan" && depth == 3) return banyan(request, target);
  if (resource == "banyan" && depth == 4 && target.word(2) == "strays") return stray(request, target);
  if (resource == "banyan" && (depth == 4 || depth == 5) && target.word(2) == "hosts")
    return change_host(request, target);
  if (resource == "banyan" && (depth == 5 || depth == 6) && target.word(2) == "sessions")
    return operation(request, target);
  if (depth <= 2) return server(request, target);
  return error(404, "There is no such resource.");
}

std::optional<GatewayMachine::Answer> GatewayMachine::kernels(const HttpRequest& request, const HttpTarget&) {
  if (request.method == "GET") return Answer{200, kernel_models(sessions_), {}};
  if (request.method == "POST") return create_kernel(request);
  return error(405, "Use GET or POST.");
}

std::optional<GatewayMachine::Answer> GatewayMachine::create_kernel(const HttpRequest& request) {
  std::string name, env;
  if (!request.body.empty()) {
    const json body = json::parse(request.body, nullptr, false);
    if (!body.is_object()) return error(400, "The body is no JSON object.");
    if (const auto field = body.find("name"); field != body.end() && !field->is_null()) {
      if (!field->is_string()) return error(400, "'name' must be a text.");
      name = field->get<std::string>();
    }
    if (const auto field = body.find("env"); field != body.end() && !field->is_null()) env = field->dump();
  }
  auto spec = spec_from(name, env);
  if (!spec) return error(400, spec.error().message);
  create({.request = request.id, .spec = std::move(*spec)});
  return std::nullopt;
}

std::optional<GatewayMachine::Answer> GatewayMachine::kernel(const HttpRequest& request,
                                                             const HttpTarget& target) {
  const std::size_t depth = target.path.size();
  const std::string action = target.word(3);
  if (depth > 4 || (depth == 4 && action != "interrupt" && action != "restart" && action != "channels"))
    return error(404, "A kernel has 'interrupt', 'restart' and 'channels' only.");
  GatewaySession* const found = existing({target.word(2)});
  if (found == nullptr)
    return error(404, "There is no kernel " + target.word(2) + "; GET /api/kernels lists them.");
  if (depth == 3) {
    if (request.method == "GET") return Answer{200, kernel_model(*found), {}};
    if (request.method != "DELETE") return error(405, "Use GET or DELETE.");
    end_session(found->id());
    return Answer{204, {}, {}};
  }
  if (action == "channels") return error(400, "This is a WebSocket: connect to it with an Upgrade request.");
  if (request.method != "POST") return error(405, "Use POST.");
  if (!request.body.empty() && !json::accept(request.body)) return error(400, "The body is not valid JSON.");
  if (action == "restart") {
    found->restart(request.id);
    return std::nullopt;
  }
  found->channels().interrupt();
  return Answer{204, {}, {}};
}

std::optional<GatewayMachine::Answer> GatewayMachine::kernel_specs(const HttpRequest& request,
                                                                   const HttpTarget& target) {
  if (request.method != "GET") return error(405, "Use GET.");
  if (target.path.size() == 2) return Answer{200, kernel_spec_models(context_.config()), {}};
  for (const KernelSpec& spec : context_.config().kernel_specs) {
    if (lower(spec.name) == target.word(2)) return Answer{200, kernel_spec_model(spec), {}};
  }
  return error(404, "There is no kernelspec '" + target.path[2] + "'; GET /api/kernelspecs lists them.");
}

std::optional<GatewayMachine::Answer> GatewayMachine::kernel_spec_file(const HttpRequest& request,
                                                                       const HttpTarget& target) {
  if (request.method != "GET") return error(405, "Use GET.");
  for (const KernelSpec& spec : context_.config().kernel_specs) {
    if (target.path.size() != 3 || lower(spec.name) != target.word(1)) continue;
    const auto file = spec.files.find(target.path[2]);
    if (file == spec.files.end()) break;
    return Answer{200, file->second, {{"Content-Type", content_type(file->first)}}};
  }
  return error(404, "There is no such file of a kernelspec.");
}

std::optional<GatewayMachine::Answer> GatewayMachine::banyan(const HttpRequest& request,
                                                             const HttpTarget& target) {
  const std::string what = target.word(2);
  if (what == "hosts" && request.method == "POST") return add_host(request);
  if (request.method != "GET") return error(405, what == "hosts" ? "Use GET or POST." : "Use GET.");
  if (what == "status") return Answer{200, operator_status(context_, sessions_, started_), {}};
  if (what == "hosts") return Answer{200, operator_hosts(context_, sessions_), {}};
  if (what == "sessions") return Answer{200, operator_sessions(context_, sessions_), {}};
  return error(404, "/api/banyan has 'status', 'hosts', 'sessions' and 'strays/ID'.");
}

std::optional<GatewayMachine::Answer> GatewayMachine::server(const HttpRequest& request,
                                                             const HttpTarget& target) {
  const std::string what = target.word(1);
  const bool known = what.empty() || what == "status" || what == "me";
  if (!known) return error(404, "There is no such resource.");
  if (request.method != "GET") return error(405, "Use GET.");
  if (what == "status") return Answer{200, server_status(sessions_, started_), {}};
  if (what.empty()) return Answer{200, json{{"version", kVersion}}.dump(), {}};
  const json identity = {{"username", "banyan"}, {"name", "Banyan user"}, {"display_name", "Banyan user"},
                         {"initials", "BU"},     {"avatar_url", nullptr}, {"color", nullptr}};
  return Answer{200, json{{"identity", identity}, {"permissions", json::object()}}.dump(), {}};
}

}  // namespace banyan::node
