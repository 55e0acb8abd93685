#include "cli/session_transfer.h"
#include "base/hex.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <utility>

#include "cli/gateway_call.h"
#include "cli/stop_signals.h"
#include "cli/table/table.h"
#include "core/planner/plan.h"
#include "core/session/lineage.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

constexpr std::size_t kStateMax = 256 << 20;  // bytes; a gateway takes no more (node::Sizes::message_max)

std::string uuid() {
  std::random_device random;
  std::string text = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
  for (char& c : text) {
    if (c == 'x') c = "0123456789abcdef"[random() % 16];
  }
  return text;
}

bool is_of_user(const std::string& name) { return !name.starts_with('<'); }

}  // namespace

Result<ExportedSession> fetch_session(const runtime::AddressOptions& gateway, const std::string& id,
                                      const std::string& values, std::uint64_t bytes_per_s) {
  const std::string what = "export?values=" + values + "&bytes_per_s=" + std::to_string(bytes_per_s);
  auto answer = call_raw(
      gateway,
      {.target = session_path(id, what), .timeout = std::chrono::seconds(120), .body_bytes_max = kStateMax});
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status != 200) return tl::unexpected(error_of(*answer));
  auto session = session::Session::restore(Blob(answer->body));
  if (!session) return tl::unexpected(session.error());
  std::vector<FileChunk> chunks = chunks_of(*session);
  return ExportedSession{id, std::move(answer->body), std::move(*session), std::move(chunks)};
}

Result<std::string> fetch_chunk(const runtime::AddressOptions& gateway, const std::string& session,
                                const FileChunk& chunk) {
  auto bytes = call_raw(gateway, {.target = session_path(session, "chunks/" + to_hex(chunk.digest)),
                                  .body_bytes_max = chunk.size + 1});
  if (!bytes) return tl::unexpected(bytes.error());
  if (bytes->status != 200) return tl::unexpected(error_of(*bytes));
  if (digest_of(bytes->body) != chunk.digest)
    return fail(ErrorKind::kCorrupt, "a chunk came damaged; try again");
  return std::move(bytes->body);
}

std::vector<FileChunk> chunks_of(const session::Session& session) {
  std::vector<FileChunk> chunks;
  std::set<Digest> seen;
  for (const auto& [commit, node] : session.tree().nodes()) {
    for (const auto& [name, version] : node.change.bound) {
      const session::CoVariable& value = session.co_variable(version);
      for (const session::Chunk& block : value.blocks)
        if (value.kept && !block.bytes && seen.insert(block.digest).second)
          chunks.push_back({block.digest, block.size});
    }
  }
  return chunks;
}

json manifest_of(const session::Session& session) {
  const session::View& view = session.view();
  const planner::Plan plan = planner::plan(view, {}, session::lineage_of(session));
  json variables = json::array();
  for (const auto& [name, version] : view) {
    const session::CoVariable& value = session.co_variable(version);
    json one = {
        {"name", name}, {"bytes", value.bytes()}, {"state", value.serialised() ? "stored" : "made again"}};
    if (const auto lost = plan.lost.find(version); lost != plan.lost.end()) {
      one["state"] = "lost";
      one["reason"] = lost->second;
    }
    variables.push_back(std::move(one));
  }
  char host[256] = "";
  (void)gethostname(host, sizeof host - 1);
  const passwd* const user = getpwuid(geteuid());
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char at[32] = "";
  std::strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {{"session", session.id().value},
          {"kernel", session.spec().kernel_name},
          {"host", host},
          {"user", user == nullptr ? "" : user->pw_name},
          {"at", at},
          {"cells", session.history().size()},
          {"commits", session.tree().nodes().size()},
          {"last_commit", session.last().value},
          {"amended", session.amended()},
          {"runs", plan.steps.size()},
          {"variables", std::move(variables)}};
}

std::string contents_text(const json& manifest) {
  const std::string python = plain(manifest, "python");
  std::string text = "session " + plain(manifest, "session") + ", " + plain(manifest, "kernel") + ", " +
                     (python.empty() || python == "-" ? "" : "Python " + python + ", ") +
                     plain(manifest, "cells") + " cells; exported on " + plain(manifest, "host") + " by " +
                     plain(manifest, "user") + ", " + plain(manifest, "at") + "\n";
  std::vector<std::vector<Cell>> rows;
  bool environment = false;
  for (const json& one : manifest.value("variables", json::array())) {
    environment |= text_of(one, "name") == "<environ>" && text_of(one, "state") == "stored";
    if (!is_of_user(text_of(one, "name"))) continue;
    const std::string state = text_of(one, "state");
    rows.push_back({{text_of(one, "name")},
                    {bytes_text(number_of(one, "bytes"))},
                    {state, state == "lost"     ? Colour::kRed
                            : state == "stored" ? Colour::kGreen
                                                : Colour::kYellow},
                    {one.contains("reason") ? text_of(one, "reason") : ""}});
  }
  text += rows.empty() ? "no variables\n"
                       : render({{"VARIABLE"}, {"BYTES", Align::kRight}, {"VALUE"}, {"WHY"}}, rows,
                                stdout_wants_colour());
  if (environment) text += "with it goes what cells have set in os.environ\n";
  if (number_of(manifest, "runs") > 0)
    text += text_of(manifest, "runs") + " cells run again where it is opened\n";
  return text;
}

std::string state_without(const std::string& state, const std::set<Digest>& lost) {
  const auto session = session::Session::restore(Blob(state));
  if (lost.empty() || !session) return state;  // the gateway refuses it if it is no state
  std::set<session::CoVariableId> whole;
  for (const auto& [commit, node] : session->tree().nodes()) {
    for (const auto& [name, version] : node.change.bound) {
      const session::CoVariable& value = session->co_variable(version);
      const auto gone = [&](const session::Chunk& block) { return lost.contains(block.digest); };
      if (value.kept && std::ranges::none_of(value.blocks, gone)) whole.insert(version);
    }
  }
  return std::string(session->snapshot_with(whole).view());
}

std::string state_from(const std::string& state, session::Elsewhere chunks) {
  const auto session = session::Session::restore(Blob(state));
  if (!session) return state;  // the gateway refuses it
  std::erase_if(chunks.sha256, [&](const auto& item) { return !session->chunks().contains(item.first); });
  return std::string(session->snapshot_from(std::move(chunks)).view());
}

Result<std::string> found_session(const runtime::AddressOptions& gateway, const std::string& kernel,
                                  const std::function<Result<Done>(const BringChunk&)>& bring,
                                  const std::function<std::string()>& state) {
  const auto created =
      call_raw(gateway, {.method = "POST", .target = "/api/kernels", .body = json{{"name", kernel}}.dump()});
  if (!created) return tl::unexpected(created.error());
  if (created->status != 201) return tl::unexpected(error_of(*created));
  const std::string session = text_of(json::parse(created->body, nullptr, false), "id");
  const std::string upload = uuid();
  const auto call = [&](runtime::HttpCall request, int status) -> Result<Done> {
    if (StopSignals::came()) return fail(ErrorKind::kUnavailable, "interrupted; nothing was imported");
    const auto answer = call_raw(gateway, std::move(request));
    if (!answer) return tl::unexpected(answer.error());
    if (answer->status != status) return tl::unexpected(error_of(*answer));
    return Done{};
  };
  auto done = bring([&](const Digest& digest, std::string bytes) {
    return call({.method = "PUT",
                 .target = session_path(session, "chunks/" + to_hex(digest) + "?upload=" + upload),
                 .body = std::move(bytes)},
                204);
  });
  if (done)
    done = call(
        {.method = "POST", .target = session_path(session, "import?upload=" + upload), .body = state()}, 200);
  if (done) return session;
  (void)call_raw(gateway, {.method = "DELETE", .target = "/api/kernels/" + session});
  return tl::unexpected(done.error());
}

Result<std::string> signer_of(const Keys& keys, const std::string& public_key, const std::string& trust) {
  if (public_key.empty()) return fail(ErrorKind::kDenied, "nobody has signed it");
  auto signer = keys.name_of(public_key);
  if (signer || trust.empty()) return signer;
  if (const auto trusted = keys.trust(public_key, trust); !trusted) return tl::unexpected(trusted.error());
  return trust;
}

std::string signature_text(const std::string& public_key, const Result<std::string>& signer) {
  if (public_key.empty()) return "no signature\n";
  return "signed by " + signer.value_or("somebody unknown") + ", key " + hex_text(public_key) + "\n";
}

Error not_taken(const std::string& what, const Error& why) {
  return {ErrorKind::kInvalid, what + " is not imported: " + why.message +
                                   ", and opening it runs what is in it. If you know where it is from, "
                                   "--trust NAME takes files of its signer, --unsigned this one"};
}

}  // namespace banyan::cli
