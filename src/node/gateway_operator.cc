#include "node/gateway_operator.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "core/api/jupyter.h"
#include "core/api/operator.h"
#include "core/session/answers.h"
#include "core/session/cells.h"
#include "node/gateway_metrics.h"
#include "node/gateway_models.h"

namespace banyan::node {

namespace {

const api::Parameter kForce{"force", "true: also where something is lost by it", api::Json<bool>::schema};
const api::Parameter kUpload{"upload", "a UUID that names the import", api::Json<std::string>::schema, true};

/// Whether the query says `force`.
Result<bool> forced(const Call& call) {
  const auto force = call.target.query.find("force");
  if (force == call.target.query.end()) return false;
  if (force->second != "true" && force->second != "false")
    return fail(ErrorKind::kInvalid, "'force' must be true or false.");
  return force->second == "true";
}

template <class Number>
bool parse(const std::string& text, Number& into) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), into);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

}  // namespace

void OperatorApi::add_to(Routes& routes) {
  routes.add({.method = "GET",
              .path = "/api/banyan/status",
              .id = "status",
              .summary = "The platform at a glance.",
              .replies = {api::json_reply<api::Status>(200, "What there is, and how it is.")}},
             [this](const Call&) {
               return Answer{200,
                             api::to_text(operator_status(gateway_, sessions_, gateway_.started().wall))};
             });
  routes.add({.method = "GET",
              .path = "/api/banyan/openapi.json",
              .id = "openapi",
              .summary = "This description.",
              .replies = {api::json_reply<api::AnyObject>(200, "An OpenAPI document.")}},
             [&routes](const Call&) { return Answer{200, routes.description()}; });
  routes.add({.method = "GET",
              .path = "/metrics",
              .id = "metrics",
              .summary = "Counts and times for Prometheus.",
              .replies = {{200, "The page, in Prometheus' text format.", api::Body{"text/plain"}}}},
             [this](const Call&) {
               return Answer{
                   200, metrics_page(gateway_, sessions_).text(), {{"Content-Type", metrics::Page::kMedia}}};
             });
  add_hosts(routes);
  add_sessions(routes);
  add_transfers(routes);
}

void OperatorApi::add_hosts(Routes& routes) {
  routes.add({.method = "GET",
              .path = "/api/banyan/hosts",
              .id = "hosts",
              .summary = "All hosts.",
              .replies = {api::json_reply<std::vector<api::Host>>(200, "All that there are.")}},
             [this](const Call&) { return Answer{200, api::to_text(operator_hosts(gateway_, sessions_))}; });
  routes.add({.method = "GET",
              .path = "/api/banyan/gpus",
              .id = "gpus",
              .summary = "The GPUs of all hosts, and which sessions' cells have them.",
              .replies = {api::json_reply<std::vector<api::Gpu>>(200, "All that there are.")}},
             [this](const Call&) { return Answer{200, api::to_text(operator_gpus(gateway_))}; });
  routes.add(
      {.method = "GET",
       .path = "/api/banyan/queue",
       .id = "queue",
       .summary = "The cells that wait for GPUs.",
       .replies = {api::json_reply<std::vector<api::QueuedCell>>(200, "In the order in which they came.")}},
      [this](const Call&) { return Answer{200, api::to_text(operator_queue(gateway_, sessions_))}; });
  routes.add<api::NewHost>(
      {.method = "POST",
       .path = "/api/banyan/hosts",
       .id = "addHost",
       .summary = "A host that is drained or was removed takes part again.",
       .replies = {{204, "It takes part."}}},
      [this](const Call& call, const api::NewHost& wanted) { return add_host(call, wanted.host); });
  routes.add({.method = "POST",
              .path = "/api/banyan/hosts/{host}/drain",
              .id = "drainHost",
              .summary = "Moves the sessions of a host to others, and gives it no new ones.",
              .query = {kForce},
              .replies = {{204, "The moves begin; GET /api/banyan/hosts says in `stay` how far they are."}}},
             [this](const Call& call) { return drain(call); });
  routes.add(
      {.method = "DELETE",
       .path = "/api/banyan/hosts/{host}",
       .id = "removeHost",
       .summary = "A host is none of the platform's any more.",
       .query = {kForce},
       .replies = {{204, "It is none any more."},
                   api::json_reply<api::Failure>(409, "Sessions have replicas there: drain it first.")}},
      [this](const Call& call) { return remove_host(call); });
  routes.add({.method = "DELETE",
              .path = "/api/banyan/strays/{session}",
              .id = "endStray",
              .summary = "Deletes what hosts hold of a session that the control store does not know.",
              .replies = {{204, "The hosts are told."}}},
             [this](const Call& call) { return end_stray(call); });
}

void OperatorApi::add_sessions(Routes& routes) {
  const std::string path = "/api/banyan/sessions/{session}";
  routes.add(
      {.method = "GET",
       .path = "/api/banyan/sessions",
       .id = "sessions",
       .summary = "All sessions, with their replicas.",
       .replies = {api::json_reply<std::vector<api::Session>>(200, "All that there are.")}},
      [this](const Call&) { return Answer{200, api::to_text(operator_sessions(gateway_, sessions_))}; });
  routes.add({.method = "GET",
              .path = path + "/cells",
              .id = "cells",
              .summary = "What the cells have put out, for a front end that was not there.",
              .query = {{"after", "`last` of an earlier answer", api::Json<std::uint64_t>::schema}},
              .replies = {api::json_reply<session::answer::SessionCells>(
                  200, "The cells that have ended since, and what waits.")}},
             [this](const Call& call) {
               return with_session(call, [&](GatewaySession& session) { return cells(call, session); });
             });
  routes.add(
      {.method = "POST",
       .path = path + "/history",
       .id = "history",
       .summary = "A question about the history, or a change of it.",
       .request = api::Body{.schema = session::question_schema},
       .replies = {{200, "The answer to the question.", api::Body{.schema = session::answer::schema}}}},
      [this](const Call& call) {
        return with_session(call, [&](GatewaySession& session) {
          session.questions().ask_history(call.request.id, call.request.body);
          return AnswerNow();
        });
      });
  const api::Reply would_lose = api::json_reply<api::Failure>(409, "It would lose what the message names.");
  routes.add<api::Forced>(
      {.method = "POST",
       .path = path + "/suspend",
       .id = "suspendSession",
       .summary = "Ends a session's processes; its variables stay in the log.",
       .replies = {api::json_reply<api::Suspended>(200, "No process is left."), would_lose}},
      [this](const Call& call, const api::Forced& wanted) {
        return with_session(call, [&](GatewaySession& session) {
          session.operations().suspend(call.request.id, wanted.force.value_or(false));
          return AnswerNow();
        });
      });
  routes.add<api::Forced>({.method = "POST",
                           .path = path + "/resume",
                           .id = "resumeSession",
                           .summary = "Gives a suspended session its processes again.",
                           .replies = {api::json_reply<api::Resumed>(200, "One has all variables.")}},
                          [this](const Call& call, const api::Forced&) {
                            return with_session(call, [&](GatewaySession& session) {
                              session.operations().resume(call.request.id);
                              return AnswerNow();
                            });
                          });
  routes.add<api::Move>({.method = "POST",
                         .path = path + "/migrate",
                         .id = "moveSession",
                         .summary = "Has a session's cells run on another host.",
                         .replies = {api::json_reply<api::Moved>(200, "They run there now."), would_lose}},
                        [this](const Call& call, const api::Move& wanted) {
                          return with_session(call, [&](GatewaySession& session) {
                            session.operations().migrate(call.request.id, {wanted.host},
                                                         wanted.force.value_or(false));
                            return AnswerNow();
                          });
                        });
}

void OperatorApi::add_transfers(Routes& routes) {
  const std::string path = "/api/banyan/sessions/{session}";
  routes.add({.method = "GET",
              .path = path + "/export",
              .id = "exportSession",
              .summary = "The state of a session; its chunks are read one by one.",
              .query = {{"values", "head, least or all: which values go along"},
                        {"bytes_per_s", "how fast the file is written", api::Json<double>::schema}},
              .replies = {{200, "The state.", api::Body{std::string(api::kBytes)}}}},
             [this](const Call& call) {
               return with_session(call,
                                   [&](GatewaySession& session) { return export_state(call, session); });
             });
  routes.add({.method = "POST",
              .path = path + "/import",
              .id = "importSession",
              .summary = "Gives a session in which nothing has run the state of another one.",
              .query = {kUpload},
              .request = api::Body{std::string(api::kBytes)},
              .replies = {api::json_reply<session::answer::Nothing>(200, "It has the state.")}},
             [this](const Call& call) {
               return with_session(call, [&](GatewaySession& session) -> AnswerNow {
                 const std::string upload = call.query("upload");
                 if (!is_uuid(upload))
                   return error_answer(400, "Say by ?upload=UUID for which import its chunks were brought.");
                 session.questions().import_state(call.request.id, upload, Blob(call.request.body));
                 return std::nullopt;
               });
             });
  routes.add({.method = "GET",
              .path = path + "/chunks/{digest}",
              .id = "chunk",
              .summary = "A chunk of a session.",
              .replies = {{200, "Its bytes.", api::Body{std::string(api::kBytes)}}}},
             [this](const Call& call) {
               return with_session(call, [&](GatewaySession& session) { return read_chunk(call, session); });
             });
  routes.add({.method = "PUT",
              .path = path + "/chunks/{digest}",
              .id = "bringChunk",
              .summary = "Brings a chunk for an import.",
              .query = {kUpload},
              .request = api::Body{std::string(api::kBytes)},
              .replies = {{204, "A majority of the session's hosts has it."}}},
             [this](const Call& call) {
               return with_session(call, [&](GatewaySession& session) { return write_chunk(call, session); });
             });
}

AnswerNow OperatorApi::end_stray(const Call& call) {
  const SessionId id{call.word("session")};
  if (!founded_.strayed(id))
    return error_answer(404,
                        "No host tells of a session " + id.value +
                            " that the control store does not know; GET /api/banyan/hosts lists 'strays'.");
  founded_.close_stray(id);
  return Answer{204};
}

AnswerNow OperatorApi::add_host(const Call& call, const std::string& host) {
  if (directory_.add({host}, call.request.id)) return std::nullopt;
  return error_answer(
      404, "There has never been a host '" + host +
               "'. A new host registers itself: start its agent with a file that names this gateway "
               "in [peers].");
}

AnswerNow OperatorApi::drain(const Call& call) {
  const HostId host{call.word("host")};
  if (!gateway_.hosts().contains(host))
    return error_answer(404, "There is no host '" + host.value + "'; `banyan hosts` lists them.");
  const auto force = forced(call);
  if (!force) return error_answer(400, force.error().message);
  directory_.drain(host, *force, call.request.id);
  return std::nullopt;
}

AnswerNow OperatorApi::remove_host(const Call& call) {
  const HostId host{call.word("host")};
  if (directory_.removed(host)) return Answer{204};  // asked again after a broken connection
  if (!gateway_.hosts().contains(host))
    return error_answer(404, "There is no host '" + host.value + "'; `banyan hosts` lists them.");
  const auto force = forced(call);
  if (!force) return error_answer(400, force.error().message);
  const std::size_t held = sessions_on(gateway_, sessions_, host).size();
  if (held > 0 && !*force)
    return error_answer(409, std::to_string(held) + (held == 1 ? " session has" : " sessions have") +
                                 " a replica on host " + host.value +
                                 ". Drain it first: `banyan hosts drain " + host.value +
                                 "`. When the host is gone for good, remove it with --force.");
  for (const auto& [id, session] : sessions_.all()) session->host_leaves(host);
  directory_.remove(host, call.request.id);
  for (const auto& [id, session] : sessions_.all()) session->host_down(host);
  return std::nullopt;
}

AnswerNow OperatorApi::with_session(const Call& call,
                                    const std::function<AnswerNow(GatewaySession&)>& action) {
  const std::string id = call.word("session");
  GatewaySession* const found = sessions_.existing({id});
  if (found == nullptr)
    return error_answer(404, "There is no session " + id + "; GET /api/banyan/sessions lists them.");
  return action(*found);
}

AnswerNow OperatorApi::cells(const Call& call, GatewaySession& session) {
  CommitId after;
  const std::string text = call.query("after");
  if (!text.empty() && !parse(text, after.value))
    return error_answer(400, "'after' is a number: 'last' of an earlier answer.");
  session.questions().tell_cells(call.request.id, after);
  return std::nullopt;
}

AnswerNow OperatorApi::export_state(const Call& call, GatewaySession& session) {
  session::question::Export wanted;
  if (const auto values = call.query("values"); !values.empty()) wanted.values = values;
  const std::string which = wanted.values.value_or("head");
  if (which != "head" && which != "least" && which != "all")
    return error_answer(400, "'values' is head, least or all.");
  if (const auto text = call.query("bytes_per_s"); !text.empty()) {
    double rate = 0;
    if (!parse(text, rate) || !std::isfinite(rate) || rate < 1)
      return error_answer(400, "'bytes_per_s' is a number from 1 on.");
    wanted.bytes_per_s = rate;
  }
  session.questions().export_state(call.request.id, wanted);
  return std::nullopt;
}

AnswerNow OperatorApi::read_chunk(const Call& call, GatewaySession& session) {
  const auto digest = digest_from_hex(call.word("digest"));
  if (!digest) return error_answer(400, "A chunk's name has 32 hexadecimal digits.");
  std::vector<HostId> hosts;
  for (const auto& [replica, host] : session.record().committed)
    if (gateway_.usable(host)) hosts.push_back(host);
  session.transfers().read(call.request.id, *digest, std::move(hosts));
  return std::nullopt;
}

AnswerNow OperatorApi::write_chunk(const Call& call, GatewaySession& session) {
  const auto digest = digest_from_hex(call.word("digest"));
  if (!digest) return error_answer(400, "A chunk's name has 32 hexadecimal digits.");
  const std::string upload = call.query("upload");
  if (!is_uuid(upload)) return error_answer(400, "Say by ?upload=UUID for which import the chunk is.");
  if (const ReplicaReport* const newest = session.reports().newest();
      newest != nullptr && newest->last.value > 0)
    return error_answer(409, "Chunks are brought to a session in which nothing has run yet.");
  if (call.request.body.empty() || digest_of(call.request.body) != *digest)
    return error_answer(400, "The body is not the chunk of this name.");
  std::vector<HostId> hosts;
  for (const auto& [replica, host] : session.record().committed) hosts.push_back(host);
  session.transfers().write(call.request.id, upload, *digest, Blob(call.request.body), hosts);
  return std::nullopt;
}

}  // namespace banyan::node
