#include "node/gateway_models.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "node/gateway_messages.h"

namespace banyan::node {

namespace {

std::optional<std::string> some(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
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

api::Replica replica_model(const GatewayContext& gateway, const GatewaySession& session, ReplicaId replica,
                           const MemberRecord& member) {
  const ReplicaReport* const report = session.reports().on(member.host);
  const ReplicaReport* const newest = session.reports().newest();
  std::string_view role = "standby";
  if (member.joining) role = "joining";
  if (session.cells().executor() == member.host) role = "executor";
  api::Replica model{.replica = replica.value,
                     .host = member.host.value,
                     .role = std::string(role),
                     .up = gateway.usable(member.host),
                     .leader = newest != nullptr && newest->leader == replica,
                     .worker = "none"};
  if (report == nullptr) return model;
  model.worker = name_of(report->worker);
  model.pid = report->worker_pid;
  model.last_commit = report->last.value;
  model.lacking = {report->lacking};
  model.lost = report->lost;
  return model;
}

/// How the executor's variables were brought there last, or how far some replica is with them; nothing when
/// there is nothing to tell.
std::optional<api::ViewModel> view_model(const GatewaySession& session) {
  for (const auto& [replica, member] : session.record().members) {
    const ReplicaReport* const report = session.reports().on(member.host);
    if (report == nullptr || !report->building) continue;
    return api::ViewModel{.building = report->building->what,
                          .host = member.host.value,
                          .percent = report->building->percent,
                          .left_ms = report->building->left_us / 1000};
  }
  const auto executor = session.cells().executor();
  const ReplicaReport* const report = executor ? session.reports().on(*executor) : nullptr;
  if (report == nullptr || !report->built) return std::nullopt;
  const ViewBuilt& built = *report->built;
  return api::ViewModel{.predicted_ms = built.predicted_us / 1000,
                        .took_ms = built.took_us / 1000,
                        .values = built.values,
                        .bytes = built.bytes,
                        .cells = built.cells};
}

/// What the executor says of its values that are still being copied; nothing when all are on a majority's
/// disks.
std::optional<api::PendingModel> pending_model(const GatewaySession& session) {
  const auto executor = session.cells().executor();
  const ReplicaReport* const report = executor ? session.reports().on(*executor) : nullptr;
  if (report == nullptr || report->pending_bytes == 0) return std::nullopt;
  return api::PendingModel{.bytes = report->pending_bytes,
                           .captured_bytes = report->captured_bytes,
                           .for_ms = report->pending_for_s * 1000};
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

api::QueuedCell queued_model(const GatewayContext& gateway, const GatewaySession* session,
                             const schedule::QueuedCell& cell) {
  const auto ms = [](Duration time) { return microseconds(time) / 1000; };
  api::QueuedCell model{.session = cell.session.value,
                        .gpus = cell.demand.gpus,
                        .place = cell.place,
                        .waiting_ms = ms(gateway.now().mono - cell.since)};
  if (cell.expected) model.expected_ms = ms(*cell.expected);
  model.user = cell.owner;
  model.at_limit = cell.at_limit;
  if (cell.hours_end) model.hours_spent_for_ms = ms(*cell.hours_end - gateway.now().mono);
  if (cell.comes_to) model.comes_to = cell.comes_to->value;
  if (session != nullptr && session->record().notebook) model.path = session->record().notebook->path;
  return model;
}

api::Session session_model(const GatewayContext& gateway, const GatewaySession& session) {
  const ReplicaReport* const newest = session.reports().newest();
  const auto executor = session.cells().executor();
  const bool suspended = session.reports().suspended() && session.state() == "idle";
  api::Session model{.id = session.id().value,
                     .kernel = session.record().spec.kernel_name,
                     .python = python_of(gateway, session),
                     .state = suspended ? "suspended" : std::string(session.state()),
                     .queued = session.cells().accepted().size(),
                     .created = jupyter::iso8601(session.record().created),
                     .age_s = (gateway.now().wall.us - session.record().created.us) / 1'000'000,
                     .last_activity = jupyter::iso8601(session.last_activity()),
                     .connections = session.clients().connections(),
                     .view = view_model(session),
                     .pending = pending_model(session),
                     .reason = some(session.reason())};
  if (executor) model.executor = {executor->value};
  if (newest != nullptr) {
    model.epoch = newest->epoch.value;
    model.last_commit = newest->last.value;
    model.amended = newest->amended;
    model.execution_count = newest->execution_count;
  }
  for (const auto& [replica, member] : session.record().members)
    model.replicas.push_back(replica_model(gateway, session, replica, member));
  if (const auto& notebook = session.record().notebook) model.path = notebook->path;
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

api::Host host_model(const GatewayContext& gateway, const GatewaySessions& all, const HostId& id,
                     const PeerHost& peer) {
  const cluster::Host& known = gateway.cluster().hosts().at(id);
  const cluster::DeviceCounts devices = gateway.cluster().ledger().device_counts(id);
  api::Host model{
      .host = id.value,
      .up = gateway.usable(id),
      .draining = known.draining,
      .cpus = known.capacity.cpus,
      .gpus = known.capacity.gpus,
      .bound_gpus = devices.bound,
      .faulty_gpus = devices.faulty,
      .memory_bytes = known.capacity.memory_bytes,
      .resident_bytes = peer.resident_bytes,
      .replicas = gateway.cluster().ledger().replicas_on(id),
      .running_cells = gateway.cluster().ledger().cells_on(id),
      .silent_ms = std::chrono::duration_cast<std::chrono::milliseconds>(gateway.silence(id)).count(),
      .store = peer.store};
  if (known.draining)
    for (const auto& [session, reason] : sessions_on(gateway, all, id))
      model.stay.push_back({session.value, {some(reason)}});
  for (const KernelSpec& spec : gateway.config().kernel_specs) {
    const KernelReport kernel = gateway.cluster().kernel_on(id, spec.name);
    model.kernels.push_back(
        {kernel.name, std::string(name_of(kernel.state)), kernel.python, some(kernel.reason)});
  }
  for (const auto& [session, report] : peer.replicas) model.sessions.push_back(session.value);
  for (const SessionId& session : peer.strays) model.strays.push_back(session.value);
  return model;
}

}  // namespace

api::Kernel kernel_model(const GatewaySession& session) {
  return {.id = session.id().value,
          .name = session.record().spec.kernel_name,
          .last_activity = jupyter::iso8601(session.last_activity()),
          .execution_state = std::string(session.state()),
          .connections = session.clients().connections(),
          .reason = some(session.reason())};
}

std::vector<api::Kernel> kernel_models(const GatewaySessions& sessions) {
  std::vector<api::Kernel> all;
  for (const auto& [id, session] : sessions.all())
    if (session->exists()) all.push_back(kernel_model(*session));
  return all;
}

api::NotebookSession notebook_model(const GatewaySession& session) {
  const Notebook& notebook = *session.record().notebook;
  api::NotebookSession model{.id = notebook.id,
                             .path = notebook.path,
                             .name = notebook.name,
                             .type = notebook.type,
                             .kernel = kernel_model(session)};
  if (notebook.type == "notebook") model.notebook = api::NotebookPlace{notebook.path, notebook.name};
  return model;
}

std::vector<api::NotebookSession> notebook_models(const GatewaySessions& sessions) {
  std::vector<api::NotebookSession> all;
  for (const auto& [id, session] : sessions.all())
    if (session->exists() && session->record().notebook) all.push_back(notebook_model(*session));
  return all;
}

api::KernelSpecModel kernel_spec_model(const KernelSpec& spec) {
  api::KernelSpecModel model{
      .name = spec.name, .spec = nlohmann::json::parse(spec.spec_json, nullptr, false), .resources = {}};
  if (!model.spec.is_object()) model.spec = nlohmann::json::object();
  for (const auto& [file, bytes] : spec.files) {
    // A logo is known by its name without the ending, kernel.js and kernel.css by their whole names.
    const std::string key = file.starts_with("logo-") ? file.substr(0, file.rfind('.')) : file;
    model.resources[key] = "/kernelspecs/" + spec.name + "/" + file;
  }
  return model;
}

api::KernelSpecs kernel_spec_models(const GatewayConfig& config) {
  api::KernelSpecs specs{.default_name = config.default_kernel, .kernelspecs = {}};
  for (const KernelSpec& spec : config.kernel_specs) specs.kernelspecs[spec.name] = kernel_spec_model(spec);
  return specs;
}

api::ServerStatus server_status(const GatewaySessions& sessions, WallTime started) {
  api::ServerStatus status{.started = jupyter::iso8601(started)};
  WallTime activity = started;
  for (const auto& [id, session] : sessions.all()) {
    if (!session->exists()) continue;
    ++status.kernels;
    status.connections += session->clients().connections();
    activity = std::max(activity, session->last_activity());
  }
  status.last_activity = jupyter::iso8601(activity);
  return status;
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

std::vector<api::Host> operator_hosts(const GatewayContext& gateway, const GatewaySessions& sessions) {
  std::vector<api::Host> all;
  for (const auto& [id, peer] : gateway.hosts()) all.push_back(host_model(gateway, sessions, id, peer));
  return all;
}

std::vector<api::Gpu> operator_gpus(const GatewayContext& gateway) {
  std::vector<api::Gpu> all;
  for (const auto& [id, host] : gateway.cluster().hosts()) {
    for (const cluster::Device& device : host.capacity.devices) {
      api::Gpu model{.host = id.value,
                     .device = device.id.value,
                     .model = device.model,
                     .memory_bytes = device.memory_bytes,
                     .state = !gateway.usable(id) ? "silent"
                              : device.healthy    ? "idle"
                                                  : "faulty"};
      if (const auto holder = gateway.cluster().ledger().holder_of(id, device.id)) {
        model.state = "bound";
        model.session = holder->value;
      }
      all.push_back(std::move(model));
    }
  }
  return all;
}

std::vector<api::QueuedCell> operator_queue(const GatewayContext& gateway, const GatewaySessions& sessions) {
  std::vector<api::QueuedCell> all;
  for (const schedule::QueuedCell& cell : gateway.queued_cells()) {
    const auto found = sessions.all().find(cell.session);
    all.push_back(queued_model(gateway, found == sessions.all().end() ? nullptr : found->second.get(), cell));
  }
  return all;
}

std::vector<api::Session> operator_sessions(const GatewayContext& gateway, const GatewaySessions& sessions) {
  std::map<SessionId, schedule::QueuedCell> waiting;
  for (schedule::QueuedCell& cell : gateway.queued_cells()) waiting.emplace(cell.session, std::move(cell));
  std::vector<api::Session> all;
  for (const auto& [id, session] : sessions.all()) {
    if (!session->exists()) continue;
    all.push_back(session_model(gateway, *session));
    if (const auto waits = waiting.find(id); waits != waiting.end())
      all.back().waits = queued_model(gateway, session.get(), waits->second);
  }
  return all;
}

api::Status operator_status(const GatewayContext& gateway, const GatewaySessions& sessions,
                            WallTime started) {
  api::Status status{.started = jupyter::iso8601(started),
                     .uptime_s = (gateway.now().wall.us - started.us) / 1'000'000,
                     .hosts = gateway.hosts().size()};
  for (const auto& [id, peer] : gateway.hosts()) status.hosts_up += gateway.usable(id) ? 1 : 0;
  for (const auto& [id, session] : sessions.all()) {
    if (!session->exists()) continue;
    ++status.sessions;
    status.sessions_busy += session->state() == "busy" ? 1 : 0;
    status.sessions_without_quorum += session->can_serve() ? 0 : 1;
  }
  return status;
}

}  // namespace banyan::node
