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
template <class Show>
int run(const ShowOptions& options, const std::string& target, Show show) {
  const auto body = call_gateway(options.gateway, "GET", target);
  if (!body) return complain(body.error());
  if (options.json) {
    std::printf("%s\n", body->dump(2).c_str());
  } else {
    std::fputs(show(*body).c_str(), stdout);
  }
  return kDone;
}

}  // namespace

int status(const ShowOptions& options) {
  return run(options, "/api/banyan/status", [](const json& body) {
    std::vector<std::vector<Cell>> rows;
    for (const auto& [key, value] : body.items())
      rows.push_back({{key}, {value.is_string() ? value.get<std::string>() : value.dump()}});
    return render({{"WHAT"}, {"VALUE", Align::kRight}}, rows, stdout_wants_colour());
  });
}

int sessions(const ShowOptions& options) {
  return run(options, "/api/banyan/sessions", [](const json& body) -> std::string {
    if (body.empty()) return "no sessions; open a notebook to start one\n";
    std::vector<std::vector<Cell>> rows;
    for (const json& one : body) {
      std::string replicas;
      for (const json& replica : one.contains("replicas") ? one["replicas"] : json::array()) {
        if (!replica.is_object()) continue;
        replicas +=
            (replicas.empty() ? "" : " ") + text_of(replica, "host") + (flag_of(replica, "up") ? "" : "!");
      }
      rows.push_back({{text_of(one, "id")},
                      {text_of(one, "kernel")},
                      state_cell(text_of(one, "state")),
                      {text_of(one, "executor")},
                      {replicas},
                      {text_of(one, "epoch")},
                      {text_of(one, "last_commit")},
                      {text_of(one, "queued")},
                      {text_of(one, "connections")},
                      {age_text(static_cast<std::int64_t>(number_of(one, "age_s")))}});
    }
    return render({{"SESSION"},
                   {"KERNEL"},
                   {"STATE"},
                   {"EXECUTOR"},
                   {"REPLICAS"},
                   {"EPOCH", Align::kRight},
                   {"COMMITS", Align::kRight},
                   {"QUEUED", Align::kRight},
                   {"CLIENTS", Align::kRight},
                   {"AGE", Align::kRight}},
                  rows, stdout_wants_colour());
  });
}

int hosts(const ShowOptions& options) {
  return run(options, "/api/banyan/hosts", [](const json& body) {
    std::vector<std::vector<Cell>> rows;
    std::string notes;
    for (const json& one : body) {
      if (const auto found = one.find("strays"); found != one.end()) {
        for (const json& session : *found)
          notes += text_of(one, "host") + ": a replica of session " +
                   (session.is_string() ? session.get<std::string>() : "?") +
                   ", which the control store does not know\n";
      }
      std::string kernels;
      for (const json& kernel : one.contains("kernels") ? one["kernels"] : json::array()) {
        if (!kernel.is_object()) continue;
        const std::string name = text_of(kernel, "name");
        if (text_of(kernel, "state") == "runs") kernels += (kernels.empty() ? "" : " ") + name;
        if (text_of(kernel, "state") == "cannot")
          notes += text_of(one, "host") + " cannot run the kernel \"" + name +
                   "\": " + text_of(kernel, "reason") + "\n";
      }
      for (const json& stays : one.contains("stay") ? one["stay"] : json::array()) {
        if (stays.is_object() && stays.contains("reason") && stays["reason"].is_string())
          notes += text_of(one, "host") + " is drained; session " + text_of(stays, "session") +
                   " is still there: " + plain(stays, "reason") + "\n";
      }
      const bool is_up = flag_of(one, "up");
      const bool drains = flag_of(one, "draining");
      rows.push_back({{text_of(one, "host")},
                      !is_up   ? Cell{"down", Colour::kRed}
                      : drains ? Cell{"draining", Colour::kYellow}
                               : Cell{"up", Colour::kGreen},
                      {text_of(one, "cpus")},
                      {bytes_text(number_of(one, "memory_bytes"))},
                      {text_of(one, "gpus")},
                      {kernels},
                      {text_of(one, "replicas")},
                      {text_of(one, "running_cells")},
                      {bytes_text(number_of(one, "resident_bytes"))}});
    }
    return render({{"HOST"},
                   {"STATE"},
                   {"CPUS", Align::kRight},
                   {"MEMORY", Align::kRight},
                   {"GPUS", Align::kRight},
                   {"KERNELS"},
                   {"REPLICAS", Align::kRight},
                   {"CELLS", Align::kRight},
                   {"AGENT", Align::kRight}},
                  rows, stdout_wants_colour()) +
           notes;
  });
}

int print_answer(const ShowOptions& options, const json& answer, const std::string& text) {
  std::fputs((options.json ? answer.dump(2) + "\n" : text).c_str(), stdout);
  return kDone;
}

}  // namespace banyan::cli
