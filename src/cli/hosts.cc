// `banyan hosts add`, `drain`, `remove`.

#include <chrono>
#include <cstdio>
#include <thread>

#include "cli/commands.h"
#include "cli/gateway_call.h"
#include "cli/table/progress.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr std::chrono::seconds kPatience{30};  // for sessions of which a move has failed

/// What the gateway says of one host.
Result<json> look_at(const ShowOptions& show, const std::string& host) {
  auto hosts = call_gateway(show.gateway, "GET", "/api/banyan/hosts");
  if (!hosts) return tl::unexpected(hosts.error());
  for (json& one : *hosts)
    if (one.is_object() && text_of(one, "host") == host) return std::move(one);
  return fail(ErrorKind::kNotFound, "there is no host '" + host + "' any more");
}

json staying(const json& host) {
  const auto found = host.find("stay");
  return found != host.end() && found->is_array() ? *found : json::array();
}

/// Waits until the host holds nothing, or nothing more leaves it.
int await_drained(const ShowOptions& show, const std::string& name) {
  std::size_t most = 0;
  auto moved_at = std::chrono::steady_clock::now();
  std::size_t before = 0;
  ProgressBar bar("drain " + name, 100);
  while (true) {
    const auto host = look_at(show, name);
    if (!host) return complain(host.error());
    if (!flag_of(*host, "draining"))
      return complain({ErrorKind::kConflict, "host " + name + " takes part again: somebody has added it"});
    const json stay = staying(*host);
    if (stay.empty()) return print_answer(show, *host, "host " + name + " holds nothing any more\n");
    most = std::max(most, stay.size());
    bar.tell((most - stay.size()) * 100 / most, std::to_string(stay.size()) + " of its replicas are left",
             -1);
    const bool held_up = std::ranges::all_of(
        stay, [](const json& one) { return one.is_object() && !text_of(one, "reason").starts_with("-"); });
    const auto now = std::chrono::steady_clock::now();
    if (std::exchange(before, stay.size()) != stay.size() || !held_up) moved_at = now;
    if (now - moved_at >= kPatience) {
      std::string text = "Some replicas stay on host " + name + "; it is tried again and again:";
      for (const json& one : stay) text += "\n  " + text_of(one, "session") + ": " + plain(one, "reason");
      return complain({ErrorKind::kConflict, text});
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace

int change_hosts(const ShowOptions& show, const HostsOptions& options) {
  const std::string path = "/api/banyan/hosts";
  const std::string force = options.force ? "?force=true" : "";
  runtime::HttpCall call{.method = "POST", .target = path};
  if (options.verb == "add") {
    json body = {{"host", options.host}};
    if (!options.address.empty()) body["address"] = options.address;
    call.body = body.dump();
  } else {
    const std::string host = path + "/" + runtime::percent_encode(options.host);
    call.target = (options.verb == "drain" ? host + "/drain" : host) + force;
    if (options.verb == "remove") call.method = "DELETE";
  }
  const auto answer = call_raw(show.gateway, call);
  if (!answer) return complain(answer.error());
  if (answer->status != 204) return complain(error_of(*answer));
  if (options.verb == "drain" && !options.no_wait) return await_drained(show, options.host);
  const std::string what = options.verb == "add"     ? " is one of the platform's hosts"
                           : options.verb == "drain" ? " is being drained; `banyan hosts` shows how far it is"
                                                     : " is removed; its host agent can be stopped";
  return print_answer(show, json::object(), "host " + options.host + what + "\n");
}

}  // namespace banyan::cli
