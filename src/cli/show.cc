// `banyan status`, `sessions`, `hosts`: what the gateway knows, as tables.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/gateway_call.h"
#include "cli/table/table.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

Cell state_cell(const std::string& state) {
  const Colour colour = state == "idle" ? Colour::kGreen : state == "dead" ? Colour::kRed : Colour::kYellow;
  return {state, colour};
}

/// Asks the gateway for `target` and prints the answer as JSON, or as `show` renders it.
template <class T, class Show>
int run(const ShowOptions& options, const std::string& target, Show show) {
  if (options.json) {
    const auto body = call_gateway(options.gateway, "GET", target);
    if (!body) return complain(body.error());
    std::printf("%s\n", body->dump(2).c_str());
    return kDone;
  }
  const auto answer = ask_gateway<T>(options.gateway, target);
  if (!answer) return complain(answer.error());
  std::fputs(show(*answer).c_str(), stdout);
  return kDone;
}

Cell number(std::uint64_t value) { return {std::to_string(value)}; }

std::vector<Cell> row_of(const api::Session& one) {
  std::string replicas;
  for (const api::Replica& replica : one.replicas)
    replicas += (replicas.empty() ? "" : " ") + replica.host + (replica.up ? "" : "!");
  return {
      {one.id},
      {one.kernel},
      state_cell(one.state),
      {one.executor.value.value_or("-")},
      {replicas},
      number(one.epoch),
      number(one.last_commit),
      number(one.queued),
      {one.pending ? bytes_text(one.pending->bytes) + " for " + age_text(one.pending->for_ms / 1000) : "-"},
      number(one.connections),
      {age_text(one.age_s)}};
}

/// "2 of 8, 1 faulty": those in use, of all.
std::string gpus_text(const api::Host& one) {
  if (one.gpus == 0) return "-";
  std::string text = std::to_string(one.bound_gpus) + " of " + std::to_string(one.gpus);
  if (one.faulty_gpus > 0) text += ", " + std::to_string(one.faulty_gpus) + " faulty";
  return text;
}

std::vector<Cell> row_of(const api::Host& one) {
  std::string kernels;
  for (const api::HostKernel& kernel : one.kernels)
    if (kernel.state == "runs") kernels += (kernels.empty() ? "" : " ") + kernel.name;
  return {{one.host},
          !one.up        ? Cell{"down", Colour::kRed}
          : one.draining ? Cell{"draining", Colour::kYellow}
                         : Cell{"up", Colour::kGreen},
          number(one.cpus),
          {bytes_text(one.memory_bytes)},
          {gpus_text(one)},
          {kernels},
          number(one.replicas),
          number(one.running_cells),
          {bytes_text(one.resident_bytes)}};
}

/// What is to be known of a host beside its row, a line each.
std::string notes_of(const api::Host& one) {
  std::string notes;
  for (const std::string& session : one.strays)
    notes += one.host + ": a replica of session " + session + ", which the control store does not know\n";
  for (const api::HostKernel& kernel : one.kernels)
    if (kernel.state == "cannot")
      notes +=
          one.host + " cannot run the kernel \"" + kernel.name + "\": " + kernel.reason.value_or("-") + "\n";
  for (const api::Stay& stays : one.stay)
    if (const auto& reason = stays.reason.value)
      notes +=
          one.host + " is drained; session " + stays.session + " is still there: " + plain(*reason) + "\n";
  return notes;
}

}  // namespace

int status(const ShowOptions& options) {
  return run<api::Status>(options, "/api/banyan/status", [](const api::Status& status) {
    std::vector<std::vector<Cell>> rows;
    const json fields = api::to_json(status);
    for (const auto& [key, value] : fields.items())
      rows.push_back({{key}, {value.is_string() ? value.get<std::string>() : value.dump()}});
    return render({{"WHAT"}, {"VALUE", Align::kRight}}, rows, stdout_wants_colour());
  });
}

int sessions(const ShowOptions& options) {
  using Sessions = std::vector<api::Session>;
  return run<Sessions>(options, "/api/banyan/sessions", [](const Sessions& all) -> std::string {
    if (all.empty()) return "no sessions; open a notebook to start one\n";
    std::vector<std::vector<Cell>> rows;
    for (const api::Session& one : all) rows.push_back(row_of(one));
    return render({{"SESSION"},
                   {"KERNEL"},
                   {"STATE"},
                   {"EXECUTOR"},
                   {"REPLICAS"},
                   {"EPOCH", Align::kRight},
                   {"COMMITS", Align::kRight},
                   {"QUEUED", Align::kRight},
                   {"PENDING", Align::kRight},
                   {"CLIENTS", Align::kRight},
                   {"AGE", Align::kRight}},
                  rows, stdout_wants_colour());
  });
}

int hosts(const ShowOptions& options) {
  using Hosts = std::vector<api::Host>;
  return run<Hosts>(options, "/api/banyan/hosts", [](const Hosts& all) {
    std::vector<std::vector<Cell>> rows;
    std::string notes;
    for (const api::Host& one : all) {
      rows.push_back(row_of(one));
      notes += notes_of(one);
    }
    return render({{"HOST"},
                   {"STATE"},
                   {"CPUS", Align::kRight},
                   {"MEMORY", Align::kRight},
                   {"GPUS IN USE", Align::kRight},
                   {"KERNELS"},
                   {"REPLICAS", Align::kRight},
                   {"CELLS", Align::kRight},
                   {"AGENT", Align::kRight}},
                  rows, stdout_wants_colour()) +
           notes;
  });
}

int gpus(const ShowOptions& options) {
  using Gpus = std::vector<api::Gpu>;
  return run<Gpus>(options, "/api/banyan/gpus", [](const Gpus& all) -> std::string {
    if (all.empty()) return "no host has a GPU\n";
    std::vector<std::vector<Cell>> rows;
    for (const api::Gpu& one : all)
      rows.push_back({{one.host},
                      {one.device},
                      {one.model.empty() ? "-" : plain(one.model)},
                      {one.memory_bytes == 0 ? "-" : bytes_text(one.memory_bytes)},
                      {one.state, one.state == "idle"    ? Colour::kGreen
                                  : one.state == "bound" ? Colour::kYellow
                                                         : Colour::kRed},
                      {one.session.value_or("-")}});
    return render({{"HOST"}, {"GPU"}, {"MODEL"}, {"MEMORY", Align::kRight}, {"STATE"}, {"SESSION"}}, rows,
                  stdout_wants_colour());
  });
}

int queue(const ShowOptions& options) {
  using Queue = std::vector<api::QueuedCell>;
  return run<Queue>(options, "/api/banyan/queue", [](const Queue& all) -> std::string {
    if (all.empty()) return "no cell waits for a GPU\n";
    std::vector<std::vector<Cell>> rows;
    for (const api::QueuedCell& one : all)
      rows.push_back({number(one.place),
                      {one.session},
                      {one.path ? plain(*one.path) : "-"},
                      {one.user.empty() ? "-" : plain(one.user)},
                      number(one.gpus),
                      {age_text(one.waiting_ms / 1000)},
                      {runs_text(one)}});
    return render({{"PLACE", Align::kRight},
                   {"SESSION"},
                   {"NOTEBOOK"},
                   {"USER"},
                   {"GPUS", Align::kRight},
                   {"WAITS SINCE", Align::kRight},
                   {"RUNS"}},
                  rows, stdout_wants_colour());
  });
}

int print_answer(const ShowOptions& options, const json& answer, const std::string& text) {
  std::fputs((options.json ? answer.dump(2) + "\n" : text).c_str(), stdout);
  return kDone;
}

}  // namespace banyan::cli
