#include "node/gateway_questions.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/session/cells.h"
#include "node/gateway_answers.h"
#include "node/gateway_messages.h"

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

api::AnyObject object_of(std::string_view text) {
  json object = jupyter::object_of(text);
  return object.is_null() ? api::AnyObject() : api::AnyObject{std::move(object)};
}

}  // namespace

void Questions::ask_history(RequestId request, std::string question) {
  if (const auto asked = session::read_history_question(question); !asked)
    return gateway_.emit(error_reply(request, 400, asked.error().message));
  ask(request, std::move(question), Question::Form::kJson);
}

void Questions::export_state(RequestId request, const session::question::Export& wanted) {
  ask(request, session::text_of(wanted), Question::Form::kBytes);
}

void Questions::tell_cells(RequestId request, CommitId after) {
  ask(request, session::text_of(session::question::Cells{after.value}), Question::Form::kCells);
}

void Questions::import_state(RequestId request, const std::string& upload, Blob snapshot) {
  last_use_.note();
  if (questions_.contains(upload))
    return gateway_.emit(error_reply(request, 409, "This import is under way already."));
  put(upload, {.request = request, .unsent = ImportSession{record_.id, upload, std::move(snapshot)}});
}

void Questions::ask(RequestId request, std::string question, Question::Form form) {
  const std::string id = gateway_.rng().uuid();
  put(id, {.request = request, .form = form, .unsent = AskSession{record_.id, id, std::move(question)}});
}

void Questions::put(const std::string& id, Question question) {
  if (!members_.voters().can_serve())
    return gateway_.emit(error_reply(question.request, 503, outage_.reason()));
  question.asked_at = gateway_.now().mono;
  send(questions_[id] = std::move(question));
}

void Questions::send(Question& question) {
  const auto host = answering_host();
  if (!question.unsent || !host) return;
  question.host = *host;
  gateway_.send(*host, *std::exchange(question.unsent, std::nullopt));
}

std::optional<HostId> Questions::answering_host() const {
  if (const auto host = cells_.executor(); host && gateway_.usable(*host)) return host;
  const ReplicaReport* const newest = reports_.newest();
  if (newest == nullptr || newest->leader == ReplicaId{})
    return std::nullopt;  // a new session elects one soon
  for (const auto& [replica, host] : record_.committed) {
    if (members_.voters().can_run(replica, host) && reports_.on(host) != nullptr) return host;
  }
  return std::nullopt;
}

void Questions::on_answer(const SessionAnswer& answer) {
  const auto found = questions_.extract(answer.request);
  if (!found) return;
  const Question& question = found.mapped();
  if (answer.refused)
    return gateway_.emit(error_reply(question.request, http_status(*answer.refused), answer.reason));
  HttpReply reply{question.request, 200, {}, answer.content};
  using Form = Question::Form;
  if (question.form == Form::kBytes) reply.headers["Content-Type"] = "application/octet-stream";
  if (question.form == Form::kCells) reply.body = with_waiting(answer.content);
  gateway_.emit(std::move(reply));
}

/// The host's answer with what the gateway alone knows: accepted cells that have not ended, in order, and the
/// input_request that waits.
std::string Questions::with_waiting(const std::string& content) const {
  session::answer::WaitingCells waiting;
  for (const AcceptedCell* const cell : cells_.accepted())
    waiting.waiting.push_back({.cell_id = text_member(cell->record.request.metadata, "cellId"),
                               .execution = cell->execution.value});
  if (const jupyter::Message* const input = channels_.input()) {
    waiting.input.value = {.header = object_of(input->header),
                           .parent_header = object_of(input->parent_header),
                           .content = object_of(input->content.view())};
  }
  std::string text = api::to_text(waiting);
  text.back() = ',';  // one object of both: the host's part may be large
  return text.append(content, 1);
}

void Questions::watch() {
  for (auto it = questions_.begin(); it != questions_.end();) {
    const auto asked = it++;
    Question& question = asked->second;
    send(question);
    const bool open = question.unsent ? members_.voters().can_serve() : gateway_.usable(question.host);
    if (open && gateway_.now().mono - question.asked_at < kAnswerWithin) continue;
    const std::string text = question.unsent ? "No replica of the session can answer now; try again."
                                             : "Host " + question.host.value +
                                                   " did not answer. If this was to change something, look "
                                                   "whether it did.";
    gateway_.emit(error_reply(question.request, 503, text));
    questions_.erase(asked);
  }
}

void Questions::close() {
  for (const auto& [id, question] : questions_) gateway_.emit(ended_reply(question.request));
}

}  // namespace banyan::node
