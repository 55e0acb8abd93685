#include "node/gateway_creation.h"

#include <algorithm>
#include <utility>

#include "node/gateway_models.h"

namespace banyan::node {

namespace {

constexpr std::size_t kShown = 40;  // bytes of what somebody said

Answer stray_answer(const SessionId& id) {
  return error_answer(409, "Hosts have a kernel " + id.value +
                               " that the control store does not know (`banyan hosts` names it). Delete it "
                               "first: DELETE /api/banyan/strays/ID.");
}

}  // namespace

Result<session::Spec> Creations::spec_from(
    const std::string& kernel_name, const std::optional<std::map<std::string, std::string>>& env) const {
  const GatewayConfig& config = gateway_.config();
  session::Spec spec{.kernel_name = kernel_name.empty() ? config.default_kernel : kernel_name,
                     .working_directory = {},
                     .env = {},
                     .keep = config.keep,
                     .standbys = config.standbys,
                     .durability = config.durability};
  const auto kernel = std::ranges::find(config.kernel_specs, spec.kernel_name, &KernelSpec::name);
  if (kernel == config.kernel_specs.end())
    return fail(ErrorKind::kInvalid, "There is no kernelspec '" + spec.kernel_name +
                                         "'; GET /api/kernelspecs lists those that there are.");
  if (kernel->durability) spec.durability = *kernel->durability;
  if (env) spec.env = *env;
  if (const auto directory = spec.env.find("KERNEL_WORKING_DIR"); directory != spec.env.end())
    spec.working_directory = directory->second;
  if (const auto said = spec.env.find("KERNEL_DURABILITY"); said != spec.env.end()) {
    if (said->second != "sync" && said->second != "async")
      return fail(ErrorKind::kInvalid, "KERNEL_DURABILITY in 'env' must be 'sync' or 'async', not '" +
                                           said->second.substr(0, kShown) + "'.");
    spec.durability = said->second == "sync" ? session::Durability::kSync : session::Durability::kAsync;
  }
  const std::string& usual = kernel->policy.empty() ? config.session_policy : kernel->policy;
  const std::string named = spec.env.try_emplace(kPolicyVariable, usual).first->second.substr(0, kShown);
  const auto policy = schedule::SessionPolicy::parse(named);
  if (!policy)
    return fail(ErrorKind::kInvalid,
                std::string(kPolicyVariable) + " in 'env': " + policy.error().message + ".");
  if (named == "replicated") spec.env.erase(kPolicyVariable);
  // Hosts look there: how a worker begins is not in the log.
  if (policy->begins_bare) spec.env[std::string(session::kImportAhead)] = "0";
  return spec;
}

void Creations::create(WantedKernel wanted) {
  SessionId id{gateway_.rng().uuid()};
  if (const auto named = wanted.spec.env.find("KERNEL_ID"); named != wanted.spec.env.end()) {
    id = {lower(named->second)};
    if (!is_uuid(id.value))
      return reply(wanted.request, error_answer(400, "KERNEL_ID in 'env' must be a UUID."));
    if (waiting_.contains(id) || sessions_.find(id) != nullptr || founded_.damaged(id))
      return reply(wanted.request, error_answer(409, "There is a kernel " + id.value + " already."));
  }
  if (founded_.strayed(id)) return reply(wanted.request, stray_answer(id));
  schedule::SessionAsked asked{.session = id, .kind = gateway_.kind_of(wanted.spec)};
  waiting_.emplace(std::move(id), std::move(wanted));
  gateway_.tell(std::move(asked));
}

/// Hosts may not have heard yet that an earlier session of the same id has ended. What its replicas say to
/// each other and to the gateway must not be taken for the word of the new ones, which therefore have other
/// ids.
std::uint64_t Creations::first_replica(const session::Spec& spec) {
  constexpr int kUnusedBits = 16;  // so that there are always ids left to count up to
  return spec.env.contains("KERNEL_ID") ? (gateway_.rng().next() >> kUnusedBits) | 1 : 1;
}

void Creations::on_stray(const SessionId& id) {
  if (sessions_.find(id) != nullptr) return;
  const auto waiting = waiting_.extract(id);
  if (waiting.empty()) return;
  reply(waiting.mapped().request, stray_answer(id));
  gateway_.tell(schedule::SessionClosed{id});
}

void Creations::on_place(const schedule::PlaceSession& decision) {
  const auto found = waiting_.find(decision.session);
  if (found == waiting_.end()) return gateway_.tell(schedule::SessionClosed{decision.session});
  const WantedKernel& wanted = found->second;
  SessionRecord record{.id = decision.session,
                       .founding = founded_.next(),
                       .spec = wanted.spec,
                       .next_replica = first_replica(wanted.spec),
                       .created = gateway_.now().wall};
  record.notebook = wanted.notebook;
  for (const HostId& host : decision.hosts) {
    const ReplicaId replica{record.next_replica++};
    record.members[replica] = {.host = host, .open = false, .joining = false};
    record.committed[replica] = host;
  }
  sessions_.add(std::move(record)).found();
  founded_.store_count();
}

void Creations::on_refuse(const schedule::RefuseSession& decision) {
  const auto refused = waiting_.extract(decision.session);
  if (!refused.empty()) reply(refused.mapped().request, error_answer(503, decision.reason));
}

void Creations::on_founded(GatewaySession& session) {
  const auto found = waiting_.extract(session.id());
  if (found.empty()) return;
  const WantedKernel& wanted = found.mapped();
  if (wanted.replaces && sessions_.existing(*wanted.replaces) != nullptr) sessions_.end(*wanted.replaces);
  if (wanted.shown == WantedKernel::Shown::kNotebook) {
    const int status = wanted.replaces ? 200 : 201;
    reply(wanted.request, {status,
                           api::to_text(notebook_model(session)),
                           {{"Location", "/api/sessions/" + wanted.notebook->id}}});
  } else {
    reply(wanted.request,
          {201, api::to_text(kernel_model(session)), {{"Location", "/api/kernels/" + session.id().value}}});
  }
}

void Creations::reply(RequestId request, Answer answer) {
  gateway_.emit(reply_of(request, std::move(answer)));
}

}  // namespace banyan::node
