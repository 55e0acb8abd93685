// The one table of what REST offers: which request goes to whom, and how all of it is described.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/openapi.h"
#include "node/gateway_answers.h"
#include "node/http_target.h"

namespace banyan::node {

/// A request whose operation is known.
struct Call {
  const HttpRequest& request;
  const HttpTarget& target;
  std::map<std::string, std::string> parts = {};  ///< of the path, by their names, as the client wrote them

  /// A part of the path in lower case: ids and names of hosts.
  [[nodiscard]] std::string word(const std::string& part) const { return lower(parts.at(part)); }
  /// A field of the query; empty when it is missing.
  [[nodiscard]] std::string query(const std::string& field) const {
    const auto found = target.query.find(field);
    return found == target.query.end() ? std::string() : found->second;
  }
};

/// Operations and who answers them. The parts of REST add theirs.
class Routes {
 public:
  using Handler = std::function<AnswerNow(const Call&)>;

  void add(api::Operation operation, Handler handler);
  /// The same for an operation whose body is JSON: a body that is not what it is to be is answered with 400
  /// and the field that is wrong. No body is the same as an empty object.
  template <class T>
  void add(api::Operation operation, std::function<AnswerNow(const Call&, T)> handler) {
    operation.request = api::json_body<T>();
    add(std::move(operation), [handler = std::move(handler)](const Call& call) -> AnswerNow {
      auto body = api::from_text<T>(call.request.body.empty() ? "{}" : std::string_view(call.request.body));
      if (!body) return error_answer(400, body.error().message);
      return handler(call, std::move(*body));
    });
  }

  /// Hands the request to whom it is for: 404 where there is nothing, 405 where that cannot be done.
  [[nodiscard]] AnswerNow answer(const HttpRequest& request, const HttpTarget& target) const;
  /// All operations, as an OpenAPI document.
  [[nodiscard]] std::string description() const;

 private:
  struct Route {
    api::Operation operation;
    std::vector<std::string> path;  ///< its parts
    Handler handler;
  };

  std::vector<Route> routes_;
};

}  // namespace banyan::node
