#include "node/gateway_answers.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "node/gateway_messages.h"

namespace banyan::node {

namespace {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Error";
  }
}

}  // namespace

Answer error_answer(int status, std::string_view message) {
  return {status, dump({{"reason", reason_phrase(status)}, {"message", message}})};
}

HttpReply reply_of(RequestId request, Answer answer) {
  return {request, answer.status, std::move(answer.headers), std::move(answer.body),
          std::move(answer.cookies)};
}

HttpReply error_reply(RequestId request, int status, std::string_view message) {
  return reply_of(request, error_answer(status, message));
}

HttpReply ended_reply(RequestId request) { return error_reply(request, 404, kShutDown); }

}  // namespace banyan::node
