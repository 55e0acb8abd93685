#include "node/gateway_kernels.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "node/gateway_models.h"

namespace banyan::node {

using nlohmann::json;

namespace {

std::string content_type(std::string_view file) {
  const std::string ending = lower(file.substr(std::min(file.rfind('.'), file.size())));
  if (ending == ".png") return "image/png";
  if (ending == ".svg") return "image/svg+xml";
  if (ending == ".js") return "text/javascript";
  if (ending == ".css") return "text/css";
  return "application/octet-stream";
}

}  // namespace

AnswerNow KernelsApi::all(const HttpRequest& request) {
  if (request.method == "GET") return Answer{200, kernel_models(sessions_), {}};
  if (request.method == "POST") return create(request);
  return error_answer(405, "Use GET or POST.");
}

AnswerNow KernelsApi::create(const HttpRequest& request) {
  std::string name, env;
  if (!request.body.empty()) {
    const json body = json::parse(request.body, nullptr, false);
    if (!body.is_object()) return error_answer(400, "The body is no JSON object.");
    if (const auto field = body.find("name"); field != body.end() && !field->is_null()) {
      if (!field->is_string()) return error_answer(400, "'name' must be a text.");
      name = field->get<std::string>();
    }
    if (const auto field = body.find("env"); field != body.end() && !field->is_null()) env = field->dump();
  }
  auto spec = creations_.spec_from(name, env);
  if (!spec) return error_answer(400, spec.error().message);
  creations_.create({.request = request.id, .spec = std::move(*spec)});
  return std::nullopt;
}

AnswerNow KernelsApi::one(const HttpRequest& request, const HttpTarget& target) {
  const std::size_t depth = target.path.size();
  const std::string action = target.word(3);
  if (depth > 4 || (depth == 4 && action != "interrupt" && action != "restart" && action != "channels"))
    return error_answer(404, "A kernel has 'interrupt', 'restart' and 'channels' only.");
  GatewaySession* const found = sessions_.existing({target.word(2)});
  if (found == nullptr)
    return error_answer(404, "There is no kernel " + target.word(2) + "; GET /api/kernels lists them.");
  if (depth == 3) {
    if (request.method == "GET") return Answer{200, kernel_model(*found), {}};
    if (request.method != "DELETE") return error_answer(405, "Use GET or DELETE.");
    sessions_.end(found->id());
    return Answer{204, {}, {}};
  }
  if (action == "channels")
    return error_answer(400, "This is a WebSocket: connect to it with an Upgrade request.");
  if (request.method != "POST") return error_answer(405, "Use POST.");
  if (!request.body.empty() && !json::accept(request.body))
    return error_answer(400, "The body is not valid JSON.");
  if (action == "restart") {
    found->restart(request.id);
    return std::nullopt;
  }
  found->channels().interrupt();
  return Answer{204, {}, {}};
}

AnswerNow KernelsApi::specs(const HttpRequest& request, const HttpTarget& target) {
  if (request.method != "GET") return error_answer(405, "Use GET.");
  if (target.path.size() == 2) return Answer{200, kernel_spec_models(gateway_.config()), {}};
  for (const KernelSpec& spec : gateway_.config().kernel_specs) {
    if (lower(spec.name) == target.word(2)) return Answer{200, kernel_spec_model(spec), {}};
  }
  return error_answer(404,
                      "There is no kernelspec '" + target.path[2] + "'; GET /api/kernelspecs lists them.");
}

AnswerNow KernelsApi::spec_file(const HttpRequest& request, const HttpTarget& target) {
  if (request.method != "GET") return error_answer(405, "Use GET.");
  for (const KernelSpec& spec : gateway_.config().kernel_specs) {
    if (target.path.size() != 3 || lower(spec.name) != target.word(1)) continue;
    const auto file = spec.files.find(target.path[2]);
    if (file == spec.files.end()) break;
    return Answer{200, file->second, {{"Content-Type", content_type(file->first)}}};
  }
  return error_answer(404, "There is no such file of a kernelspec.");
}

}  // namespace banyan::node
