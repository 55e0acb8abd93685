#include "node/gateway_notebooks.h"

#include <utility>

#include "core/api/jupyter.h"
#include "node/gateway_models.h"

namespace banyan::node {

namespace {

/// What an earlier form of the request says in `notebook` counts where the present one says nothing.
api::WantedNotebook in_present_form(api::WantedNotebook wanted) {
  if (!wanted.notebook) return wanted;
  if (!wanted.path) wanted.path = wanted.notebook->path;
  if (!wanted.name) wanted.name = wanted.notebook->name;
  return wanted;
}

std::string kernel_id(const api::WantedNotebook& wanted) {
  return wanted.kernel ? lower(wanted.kernel->id.value_or("")) : std::string();
}

Answer answer_of(int status, const GatewaySession& session) {
  return {status, api::to_text(notebook_model(session))};
}

}  // namespace

void NotebooksApi::add_to(Routes& routes) {
  routes.add({.method = "GET",
              .path = "/api/sessions",
              .id = "notebooks",
              .summary = "The notebooks that have a kernel.",
              .replies = {api::json_reply<std::vector<api::NotebookSession>>(200, "All that there are.")}},
             [this](const Call&) { return Answer{200, api::to_text(notebook_models(sessions_))}; });
  routes.add<api::WantedNotebook>(
      {.method = "POST",
       .path = "/api/sessions",
       .id = "newNotebook",
       .summary = "Gives a notebook a kernel, or says which one it has.",
       .replies = {api::json_reply<api::NotebookSession>(201, "The notebook and its kernel.")}},
      [this](const Call& call, api::WantedNotebook wanted) {
        return create(call, in_present_form(std::move(wanted)));
      });
  routes.add({.method = "GET",
              .path = "/api/sessions/{notebook}",
              .id = "notebook",
              .summary = "One notebook.",
              .replies = {api::json_reply<api::NotebookSession>(200, "The notebook and its kernel.")}},
             [this](const Call& call) {
               return with(call, [](GatewaySession& session) { return answer_of(200, session); });
             });
  routes.add<api::WantedNotebook>(
      {.method = "PATCH",
       .path = "/api/sessions/{notebook}",
       .id = "changeNotebook",
       .summary = "Renames a notebook, or gives it another kernel: the one that it had is shut down.",
       .replies = {api::json_reply<api::NotebookSession>(200, "The notebook and its kernel.")}},
      [this](const Call& call, api::WantedNotebook wanted) {
        return with(call, [&](GatewaySession& current) {
          return change(call, in_present_form(std::move(wanted)), current);
        });
      });
  routes.add({.method = "DELETE",
              .path = "/api/sessions/{notebook}",
              .id = "endNotebook",
              .summary = "Shuts the notebook's kernel down.",
              .replies = {{204, "It is gone."}}},
             [this](const Call& call) {
               return with(call, [&](GatewaySession& current) {
                 sessions_.end(current.id(), call.request.id);
                 return AnswerNow();
               });
             });
}

GatewaySession* NotebooksApi::with_notebook(const std::function<bool(const Notebook&)>& matches) {
  for (const auto& [id, session] : sessions_.all()) {
    if (session->exists() && session->record().notebook && matches(*session->record().notebook))
      return session.get();
  }
  return nullptr;
}

AnswerNow NotebooksApi::with(const Call& call, const std::function<AnswerNow(GatewaySession&)>& action) {
  const std::string id = call.word("notebook");
  GatewaySession* const current = with_notebook([&](const Notebook& n) { return n.id == id; });
  if (current == nullptr)
    return error_answer(404, "There is no session " + id + "; GET /api/sessions lists them.");
  return action(*current);
}

AnswerNow NotebooksApi::create(const Call& call, const api::WantedNotebook& wanted) {
  if (!wanted.path || wanted.path->empty()) return error_answer(400, "'path' is missing.");
  const auto created = [](const GatewaySession& session) {
    Answer answer = answer_of(201, session);
    answer.headers["Location"] = "/api/sessions/" + session.record().notebook->id;
    return answer;
  };
  if (GatewaySession* const known = with_notebook([&](const Notebook& n) { return n.path == *wanted.path; }))
    return created(*known);
  const Notebook notebook{gateway_.rng().uuid(), *wanted.path, wanted.name.value_or(""),
                          wanted.type.value_or("notebook")};
  if (const std::string id = kernel_id(wanted); !id.empty()) {
    GatewaySession* const kernel = sessions_.existing({id});
    if (kernel == nullptr) return error_answer(404, "There is no kernel " + id + ".");
    kernel->set_notebook(notebook);
    return created(*kernel);
  }
  return start(call, wanted, notebook, std::nullopt);
}

/// Starts the kernel that is wanted, for the notebook; `replaces` is the one that it had.
AnswerNow NotebooksApi::start(const Call& call, const api::WantedNotebook& wanted, Notebook notebook,
                              std::optional<SessionId> replaces) {
  const api::KernelOfNotebook kernel = wanted.kernel.value_or(api::KernelOfNotebook{});
  auto spec = creations_.spec_from(kernel.name.value_or(""), kernel.env);
  if (!spec) return error_answer(400, spec.error().message);
  creations_.create({.shown = WantedKernel::Shown::kNotebook,
                     .request = call.request.id,
                     .spec = std::move(*spec),
                     .notebook = std::move(notebook),
                     .replaces = std::move(replaces)});
  return std::nullopt;
}

AnswerNow NotebooksApi::change(const Call& call, const api::WantedNotebook& wanted, GatewaySession& current) {
  Notebook notebook = *current.record().notebook;
  notebook.path = wanted.path.value_or(notebook.path);
  notebook.name = wanted.name.value_or(notebook.name);
  notebook.type = wanted.type.value_or(notebook.type);
  const std::string id = kernel_id(wanted);
  if (!id.empty() && id != current.id().value) {
    GatewaySession* const kernel = sessions_.existing({id});
    if (kernel == nullptr) return error_answer(404, "There is no kernel " + id + ".");
    kernel->set_notebook(notebook);
    sessions_.end(current.id());
    return answer_of(200, *kernel);
  }
  if (id.empty() && wanted.kernel && !wanted.kernel->name.value_or("").empty())
    return start(call, wanted, std::move(notebook), current.id());
  current.set_notebook(std::move(notebook));
  return answer_of(200, current);
}

}  // namespace banyan::node
