#include "node/gateway_operator.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "node/gateway_models.h"

namespace banyan::node {

using nlohmann::json;

AnswerNow OperatorApi::overview(const HttpRequest& request, const HttpTarget& target) {
  const std::string what = target.word(2);
  if (what == "hosts" && request.method == "POST") return add_host(request);
  if (request.method != "GET") return error_answer(405, what == "hosts" ? "Use GET or POST." : "Use GET.");
  if (what == "status") return Answer{200, operator_status(gateway_, sessions_, gateway_.started().wall), {}};
  if (what == "hosts") return Answer{200, operator_hosts(gateway_, sessions_), {}};
  if (what == "sessions") return Answer{200, operator_sessions(gateway_, sessions_), {}};
  return error_answer(404, "/api/banyan has 'status', 'hosts', 'sessions' and 'strays/ID'.");
}

AnswerNow OperatorApi::stray(const HttpRequest& request, const HttpTarget& target) {
  if (request.method != "DELETE") return error_answer(405, "Use DELETE.");
  const SessionId id{target.word(3)};
  if (!founded_.strayed(id))
    return error_answer(404,
                        "No host tells of a session " + id.value +
                            " that the control store does not know; GET /api/banyan/hosts lists 'strays'.");
  founded_.close_stray(id);
  return Answer{204, {}, {}};
}

AnswerNow OperatorApi::add_host(const HttpRequest& request) {
  const json body = json::parse(request.body, nullptr, false);
  const auto name = body.is_object() ? body.find("host") : body.end();
  if (name == body.end() || !name->is_string())
    return error_answer(400, "'host' must be the name of a host.");
  if (directory_.add({name->get<std::string>()}, request.id)) return std::nullopt;
  return error_answer(
      404, "There has never been a host '" + name->get<std::string>() +
               "'. A new host registers itself: start its agent with a file that names this gateway "
               "in [peers].");
}

AnswerNow OperatorApi::host(const HttpRequest& request, const HttpTarget& target) {
  const HostId host{target.word(3)};
  const bool drains = target.path.size() == 5;
  if (drains && target.word(4) != "drain") return error_answer(404, "A host has 'drain' only.");
  if (request.method != (drains ? "POST" : "DELETE"))
    return error_answer(405, drains ? "Use POST." : "Use DELETE.");
  if (!drains && directory_.removed(host))
    return Answer{204, {}, {}};  // asked again after a broken connection
  if (!gateway_.hosts().contains(host))
    return error_answer(404, "There is no host '" + host.value + "'; `banyan hosts` lists them.");
  const auto query = target.query.find("force");
  if (query != target.query.end() && query->second != "true" && query->second != "false")
    return error_answer(400, "'force' must be true or false.");
  const bool force = query != target.query.end() && query->second == "true";
  if (drains) {
    directory_.drain(host, force, request.id);
    return std::nullopt;
  }
  const std::size_t held = sessions_on(gateway_, sessions_, host).size();
  if (held > 0 && !force)
    return error_answer(409, std::to_string(held) + (held == 1 ? " session has" : " sessions have") +
                                 " a replica on host " + host.value +
                                 ". Drain it first: `banyan hosts drain " + host.value +
                                 "`. When the host is gone for good, remove it with --force.");
  directory_.remove(host, request.id);
  for (const auto& [id, session] : sessions_.all()) session->host_down(host);
  return std::nullopt;
}

AnswerNow OperatorApi::session(const HttpRequest& request, const HttpTarget& target) {
  GatewaySession* const found = sessions_.existing({target.word(3)});
  if (found == nullptr)
    return error_answer(404,
                        "There is no session " + target.word(3) + "; GET /api/banyan/sessions lists them.");
  const std::string what = target.word(4);
  if (target.path.size() == 6)
    return what == "chunks" ? chunk(request, target, *found)
                            : error_answer(404, "There is no such resource.");
  const auto query = [&](const char* key) {
    const auto value = target.query.find(key);
    return value == target.query.end() ? std::string() : value->second;
  };
  if (what == "export") {
    if (request.method != "GET") return error_answer(405, "Use GET.");
    session::ExportRequest wanted;
    if (const auto values = query("values"); !values.empty()) wanted.values = values;
    if (wanted.values != "head" && wanted.values != "least" && wanted.values != "all")
      return error_answer(400, "'values' is head, least or all.");
    if (const auto rate = query("bytes_per_s"); !rate.empty()) {
      const char* const end = rate.data() + rate.size();
      const auto read = std::from_chars(rate.data(), end, wanted.bytes_per_second);
      if (read.ec != std::errc() || read.ptr != end || !std::isfinite(wanted.bytes_per_second) ||
          wanted.bytes_per_second < 1)
        return error_answer(400, "'bytes_per_s' is a number from 1 on.");
    }
    found->questions().export_state(request.id, wanted);
    return std::nullopt;
  }
  if (what == "cells") {
    if (request.method != "GET") return error_answer(405, "Use GET.");
    CommitId after;
    const std::string text = query("after");
    const auto read = std::from_chars(text.data(), text.data() + text.size(), after.value);
    if (!text.empty() && (read.ec != std::errc() || read.ptr != text.data() + text.size()))
      return error_answer(400, "'after' is a number: 'last' of an earlier answer.");
    found->questions().tell_cells(request.id, after);
    return std::nullopt;
  }
  const bool known =
      what == "history" || what == "suspend" || what == "resume" || what == "migrate" || what == "import";
  if (!known)
    return error_answer(
        404,
        "A session has 'cells', 'history', 'suspend', 'resume', 'migrate', 'export', 'import' and 'chunks'.");
  if (request.method != "POST") return error_answer(405, "Use POST.");
  if (what == "history") {
    found->questions().ask_history(request.id, request.body);
    return std::nullopt;
  }
  if (what == "import") {
    if (!is_uuid(query("upload")))
      return error_answer(400, "Say by ?upload=UUID for which import its chunks were brought.");
    found->questions().import_state(request.id, query("upload"), Blob(request.body));
    return std::nullopt;
  }
  const json body = request.body.empty() ? json::object() : json::parse(request.body, nullptr, false);
  if (!body.is_object()) return error_answer(400, "The body is no JSON object.");
  const auto forced = body.find("force");
  if (forced != body.end() && !forced->is_boolean())
    return error_answer(400, "'force' must be true or false.");
  const bool force = forced != body.end() && *forced == true;
  if (what == "suspend") {
    found->operations().suspend(request.id, force);
  } else if (what == "resume") {
    found->operations().resume(request.id);
  } else {
    const auto host = body.find("host");
    if (host == body.end() || !host->is_string())
      return error_answer(400, "'host' must be the name of a host.");
    found->operations().migrate(request.id, {host->get<std::string>()}, force);
  }
  return std::nullopt;
}

AnswerNow OperatorApi::chunk(const HttpRequest& request, const HttpTarget& target, GatewaySession& session) {
  const auto digest = digest_from_hex(target.word(5));
  if (!digest) return error_answer(400, "A chunk's name has 32 hexadecimal digits.");
  std::vector<HostId> hosts;
  for (const auto& [replica, host] : session.record().committed) {
    if (gateway_.usable(host) || request.method == "PUT") hosts.push_back(host);
  }
  if (request.method == "GET") {
    session.transfers().read(request.id, *digest, std::move(hosts));
    return std::nullopt;
  }
  if (request.method != "PUT") return error_answer(405, "Use GET or PUT.");
  const auto upload = target.query.find("upload");
  if (upload == target.query.end() || !is_uuid(upload->second))
    return error_answer(400, "Say by ?upload=UUID for which import the chunk is.");
  if (const ReplicaReport* const newest = session.reports().newest();
      newest != nullptr && newest->last.value > 0)
    return error_answer(409, "Chunks are brought to a session in which nothing has run yet.");
  if (request.body.empty() || digest_of(request.body) != *digest)
    return error_answer(400, "The body is not the chunk of this name.");
  session.transfers().write(request.id, upload->second, *digest, Blob(request.body), hosts);
  return std::nullopt;
}

}  // namespace banyan::node
