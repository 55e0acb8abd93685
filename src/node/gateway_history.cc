// Questions of REST about a session's history: a replica answers them.

#include <utility>

#include "node/gateway_models.h"
#include "node/gateway_session.h"

namespace banyan::node {

namespace {

constexpr Duration kAnswerWithin = 15s;

int http_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return 400;
    case ErrorKind::kNotFound:
      return 404;
    case ErrorKind::kConflict:
      return 409;
    default:
      return 503;
  }
}

}  // namespace

void GatewaySession::ask_history(RequestId request, std::string question) {
  const auto host = executor_host();
  const auto refuse = [&](const std::string& why) {
    gateway_.emit(HttpReply{request, 503, {}, error_body(503, why)});
  };
  if (!host || !gateway_.usable(*host) || !can_serve()) {
    const std::string why = reason();
    return refuse(why.empty() ? "No replica of the session can answer now; try again." : why);
  }
  const std::string id = gateway_.rng().uuid();
  questions_[id] = {request, *host, gateway_.now().mono};
  gateway_.send(*host, AskSession{record_.id, id, std::move(question)});
}

void GatewaySession::answered(const SessionAnswer& answer) {
  const auto question = questions_.find(answer.request);
  if (question == questions_.end()) return;
  const int status = answer.refused ? http_status(*answer.refused) : 200;
  gateway_.emit(HttpReply{question->second.request,
                          status,
                          {},
                          answer.refused ? error_body(status, answer.reason) : answer.content});
  questions_.erase(question);
}

void GatewaySession::watch_questions() {
  std::erase_if(questions_, [&](const auto& item) {
    const Question& question = item.second;
    if (gateway_.usable(question.host) && gateway_.now().mono - question.asked_at < kAnswerWithin)
      return false;
    const std::string text = "Host " + question.host.value +
                             " did not answer. If this was to change something, look whether it did.";
    gateway_.emit(HttpReply{question.request, 503, {}, error_body(503, text)});
    return true;
  });
}

}  // namespace banyan::node
