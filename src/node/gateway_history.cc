// Questions of REST about a session's history: a replica answers them.

#include <nlohmann/json.hpp>
#include <utility>

#include "core/session/cells.h"
#include "node/gateway_messages.h"
#include "node/gateway_models.h"
#include "node/gateway_session.h"

namespace banyan::node {

namespace {

using nlohmann::json;

constexpr Duration kAnswerWithin = 15s;

int http_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return 400;
    case ErrorKind::kNotFound:
      return 404;
    case ErrorKind::kConflict:
    case ErrorKind::kDenied:
      return 409;
    default:
      return 503;
  }
}

}  // namespace

void GatewaySession::ask_history(RequestId request, std::string question) {
  const std::string id = gateway_.rng().uuid();
  put_question(id, {.request = request}, AskSession{record_.id, id, std::move(question)});
}

void GatewaySession::export_state(RequestId request, const session::ExportRequest& wanted) {
  const std::string id = gateway_.rng().uuid();
  put_question(id, {.request = request, .form = Question::Form::kBytes},
               AskSession{record_.id, id, session::question_of(wanted)});
}

void GatewaySession::tell_cells(RequestId request, CommitId after) {
  const std::string id = gateway_.rng().uuid();
  put_question(id, {.request = request, .form = Question::Form::kCells},
               AskSession{record_.id, id, session::cells_question(after)});
}

/// The host's answer with what the gateway alone knows: accepted cells that have not ended, in order, and the
/// input_request that waits.
std::string GatewaySession::with_waiting(const std::string& content) const {
  json waiting = json::array();
  for (const Cell& cell : queue_)
    waiting.push_back({{"cell_id", text_member(cell.record.request.metadata, "cellId")},
                       {"execution", cell.execution.value}});
  json answer = {{"waiting", std::move(waiting)}, {"input", nullptr}};
  if (input_) {
    answer["input"] = {{"header", json::parse(input_->message.header, nullptr, false)},
                       {"parent_header", json::parse(input_->message.parent_header, nullptr, false)},
                       {"content", json::parse(input_->message.content.view(), nullptr, false)}};
  }
  std::string text = answer.dump(-1, ' ', false, json::error_handler_t::replace);
  text.back() = ',';  // one object of both: the host's part may be large
  return text.append(content, 1);
}

void GatewaySession::import_state(RequestId request, const std::string& upload, Blob snapshot) {
  note_activity();
  if (questions_.contains(upload))
    return gateway_.emit(HttpReply{request, 409, {}, error_body(409, "This import is under way already.")});
  put_question(upload, {.request = request}, ImportSession{record_.id, upload, std::move(snapshot)});
}

/// Asks the executor's host, which knows most, as soon as it is known.
void GatewaySession::put_question(const std::string& id, Question question, PeerMessage message) {
  if (!can_serve()) {
    gateway_.emit(HttpReply{*question.request, 503, {}, error_body(503, reason())});
    return;
  }
  question.asked_at = gateway_.now().mono;
  question.unsent = std::move(message);
  send_question(questions_[id] = std::move(question));
}

/// The executor's host, else any other: a follower's answer knows as much, and takes longer.
std::optional<HostId> GatewaySession::answering_host() const {
  if (const auto host = executor_host(); host && gateway_.usable(*host)) return host;
  const ReplicaReport* const newest = newest_report();
  if (newest == nullptr || newest->leader == ReplicaId{})
    return std::nullopt;  // a new session elects one soon
  for (const auto& [replica, host] : record_.committed) {
    if (members_.can_run(replica, host) && gateway_.report_of(host, record_.id) != nullptr) return host;
  }
  return std::nullopt;
}

void GatewaySession::send_question(Question& question) {
  const auto host = answering_host();
  if (!question.unsent || !host) return;
  question.host = *host;
  gateway_.send(*host, *std::exchange(question.unsent, std::nullopt));
}

void GatewaySession::answered(const SessionAnswer& answer) {
  const auto found = questions_.find(answer.request);
  if (found == questions_.end()) return;
  const Question question = std::move(found->second);
  questions_.erase(found);
  if (!question.request) return log_answered(answer.request, &answer);
  const int status = answer.refused ? http_status(*answer.refused) : 200;
  std::map<std::string, std::string> headers;
  using Form = Question::Form;
  if (question.form == Form::kBytes && status == 200) headers["Content-Type"] = "application/octet-stream";
  gateway_.emit(HttpReply{*question.request, status, std::move(headers),
                          answer.refused                  ? error_body(status, answer.reason)
                          : question.form == Form::kCells ? with_waiting(answer.content)
                                                          : answer.content});
}

void GatewaySession::watch_questions() {
  for (auto it = questions_.begin(); it != questions_.end();) {
    const auto asked = it++;
    Question& question = asked->second;
    send_question(question);
    const bool open = question.unsent ? can_serve() : gateway_.usable(question.host);
    if (open && gateway_.now().mono - question.asked_at < kAnswerWithin) continue;
    if (question.request) {
      const std::string text = question.unsent ? "No replica of the session can answer now; try again."
                                               : "Host " + question.host.value +
                                                     " did not answer. If this was to change something, look "
                                                     "whether it did.";
      gateway_.emit(HttpReply{*question.request, 503, {}, error_body(503, text)});
    } else {
      log_answered(asked->first, nullptr);
    }
    questions_.erase(asked);
  }
}

}  // namespace banyan::node
