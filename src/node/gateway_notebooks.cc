// /api/sessions: which notebook a kernel belongs to, as jupyter_server keeps it. One kernel has at most one.

#include <nlohmann/json.hpp>
#include <utility>

#include "node/gateway_machine.h"

namespace banyan::node {

using nlohmann::json;

namespace {

/// The fields of a request; nothing when one has the wrong type.
struct NotebookRequest {
  std::optional<std::string> path, name, type;
  std::string kernel_id, kernel_name, env;
};

std::optional<NotebookRequest> parse(const std::string& text) {
  const json body = json::parse(text, nullptr, false);
  if (!body.is_object()) return std::nullopt;
  bool ok = true;
  const auto field = [&](const json& object, const char* name) -> std::optional<std::string> {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return std::nullopt;
    ok = ok && found->is_string();
    return found->is_string() ? std::optional(found->get<std::string>()) : std::nullopt;
  };
  NotebookRequest request{field(body, "path"), field(body, "name"), field(body, "type"), {}, {}, {}};
  if (const auto notebook = body.find("notebook"); notebook != body.end() && notebook->is_object()) {
    if (!request.path) request.path = field(*notebook, "path");
    if (!request.name) request.name = field(*notebook, "name");
  }
  if (const auto kernel = body.find("kernel"); kernel != body.end() && !kernel->is_null()) {
    if (!kernel->is_object()) return std::nullopt;
    request.kernel_id = field(*kernel, "id").value_or("");
    request.kernel_name = field(*kernel, "name").value_or("");
    if (const auto env = kernel->find("env"); env != kernel->end() && !env->is_null())
      request.env = env->dump();
  }
  return ok ? std::optional(std::move(request)) : std::nullopt;
}

}  // namespace

GatewaySession* GatewayMachine::with_notebook(const std::function<bool(const Notebook&)>& matches) {
  for (auto& [id, session] : sessions_) {
    if (session->exists() && session->record().notebook && matches(*session->record().notebook))
      return session.get();
  }
  return nullptr;
}

std::optional<GatewayMachine::Answer> GatewayMachine::notebooks(const HttpRequest& request,
                                                                const HttpTarget&) {
  if (request.method == "GET") return Answer{200, notebook_models(sessions_), {}};
  if (request.method == "POST") return create_notebook(request);
  return error(405, "Use GET or POST.");
}

std::optional<GatewayMachine::Answer> GatewayMachine::create_notebook(const HttpRequest& request) {
  const auto wanted = parse(request.body);
  if (!wanted) return error(400, "The body must be a JSON object with path, name, type and kernel.");
  if (!wanted->path || wanted->path->empty()) return error(400, "'path' is missing.");
  if (GatewaySession* const known = with_notebook([&](const Notebook& n) { return n.path == *wanted->path; }))
    return Answer{
        201, notebook_model(*known), {{"Location", "/api/sessions/" + known->record().notebook->id}}};
  const Notebook notebook{context_.rng().uuid(), *wanted->path, wanted->name.value_or(""),
                          wanted->type.value_or("notebook")};
  if (!wanted->kernel_id.empty()) {
    GatewaySession* const kernel = existing({lower(wanted->kernel_id)});
    if (kernel == nullptr) return error(404, "There is no kernel " + wanted->kernel_id + ".");
    kernel->set_notebook(notebook);
    return Answer{201, notebook_model(*kernel), {{"Location", "/api/sessions/" + notebook.id}}};
  }
  auto spec = spec_from(wanted->kernel_name, wanted->env);
  if (!spec) return error(400, spec.error().message);
  create({.answer = Creation::Answer::kNotebook,
          .request = request.id,
          .spec = std::move(*spec),
          .notebook = notebook});
  return std::nullopt;
}

std::optional<GatewayMachine::Answer> GatewayMachine::notebook(const HttpRequest& request,
                                                               const HttpTarget& target) {
  GatewaySession* const current = with_notebook([&](const Notebook& n) { return n.id == target.word(2); });
  if (current == nullptr)
    return error(404, "There is no session " + target.word(2) + "; GET /api/sessions lists them.");
  if (request.method == "GET") return Answer{200, notebook_model(*current), {}};
  if (request.method == "PATCH") return change_notebook(request, *current);
  if (request.method != "DELETE") return error(405, "Use GET, PATCH or DELETE.");
  end_session(current->id());
  return Answer{204, {}, {}};
}

/// Renames the notebook, or gives it another kernel; the kernel it had is shut down.
std::optional<GatewayMachine::Answer> GatewayMachine::change_notebook(const HttpRequest& request,
                                                                      GatewaySession& current) {
  const auto wanted = parse(request.body);
  if (!wanted) return error(400, "The body must be a JSON object.");
  Notebook notebook = *current.record().notebook;
  notebook.path = wanted->path.value_or(notebook.path);
  notebook.name = wanted->name.value_or(notebook.name);
  notebook.type = wanted->type.value_or(notebook.type);
  if (!wanted->kernel_id.empty() && lower(wanted->kernel_id) != current.id().value) {
    GatewaySession* const kernel = existing({lower(wanted->kernel_id)});
    if (kernel == nullptr) return error(404, "There is no kernel " + wanted->kernel_id + ".");
    kernel->set_notebook(notebook);
    end_session(current.id());
    return Answer{200, notebook_model(*kernel), {}};
  }
  if (wanted->kernel_id.empty() && !wanted->kernel_name.empty()) {
    auto spec = spec_from(wanted->kernel_name, wanted->env);
    if (!spec) return error(400, spec.error().message);
    create({.answer = Creation::Answer::kNotebook,
            .request = request.id,
            .spec = std::move(*spec),
            .notebook = std::move(notebook),
            .replaces = current.id()});
    return std::nullopt;
  }
  current.set_notebook(std::move(notebook));
  return Answer{200, notebook_model(current), {}};
}

}  // namespace banyan::node
