// Answers to requests of REST.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/gateway_events.h"

namespace banyan::node {

/// The answer to a request of REST. Where no Content-Type is named, the body is JSON.
struct Answer {
  int status = 200;
  std::string body = {};
  std::map<std::string, std::string> headers = {};
  std::vector<std::string> cookies = {};  ///< values of Set-Cookie
};
/// Nothing when the answer comes later.
using AnswerNow = std::optional<Answer>;

/// `{"reason", "message"}`: the HTTP status in words, and what a person is to know and do.
Answer error_answer(int status, std::string_view message);
/// The effect that gives the answer.
HttpReply reply_of(RequestId request, Answer answer);
/// The same for error_answer().
HttpReply error_reply(RequestId request, int status, std::string_view message);
/// What is said to those who wait when their session ends.
constexpr std::string_view kShutDown = "The kernel was shut down meanwhile.";
/// The answer to requests that wait then.
HttpReply ended_reply(RequestId request);

}  // namespace banyan::node
