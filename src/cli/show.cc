// `banyan status`, `sessions`, `hosts`: what the gateway knows, as tables.

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/table/table.h"
#include "runtime/http/client.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

int complain(const Error& error) {
  const char* next = "";
  if (error.kind == ErrorKind::kUnavailable) next = "; is it running? `banyan up` starts one";
  if (error.kind == ErrorKind::kDenied) next = "; give its token with --token or BANYAN_TOKEN";
  std::fprintf(stderr, "banyan: %s%s\n", error.message.c_str(), next);
  return error.kind == ErrorKind::kUnavailable ? kUnreachable : kFailed;
}

Result<runtime::HttpAnswer> call(runtime::Endpoint endpoint, const std::string& target) {
  boost::asio::io_context io;
  std::optional<Result<runtime::HttpAnswer>> answer;
  runtime::HttpCall request;
  request.target = target;
  request.timeout = 10s;
  boost::asio::co_spawn(
      io,
      [&]() -> boost::asio::awaitable<void> {
        answer = co_await runtime::http_call(std::move(endpoint), std::move(request));
      },
      boost::asio::detached);
  io.run();
  if (!answer) return fail(ErrorKind::kUnavailable, "the call to the gateway did not end");
  return *answer;
}

std::string text_of(const json& object, const char* key) {
  const auto field = object.find(key);
  if (field == object.end() || field->is_null()) return "-";
  return field->is_string() ? field->get<std::string>() : field->dump();
}

std::uint64_t number_of(const json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && field->is_number() ? field->get<std::uint64_t>() : 0;
}

bool flag_of(const json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && *field == true;
}

Result<json> fetch(const ShowOptions& options, const std::string& target) {
  auto endpoint = runtime::find_gateway(options.gateway, environment, std::filesystem::current_path());
  if (!endpoint) return tl::unexpected(endpoint.error());
  const std::string where = endpoint->authority();
  auto answer = call(std::move(*endpoint), target);
  if (!answer) return tl::unexpected(answer.error());
  json body = json::parse(answer->body, nullptr, false);
  if (answer->status != 200) {
    const std::string message = body.is_object() ? text_of(body, "message") : "-";
    return fail(answer->status == 403 ? ErrorKind::kDenied : ErrorKind::kInvalid,
                "the gateway at " + where + " answers " + std::to_string(answer->status) + ": " + message);
  }
  // Status is an object, the others are lists of objects.
  const bool fits = body.is_object() ||
                    (body.is_array() &&
                     std::all_of(body.begin(), body.end(), [](const json& one) { return one.is_object(); }));
  if (!fits)
    return fail(ErrorKind::kInvalid, "what answers at " + where + " is not a Banyan gateway; see --url");
  return body;
}

Cell state_cell(const std::string& state) {
  const Colour colour = state == "idle" ? Colour::kGreen : state == "dead" ? Colour::kRed : Colour::kYellow;
  return {state, colour};
}

/// Prints `target` as JSON, or as `show` has it.
template <class Show>
int run(const ShowOptions& options, const std::string& target, Show show) {
  const auto body = fetch(options, target);
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
                      {text_of(one, "head")},
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
                   {"HEAD", Align::kRight},
                   {"QUEUED", Align::kRight},
                   {"CLIENTS", Align::kRight},
                   {"AGE", Align::kRight}},
                  rows, stdout_wants_colour());
  });
}

int hosts(const ShowOptions& options) {
  return run(options, "/api/banyan/hosts", [](const json& body) {
    std::vector<std::vector<Cell>> rows;
    for (const json& one : body) {
      const bool is_up = flag_of(one, "up");
      rows.push_back({{text_of(one, "host")},
                      is_up ? Cell{"up", Colour::kGreen} : Cell{"down", Colour::kRed},
                      {text_of(one, "cpus")},
                      {bytes_text(number_of(one, "memory_bytes"))},
                      {text_of(one, "gpus")},
                      {text_of(one, "replicas")},
                      {text_of(one, "running_cells")},
                      {bytes_text(number_of(one, "resident_bytes"))}});
    }
    return render({{"HOST"},
                   {"STATE"},
                   {"CPUS", Align::kRight},
                   {"MEMORY", Align::kRight},
                   {"GPUS", Align::kRight},
                   {"REPLICAS", Align::kRight},
                   {"CELLS", Align::kRight},
                   {"AGENT", Align::kRight}},
                  rows, stdout_wants_colour());
  });
}

}  // namespace banyan::cli
