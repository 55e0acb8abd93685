#include "node/gateway_kernels.h"

#include <algorithm>
#include <utility>

#include "core/api/jupyter.h"
#include "node/gateway_models.h"

namespace banyan::node {

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

void KernelsApi::add_to(Routes& routes) {
  add_kernels(routes);
  add_specs(routes);
}

void KernelsApi::add_kernels(Routes& routes) {
  routes.add({.method = "GET",
              .path = "/api/kernels",
              .id = "kernels",
              .summary = "All kernels.",
              .replies = {api::json_reply<std::vector<api::Kernel>>(200, "All that there are.")}},
             [this](const Call&) { return Answer{200, api::to_text(kernel_models(sessions_))}; });
  routes.add<api::NewKernel>(
      {.method = "POST",
       .path = "/api/kernels",
       .id = "newKernel",
       .summary = "Starts a kernel.",
       .replies = {api::json_reply<api::Kernel>(201, "The kernel; it need not be ready.")}},
      [this](const Call& call, const api::NewKernel& wanted) { return create(call, wanted); });
  routes.add({.method = "GET",
              .path = "/api/kernels/{kernel}",
              .id = "kernel",
              .summary = "One kernel.",
              .replies = {api::json_reply<api::Kernel>(200, "The kernel.")}},
             [this](const Call& call) {
               return with_kernel(call, [](GatewaySession& kernel) {
                 return Answer{200, api::to_text(kernel_model(kernel))};
               });
             });
  routes.add({.method = "DELETE",
              .path = "/api/kernels/{kernel}",
              .id = "endKernel",
              .summary = "Shuts a kernel down and forgets its variables and its history.",
              .replies = {{204, "It is gone."}}},
             [this](const Call& call) {
               return with_kernel(call, [&](GatewaySession& kernel) {
                 sessions_.end(kernel.id(), call.request.id);
                 return AnswerNow();
               });
             });
  routes.add<api::Anything>({.method = "POST",
                             .path = "/api/kernels/{kernel}/interrupt",
                             .id = "interruptKernel",
                             .summary = "Stops the cell that runs.",
                             .replies = {{204, "It was asked to stop."}}},
                            [this](const Call& call, const api::Anything&) {
                              return with_kernel(call, [](GatewaySession& kernel) {
                                kernel.channels().interrupt();
                                return Answer{204};
                              });
                            });
  routes.add<api::Anything>(
      {.method = "POST",
       .path = "/api/kernels/{kernel}/restart",
       .id = "restartKernel",
       .summary = "Forgets all variables; the history stays.",
       .replies = {api::json_reply<api::Kernel>(200, "The kernel, when the log has it.")}},
      [this](const Call& call, const api::Anything&) {
        return with_kernel(call, [&](GatewaySession& kernel) {
          kernel.restart(call.request.id);
          return AnswerNow();
        });
      });
  routes.add({.method = "GET",
              .path = "/api/kernels/{kernel}/channels",
              .id = "channels",
              .summary = "A WebSocket with the kernel's messages, for requests with Upgrade.",
              .query = {{"session_id", "of the client; it finds what it missed under the same id"}},
              .replies = {{101, "The WebSocket."}}},
             [this](const Call& call) {
               return with_kernel(call, [](GatewaySession&) {
                 return error_answer(400, "This is a WebSocket: connect to it with an Upgrade request.");
               });
             });
}

void KernelsApi::add_specs(Routes& routes) {
  routes.add(
      {.method = "GET",
       .path = "/api/kernelspecs",
       .id = "kernelSpecs",
       .summary = "The kernels that can be started.",
       .replies = {api::json_reply<api::KernelSpecs>(200, "All kernelspecs.")}},
      [this](const Call&) { return Answer{200, api::to_text(kernel_spec_models(gateway_.config()))}; });
  routes.add({.method = "GET",
              .path = "/api/kernelspecs/{spec}",
              .id = "kernelSpec",
              .summary = "One kernelspec.",
              .replies = {api::json_reply<api::KernelSpecModel>(200, "The kernelspec.")}},
             [this](const Call& call) { return spec(call); });
  routes.add({.method = "GET",
              .path = "/kernelspecs/{spec}/{file}",
              .id = "kernelSpecFile",
              .summary = "A logo, or code of a front end.",
              .replies = {{200, "The file.", api::Body{std::string(api::kBytes)}}}},
             [this](const Call& call) { return spec_file(call); });
}

AnswerNow KernelsApi::create(const Call& call, const api::NewKernel& wanted) {
  auto spec = creations_.spec_from(wanted.name.value_or(""), wanted.env);
  if (!spec) return error_answer(400, spec.error().message);
  creations_.create({.request = call.request.id, .spec = std::move(*spec)});
  return std::nullopt;
}

AnswerNow KernelsApi::with_kernel(const Call& call, const std::function<AnswerNow(GatewaySession&)>& action) {
  const std::string id = call.word("kernel");
  GatewaySession* const found = sessions_.existing({id});
  if (found == nullptr)
    return error_answer(404, "There is no kernel " + id + "; GET /api/kernels lists them.");
  return action(*found);
}

AnswerNow KernelsApi::spec(const Call& call) {
  for (const KernelSpec& spec : gateway_.config().kernel_specs) {
    if (lower(spec.name) == call.word("spec")) return Answer{200, api::to_text(kernel_spec_model(spec))};
  }
  return error_answer(
      404, "There is no kernelspec '" + call.parts.at("spec") + "'; GET /api/kernelspecs lists them.");
}

AnswerNow KernelsApi::spec_file(const Call& call) {
  for (const KernelSpec& spec : gateway_.config().kernel_specs) {
    if (lower(spec.name) != call.word("spec")) continue;
    const auto file = spec.files.find(call.parts.at("file"));
    if (file == spec.files.end()) break;
    return Answer{200, file->second, {{"Content-Type", content_type(file->first)}}};
  }
  return error_answer(404, "There is no such file of a kernelspec.");
}

}  // namespace banyan::node
