#include "node/gateway_metrics.h"

#include <map>
#include <string>

#include "node/gateway_models.h"

namespace banyan::node {

namespace {

using metrics::Page;

double number(std::uint64_t value) { return static_cast<double>(value); }

void add_hosts(Page& page, const GatewayContext& gateway, const GatewaySessions& sessions) {
  const std::vector<api::Host> hosts = operator_hosts(gateway, sessions);
  std::map<std::string, std::uint64_t> states{{"up", 0}, {"draining", 0}, {"silent", 0}};
  for (const api::Host& host : hosts) ++states[!host.up ? "silent" : host.draining ? "draining" : "up"];
  page.gauge("banyan_hosts", "Hosts by state.");
  for (const auto& [state, count] : states) page.add({{"state", state}}, number(count));

  const auto each = [&](const char* name, const char* help, auto&& value) {
    page.gauge(name, help);
    for (const api::Host& host : hosts) page.add({{"host", host.host}}, number(value(host)));
  };
  each("banyan_host_replicas", "Replicas of sessions on the host.", [](const auto& h) { return h.replicas; });
  each("banyan_host_running_cells", "Cells that run on the host.",
       [](const auto& h) { return h.running_cells; });
  each("banyan_host_memory_bytes", "Memory of the machine.", [](const auto& h) { return h.memory_bytes; });
  each("banyan_host_agent_resident_bytes", "Memory of the host agent itself.",
       [](const auto& h) { return h.resident_bytes; });

  page.gauge("banyan_host_gpus", "GPUs of the host by state.");
  for (const api::Host& host : hosts) {
    const std::uint64_t rest = host.gpus - std::min(host.gpus, host.bound_gpus + host.faulty_gpus);
    page.add({{"host", host.host}, {"state", "bound"}}, number(host.bound_gpus));
    page.add({{"host", host.host}, {"state", "faulty"}}, number(host.faulty_gpus));
    page.add({{"host", host.host}, {"state", host.up ? "idle" : "silent"}}, number(rest));
  }

  const std::uint64_t replicas = gateway.config().replicas;
  page.gauge("banyan_host_subscription_ratio",
             "GPUs that the kernels of the host's replicas need for a cell, to the host's GPUs times the "
             "replicas of a session.");
  for (const api::Host& host : hosts)
    if (const auto ratio = schedule::subscription_of(gateway.cluster(), {host.host}, replicas))
      page.add({{"host", host.host}}, *ratio);
  page.gauge("banyan_subscription_ratio", "The same, of all hosts together.");
  if (const double ratio = schedule::subscription_of_all(gateway.cluster(), replicas); ratio > 0)
    page.add({}, ratio);
}

void add_sessions(Page& page, const GatewayContext& gateway, const GatewaySessions& sessions) {
  std::map<std::string, std::uint64_t> states{{"starting", 0},   {"idle", 0},      {"busy", 0},
                                              {"restarting", 0}, {"suspended", 0}, {"dead", 0}};
  std::uint64_t connections = 0, waiting = 0, pending = 0, captured = 0;
  for (const api::Session& session : operator_sessions(gateway, sessions)) {
    ++states[session.state];
    connections += session.connections;
    waiting += session.queued;
    if (!session.pending) continue;
    pending += session.pending->bytes;
    captured += session.pending->captured_bytes;
  }
  page.gauge("banyan_sessions", "Sessions by state.");
  for (const auto& [state, count] : states) page.add({{"state", state}}, number(count));
  page.gauge("banyan_connections", "WebSockets of clients.");
  page.add({}, number(connections));
  page.gauge("banyan_open_cells", "Cells that were accepted and have not ended.");
  page.add({}, number(waiting));
  page.gauge("banyan_pending_bytes", "Bytes of large values that no majority of hosts has stored yet.");
  page.add({}, number(pending));
  page.gauge("banyan_captured_bytes", "The part of these that is only in memory.");
  page.add({}, number(captured));
}

void add_cells(Page& page, const GatewayContext& gateway) {
  std::uint64_t queued = 0, wanted = 0;
  for (const schedule::QueuedCell& cell : gateway.queued_cells()) {
    ++queued;
    wanted += cell.demand.gpus;
  }
  page.gauge("banyan_queued_cells", "Cells that wait for GPUs.");
  page.add({}, number(queued));
  page.gauge("banyan_queued_gpus", "GPUs that these wait for.");
  page.add({}, number(wanted));
  const CellTimes& times = gateway.cell_times();
  page.counter("banyan_cells_total", "Cells that have ended, by how.");
  for (const auto& [status, count] : times.ends())
    page.add({{"status", std::string(session::name_of(status))}}, number(count));
  const auto by_gpus = [&](const std::map<bool, metrics::Histogram>& all) {
    for (const auto& [has_gpus, one] : all) page.add({{"gpus", has_gpus ? "some" : "none"}}, one);
  };
  page.counter("banyan_gpu_starts_total",
               "Cells that were sent to where their GPUs are: at once or after a wait, on the host of their "
               "session's cell before or on another one.");
  for (const auto& [how, count] : times.gpu_starts())
    page.add({{"bound", how.at_once ? "at_once" : "later"}, {"host", how.as_last ? "same" : "other"}},
             number(count));
  page.counter("banyan_moves_total", "Replicas that were to go to another host.");
  page.add({}, number(times.moves()));
  page.histogram("banyan_cell_delay_seconds", "From when a cell is accepted until it runs.");
  by_gpus(times.waits());
  page.histogram("banyan_cell_seconds", "From when a cell is accepted until it has ended.");
  by_gpus(times.takes());
}

}  // namespace

metrics::Page metrics_page(const GatewayContext& gateway, const GatewaySessions& sessions) {
  Page page;
  page.gauge("process_start_time_seconds", "When the gateway began, in seconds since 1970.");
  page.add({}, static_cast<double>(gateway.started().wall.us) / 1e6);
  add_hosts(page, gateway, sessions);
  add_sessions(page, gateway, sessions);
  add_cells(page, gateway);
  return page;
}

}  // namespace banyan::node
