// `banyan hosts add`, `drain`, `remove`.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "cli/commands.h"
#include "cli/gateway_call.h"
#include "cli/table/progress.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr std::chrono::seconds kPatience{30};  // for sessions of which a move has failed

/// What the gateway says of one host.
Result<api::Host> look_at(const ShowOptions& show, const std::string& name) {
  const auto hosts = hosts_of(show.gateway);
  if (!hosts) return tl::unexpected(hosts.error());
  if (const api::Host* const host = find(*hosts, name)) return *host;
  return fail(ErrorKind::kNotFound, "there is no host '" + name + "' any more");
}

bool held_up(const api::Stay& one) { return one.reason.value.has_value(); }

/// Waits until the host holds nothing, or nothing more leaves it. A gateway that is being started again is
/// waited for.
int await_drained(const ShowOptions& show, const std::string& name) {
  using Clock = std::chrono::steady_clock;
  std::size_t most = 0;
  std::size_t before = 0;
  auto went_on = Clock::now();
  ProgressBar bar("drain " + name, 100);
  for (;; std::this_thread::sleep_for(kBetweenLooks)) {
    const auto host = look_at(show, name);
    const bool patient = Clock::now() - went_on < kPatience;
    if (!host && host.error().kind == ErrorKind::kUnavailable && patient) continue;
    if (!host) return complain(host.error());
    if (!host->draining)
      return complain({ErrorKind::kConflict, "host " + name + " takes part again: somebody has added it"});
    const std::vector<api::Stay>& stay = host->stay;
    if (stay.empty())
      return print_answer(show, api::to_json(*host), "host " + name + " holds nothing any more\n");
    most = std::max(most, stay.size());
    bar.tell((most - stay.size()) * 100 / most, std::to_string(stay.size()) + " sessions are left", -1);
    const bool same = std::exchange(before, stay.size()) == stay.size();
    if (!same || !std::ranges::all_of(stay, held_up)) {
      went_on = Clock::now();
    } else if (!patient) {
      std::string text = "Some sessions stay on host " + name + "; it is tried again and again:";
      for (const api::Stay& one : stay)
        text += "\n  " + one.session + ": " + plain(one.reason.value.value_or(""));
      return complain({ErrorKind::kConflict, text});
    }
  }
}

}  // namespace

int change_hosts(const ShowOptions& show, const HostsOptions& options) {
  const std::string path = "/api/banyan/hosts";
  const std::string force = options.force ? "?force=true" : "";
  runtime::HttpCall call{.method = "POST", .target = path};
  if (options.verb == "add") {
    call.body = json{{"host", options.host}}.dump();
  } else {
    const std::string host = path + "/" + runtime::percent_encode(options.host);
    call.target = (options.verb == "drain" ? host + "/drain" : host) + force;
    if (options.verb == "remove") call.method = "DELETE";
  }
  const auto answer = call_raw(show.gateway, call);
  if (!answer) return complain(answer.error());
  if (answer->status != 204) return complain(error_of(*answer));
  if (options.verb == "drain" && !options.no_wait) return await_drained(show, options.host);
  const std::string what = options.verb == "add"     ? " takes part again"
                           : options.verb == "drain" ? " is being drained; `banyan hosts` shows how far it is"
                                                     : " is removed; its host agent can be stopped";
  return print_answer(show, json::object(), "host " + options.host + what + "\n");
}

}  // namespace banyan::cli
