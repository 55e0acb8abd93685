// New kernels: placed on hosts, written down, opened, answered.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "node/gateway_kernels.h"
#include "node/gateway_machine.h"

namespace banyan::node {

using nlohmann::json;

namespace {
constexpr Duration kHostsPatience = 10s;  // a platform that is just starting
constexpr Duration kFullPatience = 1s;    // for the last host; after that a majority is enough
constexpr Duration kCheckPatience =
    5s;  // for hosts to try a kernel's Python; after that they are believed able
}  // namespace

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

/// Answers now or later: a client that started together with the platform gets its kernel, not an error.
void GatewayMachine::create(Creation creation) {
  SessionId id{context_.rng().uuid()};
  if (const auto named = creation.spec.env.find("KERNEL_ID"); named != creation.spec.env.end()) {
    id = {lower(named->second)};
    if (!is_uuid(id.value)) return reply(creation.request, error(400, "KERNEL_ID in 'env' must be a UUID."));
    const bool waiting = std::any_of(waiting_creations_.begin(), waiting_creations_.end(),
                                     [&](const Creation& other) { return other.id == id; });
    if (waiting || session(id) != nullptr || damaged_.contains(id))
      return reply(creation.request, error(409, "There is a kernel " + id.value + " already."));
  }
  creation.id = std::move(id);
  creation.since = context_.now().mono;
  waiting_creations_.push_back(std::move(creation));
  advance_creations();
}

void GatewayMachine::advance_creations() {
  std::vector<Creation> still_waiting;
  for (Creation& creation : std::exchange(waiting_creations_, {})) {
    if (strayed(creation.id)) {
      reply(
          creation.request,
          error(409, "Hosts have a kernel " + creation.id.value +
                         " that the control store does not know (`banyan hosts` names it). Delete it first: "
                         "DELETE /api/banyan/strays/ID."));
    } else if (auto nobody = no_host_runs(context_, creation.spec.kernel_name)) {
      reply(creation.request, error(503, *nobody));
    } else if (place(creation)) {
      written_creations_.emplace(creation.id, std::move(creation));
    } else if (context_.now().mono - creation.since < kHostsPatience) {
      still_waiting.push_back(std::move(creation));
    } else {
      std::string up;
      for (const auto& [host, peer] : context_.hosts()) {
        const auto kernel = kernel_on(context_, host, creation.spec.kernel_name);
        if (context_.usable(host) && kernel.state != KernelState::kCannot)
          up += (up.empty() ? "" : ", ") + host.value;
      }
      reply(creation.request,
            error(503, "Too few hosts are up to hold a kernel of " +
                           std::to_string(context_.config().replicas) +
                           " replicas (up: " + (up.empty() ? "none" : up) +
                           "). Start host agents; `banyan hosts` shows them. Then try again." +
                           hosts_unable(context_, creation.spec.kernel_name)));
    }
  }
  for (Creation& creation : still_waiting) waiting_creations_.push_back(std::move(creation));
}

/// On as many hosts as the configuration asks for, of those that can run the kernel; on a majority of them
/// when no more come up. Such a session grows later. False when it has to wait.
bool GatewayMachine::place(const Creation& creation) {
  const Duration waited = context_.now().mono - creation.since;
  std::uint64_t able = 0;  // also those of which it is not known yet
  std::vector<std::pair<std::string, placement::HostLoad>> up;
  for (const auto& [host, peer] : context_.hosts()) {
    const KernelReport kernel = kernel_on(context_, host, creation.spec.kernel_name);
    if (kernel.state == KernelState::kCannot) continue;
    ++able;
    const bool tried = kernel.state == KernelState::kRuns || waited >= kCheckPatience;
    if (context_.usable(host) && tried) up.emplace_back(minor_version(kernel.python), context_.load_of(host));
  }
  // Of one Python: the values that one makes another may not load.
  std::map<std::string, std::size_t> pythons;
  for (const auto& [python, load] : up)
    if (!python.empty()) ++pythons[python];
  const auto most = std::ranges::max_element(pythons, {}, [](const auto& item) { return item.second; });
  std::erase_if(up, [&](const auto& one) { return !one.first.empty() && one.first != most->first; });

  const std::uint64_t target = std::min<std::uint64_t>(context_.config().replicas, able);
  const bool all = up.size() >= target;
  if (target == 0 || up.size() < target / 2 + 1 || (!all && waited < kFullPatience)) return false;
  placement::Snapshot snapshot{.hosts = {}, .wanted = target};
  for (auto& [python, load] : up) snapshot.hosts.push_back(std::move(load));

  const std::uint64_t number = ++founded_[life_];
  SessionRecord record{.id = creation.id,
                       .founding = {.life = life_, .number = number},
                       .spec = creation.spec,
                       .created = context_.now().wall};
  record.notebook = creation.notebook;
  for (const HostId& host : context_.placement().place(snapshot)) {
    const ReplicaId replica{record.next_replica++};
    record.members[replica] = {.host = host, .open = false, .joining = false};
    record.committed[replica] = host;
  }
  auto founded = std::make_unique<GatewaySession>(context_, std::move(record));
  founded->found();
  context_.store(founded_key(life_), founded_record(number));
  sessions_.emplace(creation.id, std::move(founded));
  return true;
}

/// Its record is durable and its replicas are asked to open.
void GatewayMachine::created(GatewaySession& session) {
  const auto found = written_creations_.find(session.id());
  if (found == written_creations_.end()) return;
  const Creation creation = std::move(found->second);
  written_creations_.erase(found);
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
