#include "node/gateway_routes.h"

#include <optional>

#include "core/api/jupyter.h"

namespace banyan::node {

namespace {

constexpr std::string_view kApiVersion = "1";

bool is_part(std::string_view word) { return word.starts_with('{'); }

/// The parts of the target that the path names; nothing when it is another path. Clients may change the case
/// of a path.
std::optional<std::map<std::string, std::string>> match(const std::vector<std::string>& path,
                                                        const HttpTarget& target) {
  if (path.size() != target.path.size()) return std::nullopt;
  std::map<std::string, std::string> parts;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (is_part(path[i])) {
      parts[path[i].substr(1, path[i].size() - 2)] = target.path[i];
    } else if (path[i] != target.word(i)) {
      return std::nullopt;
    }
  }
  return parts;
}

}  // namespace

void Routes::add(api::Operation operation, Handler handler) {
  std::vector<std::string> path = parse_target(operation.path).path;
  routes_.push_back({std::move(operation), std::move(path), std::move(handler)});
}

AnswerNow Routes::answer(const HttpRequest& request, const HttpTarget& target) const {
  std::string methods;
  for (const Route& route : routes_) {
    auto parts = match(route.path, target);
    if (!parts) continue;
    if (route.operation.method == request.method) return route.handler({request, target, std::move(*parts)});
    methods += (methods.empty() ? "" : " or ") + route.operation.method;
  }
  if (!methods.empty()) return error_answer(405, "Use " + methods + ".");
  return error_answer(404, "There is nothing here; GET /api/banyan/openapi.json lists what there is.");
}

std::string Routes::description() const {
  static const std::map<std::string, std::string> kParts = {
      {"kernel", "a kernel's id, a UUID"},
      {"notebook", "the id of a notebook's session, a UUID"},
      {"session", "a session's id, a UUID: Jupyter's id of the kernel"},
      {"spec", "the name of a kernelspec"},
      {"file", "the name of a file of the kernelspec"},
      {"host", "the name of a host"},
      {"digest", "the name of a chunk, 32 hexadecimal digits"}};
  std::vector<api::Operation> operations;
  for (const Route& route : routes_) operations.push_back(route.operation);
  return api::to_text(
      api::describe("Banyan", std::string(kApiVersion), operations, kParts, api::Json<api::Failure>::schema));
}

}  // namespace banyan::node
