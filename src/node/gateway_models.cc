#include "node/gateway_models.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "node/gateway_messages.h"

namespace banyan::node {

using nlohmann::json;

namespace {

json kernel_json(const GatewaySession& session) {
  json model = {{"id", session.id().value},
                {"name", session.record().spec.kernel_name},
                {"last_activity", jupyter::iso8601(session.last_activity())},
                {"execution_state", session.state()},
                {"connections", session.clients().connections()}};
  if (const std::string reason = session.reason(); !reason.empty()) model["reason"] = reason;
  return model;
}

json notebook_json(const GatewaySession& session) {
  const Notebook& notebook = *session.record().notebook;
  json model = {{"id", notebook.id},
                {"path", notebook.path},
                {"name", notebook.name},
                {"type", notebook.type},
                {"kernel", kernel_json(session)}};
  if (notebook.type == "notebook") model["notebook"] = {{"path", notebook.path}, {"name", notebook.name}};
  return model;
}

json spec_json(const KernelSpec& spec) {
  json resources = json::object();
  for (const auto& [file, bytes] : spec.files) {
    // A logo is known by its name without the ending, kernel.js and kernel.css by their whole names.
    const std::string key = file.starts_with("logo-") ? file.substr(0, file.rfind('.')) : file;
    resources[key] = "/kernelspecs/" + spec.name + "/" + file;
  }
  json content = json::parse(spec.spec_json, nullptr, false);
  if (!content.is_object()) content = json::object();
  return {{"name", spec.name}, {"spec", std::move(content)}, {"resources", std::move(resources)}};
}

std::string_view name_of(WorkerState state) {
  switch (state) {
    case WorkerState::kNone:
      return "none";
    case WorkerState::kStarting:
      return "starting";
    case WorkerState::kReady:
      return "ready";
    case WorkerState::kBusy:
      return "busy";
  }
  return "unknown";
}

json replica_json(const GatewayContext& gateway, const GatewaySession& session, ReplicaId replica,
                  const MemberRecord& member) {
  const ReplicaReport* const report = session.reports().on(member.host);
  const ReplicaReport* const newest = session.reports().newest();
  const auto executor = session.cells().executor();
  std::string_view role = "standby";
  if (member.joining) role = "joining";
  if (executor == member.host) role = "executor";
  json model = {{"replica", replica.value},
                {"host", member.host.value},
                {"role", role},
                {"up", gateway.usable(member.host)},
                {"leader", newest != nullptr && newest->leader == replica}};
  model["worker"] = report == nullptr ? "none" : name_of(report->worker);
  model["pid"] = report == nullptr ? 0 : report->worker_pid;
  model["last_commit"] = report == nullptr ? 0 : report->last.value;
  model["lacking"] = report == nullptr ? json() : json(report->lacking);
  model["lost"] = report == nullptr ? 0 : report->lost;
  return model;
}

/// How the executor's variables were brought there last, or how far some replica is with them; null when
/// there is nothing to tell.
json view_json(const GatewaySession& session) {
  for (const auto& [replica, member] : session.record().members) {
    const ReplicaReport* const report = session.reports().on(member.host);
    if (report == nullptr || !report->building) continue;
    return {{"building", report->building->what},
            {"host", member.host.value},
            {"percent", report->building->percent},
            {"left_ms", report->building->left_us / 1000}};
  }
  const auto executor = session.cells().executor();
  const ReplicaReport* const report = executor ? session.reports().on(*executor) : nullptr;
  if (report == nullptr || !report->built) return {};
  const ViewBuilt& built = *report->built;
  return {{"predicted_ms", built.predicted_us / 1000},
          {"took_ms", built.took_us / 1000},
          {"values", built.values},
          {"bytes", built.bytes},
          {"cells", built.cells}};
}

/// The version of the Python that the session runs in, or would; empty while no host says.
std::string python_of(const GatewayContext& gateway, const GatewaySession& session) {
  std::vector<HostId> hosts;
  if (const auto executor = session.cells().executor()) hosts.push_back(*executor);
  for (const auto& [replica, member] : session.record().members) hosts.push_back(member.host);
  for (const HostId& host : hosts) {
    const KernelReport kernel = gateway.cluster().kernel_on(host, session.record().spec.kernel_name);
    if (!kernel.python.empty()) return kernel.python;
  }
  return {};
}

json session_json(const GatewayContext& gateway, const GatewaySession& session) {
  const ReplicaReport* const newest = session.reports().newest();
  const auto executor = session.cells().executor();
  json replicas = json::array();
  for (const auto& [replica, member] : session.record().members)
    replicas.push_back(replica_json(gateway, session, replica, member));
  json model = {
      {"id", session.id().value},
      {"kernel", session.record().spec.kernel_name},
      {"python", python_of(gateway, session)},
      {"state", session.reports().suspended() && session.state() == "idle" ? "suspended" : session.state()},
      {"executor", executor ? json(executor->value) : json()},
      {"epoch", newest == nullptr ? 0 : newest->epoch.value},
      {"last_commit", newest == nullptr ? 0 : newest->last.value},
      {"amended", newest == nullptr ? 0 : newest->amended},
      {"execution_count", newest == nullptr ? 0 : newest->execution_count},
      {"queued", session.cells().size()},
      {"replicas", std::move(replicas)},
      {"created", jupyter::iso8601(session.record().created)},
      {"age_s", (gateway.now().wall.us - session.record().created.us) / 1'000'000},
      {"last_activity", jupyter::iso8601(session.last_activity())},
      {"connections", session.clients().connections()}};
  if (const auto& notebook = session.record().notebook) model["path"] = notebook->path;
  if (json view = view_json(session); !view.is_null()) model["view"] = std::move(view);
  if (const std::string reason = session.reason(); !reason.empty()) model["reason"] = reason;
  return model;
}

std::string_view name_of(KernelState state) {
  switch (state) {
    case KernelState::kChecking:
      return "checking";
    case KernelState::kRuns:
      return "runs";
    case KernelState::kCannot:
      return "cannot";
  }
  return "unknown";
}

/// What the host says of each kernel that clients may start.
json kernels_json(const GatewayContext& gateway, const HostId& host) {
  json kernels = json::array();
  for (const KernelSpec& spec : gateway.config().kernel_specs) {
    const KernelReport kernel = gateway.cluster().kernel_on(host, spec.name);
    json model = {{"name", kernel.name}, {"state", name_of(kernel.state)}, {"python", kernel.python}};
    if (!kernel.reason.empty()) model["reason"] = kernel.reason;
    kernels.push_back(std::move(model));
  }
  return kernels;
}

/// What a host that is drained still holds, and what holds each up.
json stay_json(const GatewayContext& gateway, const GatewaySessions& sessions, const HostId& host) {
  json stay = json::array();
  for (const auto& [session, reason] : sessions_on(gateway, sessions, host))
    stay.push_back({{"session", session.value}, {"reason", reason.empty() ? json() : json(reason)}});
  return stay;
}

json hosts_json(const GatewayContext& gateway, const GatewaySessions& all) {
  json hosts = json::array();
  for (const auto& [id, peer] : gateway.hosts()) {
    const cluster::Host& known = gateway.cluster().hosts().at(id);
    json sessions = json::array();
    for (const auto& [session, report] : peer.replicas) sessions.push_back(session.value);
    json strays = json::array();
    for (const SessionId& session : peer.strays) strays.push_back(session.value);
    const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(gateway.silence(id));
    hosts.push_back({{"host", id.value},
                     {"up", gateway.usable(id)},
                     {"draining", known.draining},
                     {"stay", known.draining ? stay_json(gateway, all, id) : json::array()},
                     {"cpus", known.capacity.cpus},
                     {"gpus", known.capacity.gpus},
                     {"memory_bytes", known.capacity.memory_bytes},
                     {"resident_bytes", peer.resident_bytes},
                     {"replicas", gateway.cluster().ledger().replicas_on(id)},
                     {"running_cells", gateway.cluster().ledger().cells_on(id)},
                     {"silent_ms", silent.count()},
                     {"store", peer.store},
                     {"kernels", kernels_json(gateway, id)},
                     {"sessions", std::move(sessions)},
                     {"strays", std::move(strays)}});
  }
  return hosts;
}

template <class Model>
json list_of(const GatewaySessions& sessions, Model model) {
  json list = json::array();
  for (const auto& [id, session] : sessions.all()) {
    if (session->exists()) list.push_back(model(*session));
  }
  return list;
}

}  // namespace

std::string kernel_model(const GatewaySession& session) { return dump(kernel_json(session)); }
std::string kernel_models(const GatewaySessions& sessions) { return dump(list_of(sessions, kernel_json)); }
std::string notebook_model(const GatewaySession& session) { return dump(notebook_json(session)); }

std::string notebook_models(const GatewaySessions& sessions) {
  json list = json::array();
  for (const auto& [id, session] : sessions.all()) {
    if (session->exists() && session->record().notebook) list.push_back(notebook_json(*session));
  }
  return dump(list);
}

std::string kernel_spec_model(const KernelSpec& spec) { return dump(spec_json(spec)); }

std::string kernel_spec_models(const GatewayConfig& config) {
  json specs = json::object();
  for (const KernelSpec& spec : config.kernel_specs) specs[spec.name] = spec_json(spec);
  return dump({{"default", config.default_kernel}, {"kernelspecs", std::move(specs)}});
}

std::string server_status(const GatewaySessions& sessions, WallTime started) {
  WallTime activity = started;
  std::size_t kernels = 0, connections = 0;
  for (const auto& [id, session] : sessions.all()) {
    if (!session->exists()) continue;
    ++kernels;
    connections += session->clients().connections();
    activity = std::max(activity, session->last_activity());
  }
  return dump({{"started", jupyter::iso8601(started)},
               {"last_activity", jupyter::iso8601(activity)},
               {"kernels", kernels},
               {"connections", connections}});
}

std::map<SessionId, std::string> sessions_on(const GatewayContext& gateway, const GatewaySessions& sessions,
                                             const HostId& host) {
  std::map<SessionId, std::string> found;
  for (const auto& [id, session] : sessions.all())
    if (session->record().names(host)) found[id] = gateway.drains().why_stays(id).value_or("");
  const PeerHost& peer = gateway.hosts().at(host);
  for (const SessionId& id : peer.strays)
    found[id] = "the control store does not know it, so that nobody else may have it";
  for (const SessionId& id : peer.damaged) found[id] = "its record in the control store cannot be read";
  return found;
}

std::string operator_hosts(const GatewayContext& gateway, const GatewaySessions& sessions) {
  return dump(hosts_json(gateway, sessions));
}

std::string operator_sessions(const GatewayContext& gateway, const GatewaySessions& sessions) {
  return dump(
      list_of(sessions, [&](const GatewaySession& session) { return session_json(gateway, session); }));
}

std::string operator_status(const GatewayContext& gateway, const GatewaySessions& sessions,
                            WallTime started) {
  std::size_t up = 0;
  for (const auto& [id, peer] : gateway.hosts()) up += gateway.usable(id) ? 1 : 0;
  std::size_t count = 0, busy = 0, troubled = 0;
  for (const auto& [id, session] : sessions.all()) {
    if (!session->exists()) continue;
    ++count;
    busy += session->state() == "busy" ? 1 : 0;
    troubled += session->can_serve() ? 0 : 1;
  }
  return dump({{"started", jupyter::iso8601(started)},
               {"uptime_s", (gateway.now().wall.us - started.us) / 1'000'000},
               {"hosts", gateway.hosts().size()},
               {"hosts_up", up},
               {"sessions", count},
               {"sessions_busy", busy},
               {"sessions_without_quorum", troubled}});
}

}  // namespace banyan::node
