// New kernels: placed on hosts, written down, opened, answered.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "node/gateway_machine.h"

namespace banyan::node {

using nlohmann::json;

/// `env_json`: the "env" object of the request, empty for none.
Result<session::Spec> GatewayMachine::spec_from(const std::string& kernel_name,
                                                const std::string& env_json) const {
  const GatewayConfig& config = context_.config();
  session::Spec spec{.kernel_name = kernel_name.empty() ? config.default_kernel : kernel_name,
                     .working_directory = {},
                     .env = {},
                     .keep = config.keep,
                     .standbys = config.standbys};
  const bool known = std::any_of(config.kernel_specs.begin(), config.kernel_specs.end(),
                                 [&](const KernelSpec& one) { return one.name == spec.kernel_name; });
  if (!known)
    return fail(ErrorKind::kInvalid, "There is no kernelspec '" + spec.kernel_name +
                                         "'; GET /api/kernelspecs lists those that there are.");
  if (env_json.empty()) return spec;
  const json env = json::parse(env_json, nullptr, false);
  if (!env.is_object()) return fail(ErrorKind::kInvalid, "'env' must be an object of texts.");
  for (const auto& [name, value] : env.items()) {
    if (!value.is_string())
      return fail(ErrorKind::kInvalid, "The value of '" + name + "' in 'env' must be a text.");
    spec.env[name] = value.get<std::string>();
  }
  if (const auto directory = spec.env.find("KERNEL_WORKING_DIR"); directory != spec.env.end())
    spec.working_directory = directory->second;
  return spec;
}

/// Answered when the scheduler has decided: a client that started together with the platform gets its
/// kernel, not an error.
void GatewayMachine::create(Creation creation) {
  SessionId id{context_.rng().uuid()};
  if (const auto named = creation.spec.env.find("KERNEL_ID"); named != creation.spec.env.end()) {
    id = {lower(named->second)};
    if (!is_uuid(id.value)) return reply(creation.request, error(400, "KERNEL_ID in 'env' must be a UUID."));
    if (creations_.contains(id) || session(id) != nullptr || founded_.damaged(id))
      return reply(creation.request, error(409, "There is a kernel " + id.value + " already."));
  }
  creation.id = id;
  if (founded_.strayed(id)) return reply(creation.request, stray_answer(id));
  schedule::SessionAsked asked{.session = id, .kernel = creation.spec.kernel_name};
  creations_.emplace(std::move(id), std::move(creation));
  context_.tell(std::move(asked));
}

GatewayMachine::Answer GatewayMachine::stray_answer(const SessionId& id) {
  return error(409, "Hosts have a kernel " + id.value +
                        " that the control store does not know (`banyan hosts` names it). Delete it first: "
                        "DELETE /api/banyan/strays/ID.");
}

/// A host has said that it holds a session of this id, which a new one was to get.
void GatewayMachine::refuse_strayed(const SessionId& id) {
  if (session(id) != nullptr) return;
  const auto waiting = creations_.extract(id);
  if (waiting.empty()) return;
  reply(waiting.mapped().request, stray_answer(id));
  context_.tell(schedule::SessionClosed{id});
}

void GatewayMachine::carry_out(schedule::PlaceSession& decision) {
  const auto found = creations_.find(decision.session);
  if (found == creations_.end()) return context_.tell(schedule::SessionClosed{decision.session});
  const Creation& creation = found->second;
  SessionRecord record{
      .id = creation.id, .founding = founded_.next(), .spec = creation.spec, .created = context_.now().wall};
  record.notebook = creation.notebook;
  for (const HostId& host : decision.hosts) {
    const ReplicaId replica{record.next_replica++};
    record.members[replica] = {.host = host, .open = false, .joining = false};
    record.committed[replica] = host;
  }
  auto founded = std::make_unique<GatewaySession>(context_, std::move(record));
  founded->found();
  founded_.store_count();
  sessions_.emplace(creation.id, std::move(founded));
}

void GatewayMachine::carry_out(schedule::RefuseSession& decision) {
  const auto refused = creations_.extract(decision.session);
  if (!refused.empty()) reply(refused.mapped().request, error(503, decision.reason));
}

/// Its record is durable and its replicas are asked to open.
void GatewayMachine::created(GatewaySession& session) {
  const auto found = creations_.extract(session.id());
  if (found.empty()) return;
  const Creation& creation = found.mapped();
  if (creation.replaces && existing(*creation.replaces) != nullptr) end_session(*creation.replaces);
  if (creation.answer == Creation::Answer::kNotebook) {
    const int status = creation.replaces ? 200 : 201;
    reply(creation.request,
          {status, notebook_model(session), {{"Location", "/api/sessions/" + creation.notebook->id}}});
  } else {
    reply(creation.request,
          {201, kernel_model(session), {{"Location", "/api/kernels/" + session.id().value}}});
  }
}

}  // namespace banyan::node
