#include "node/gateway_notebooks.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "node/gateway_models.h"

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

GatewaySession* NotebooksApi::with_notebook(const std::function<bool(const Notebook&)>& matches) {
  for (const auto& [id, session] : sessions_.all()) {
    if (session->exists() && session->record().notebook && matches(*session->record().notebook))
      return session.get();
  }
  return nullptr;
}

AnswerNow NotebooksApi::all(const HttpRequest& request) {
  if (request.method == "GET") return Answer{200, notebook_models(sessions_), {}};
  if (request.method == "POST") return create(request);
  return error_answer(405, "Use GET or POST.");
}

AnswerNow NotebooksApi::create(const HttpRequest& request) {
  const auto wanted = parse(request.body);
  if (!wanted) return error_answer(400, "The body must be a JSON object with path, name, type and kernel.");
  if (!wanted->path || wanted->path->empty()) return error_answer(400, "'path' is missing.");
  if (GatewaySession* const known = with_notebook([&](const Notebook& n) { return n.path == *wanted->path; }))
    return Answer{
        201, notebook_model(*known), {{"Location", "/api/sessions/" + known->record().notebook->id}}};
  const Notebook notebook{gateway_.rng().uuid(), *wanted->path, wanted->name.value_or(""),
                          wanted->type.value_or("notebook")};
  if (!wanted->kernel_id.empty()) {
    GatewaySession* const kernel = sessions_.existing({lower(wanted->kernel_id)});
    if (kernel == nullptr) return error_answer(404, "There is no kernel " + wanted->kernel_id + ".");
    kernel->set_notebook(notebook);
    return Answer{201, notebook_model(*kernel), {{"Location", "/api/sessions/" + notebook.id}}};
  }
  auto spec = creations_.spec_from(wanted->kernel_name, wanted->env);
  if (!spec) return error_answer(400, spec.error().message);
  creations_.create({.shown = WantedKernel::Shown::kNotebook,
                     .request = request.id,
                     .spec = std::move(*spec),
                     .notebook = notebook});
  return std::nullopt;
}

AnswerNow NotebooksApi::one(const HttpRequest& request, const HttpTarget& target) {
  GatewaySession* const current = with_notebook([&](const Notebook& n) { return n.id == target.word(2); });
  if (current == nullptr)
    return error_answer(404, "There is no session " + target.word(2) + "; GET /api/sessions lists them.");
  if (request.method == "GET") return Answer{200, notebook_model(*current), {}};
  if (request.method == "PATCH") return change(request, *current);
  if (request.method != "DELETE") return error_answer(405, "Use GET, PATCH or DELETE.");
  sessions_.end(current->id());
  return Answer{204, {}, {}};
}

/// Renames the notebook, or gives it another kernel; the kernel it had is shut down.
AnswerNow NotebooksApi::change(const HttpRequest& request, GatewaySession& current) {
  const auto wanted = parse(request.body);
  if (!wanted) return error_answer(400, "The body must be a JSON object.");
  Notebook notebook = *current.record().notebook;
  notebook.path = wanted->path.value_or(notebook.path);
  notebook.name = wanted->name.value_or(notebook.name);
  notebook.type = wanted->type.value_or(notebook.type);
  if (!wanted->kernel_id.empty() && lower(wanted->kernel_id) != current.id().value) {
    GatewaySession* const kernel = sessions_.existing({lower(wanted->kernel_id)});
    if (kernel == nullptr) return error_answer(404, "There is no kernel " + wanted->kernel_id + ".");
    kernel->set_notebook(notebook);
    sessions_.end(current.id());
    return Answer{200, notebook_model(*kernel), {}};
  }
  if (wanted->kernel_id.empty() && !wanted->kernel_name.empty()) {
    auto spec = creations_.spec_from(wanted->kernel_name, wanted->env);
    if (!spec) return error_answer(400, spec.error().message);
    creations_.create({.shown = WantedKernel::Shown::kNotebook,
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
