#include "core/session/questions.h"

#include <optional>
#include <utility>

namespace banyan::session {

namespace {

using nlohmann::json;

/// Calls `action` with each type of question, until one says that it is done.
template <class Action, std::size_t... kIndex>
void any_of_them(Action action, std::index_sequence<kIndex...> /*all*/) {
  (void)(action.template operator()<std::variant_alternative_t<kIndex, Question>>() || ...);
}

template <class Action>
void any_of_them(Action action) {
  any_of_them(action, std::make_index_sequence<std::variant_size_v<Question>>());
}

template <class Action>
void any_about_history(Action action) {
  any_of_them(action, std::make_index_sequence<kAboutHistory>());
}

tl::unexpected<Error> no_such_question(const std::string& wanted) {
  std::string all;
  any_about_history([&]<class T>() {
    all += (all.empty() ? "" : ", ") + std::string(T::kName);
    return false;
  });
  return fail(ErrorKind::kInvalid, "a history cannot '" + wanted + "'; it can " + all);
}

}  // namespace

Result<Question> read_question(std::string_view text) {
  const json asked = json::parse(text, nullptr, false);
  const auto verb = asked.is_object() ? asked.find("do") : asked.end();
  if (verb == asked.end() || !verb->is_string())
    return fail(ErrorKind::kInvalid, R"(a question is a JSON object, such as {"do": "log"})");
  const auto wanted = verb->get<std::string>();
  std::optional<Result<Question>> found;
  any_of_them([&]<class T>() {
    if (wanted != T::kName) return false;
    T question;
    const auto read = api::Json<T>::read({asked, ""}, question);
    found = read ? Result<Question>(std::move(question)) : tl::unexpected(read.error());
    return true;
  });
  return found ? *found : no_such_question(wanted);
}

Result<Question> read_history_question(std::string_view text) {
  auto question = read_question(text);
  if (!question || question->index() < kAboutHistory) return question;
  return std::visit(
      []<class T>(const T&) -> Result<Question> { return no_such_question(std::string(T::kName)); },
      *question);
}

std::string text_of(const Question& question) {
  return std::visit(
      []<class T>(const T& asked) {
        json text = api::to_json(asked);
        text["do"] = T::kName;
        return text.dump(-1, ' ', false, json::error_handler_t::replace);
      },
      question);
}

bool forced(const Question& question) {
  return std::visit(
      [](const auto& asked) {
        if constexpr (requires { asked.force; }) return asked.force.value_or(false);
        return false;
      },
      question);
}

json question_schema(api::Schemas& named) {
  json about_history = json::array();
  std::size_t index = 0;
  any_of_them([&]<class T>() {
    json schema = api::Json<T>::schema(named);
    json& described = named.at(std::string(T::kName));
    if (!described["properties"].contains("do")) described["required"].push_back("do");
    described["properties"]["do"] = {{"const", T::kName}};
    if (index < kAboutHistory) about_history.push_back(std::move(schema));
    return ++index == kDescribed;
  });
  return {{"oneOf", std::move(about_history)}};
}

}  // namespace banyan::session
