#include "node/gateway_messages.h"

#include <nlohmann/json.hpp>

#include "core/jupyter/json_text.h"

namespace banyan::node {

using jupyter::Author;
using jupyter::Channel;
using jupyter::make_message;
using jupyter::Message;
using nlohmann::json;

namespace {

// The text of a member as it stands in the object; empty when it is absent.
std::string_view raw_member(std::string_view object, std::string_view name,
                            std::vector<jupyter::JsonMember>& members) {
  auto cut = jupyter::members_of(object);
  if (!cut) return {};
  members = std::move(*cut);
  return jupyter::find_member(members, name);
}

}  // namespace

std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string text_member(std::string_view object, std::string_view name) {
  std::vector<jupyter::JsonMember> members;
  const std::string_view raw = raw_member(object, name, members);
  if (raw.size() < 2 || raw.front() != '"') return {};
  if (raw.find('\\') == std::string_view::npos) return std::string(raw.substr(1, raw.size() - 2));
  const json value = json::parse(raw, nullptr, false);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string text_field(std::string_view object, const char* name) {
  const json parsed = json::parse(object, nullptr, false);
  if (!parsed.is_object()) return {};
  const auto field = parsed.find(name);
  return field != parsed.end() && field->is_string() ? field->get<std::string>() : std::string();
}

bool is_literal(std::string_view object, std::string_view name, std::string_view expected) {
  std::vector<jupyter::JsonMember> members;
  return raw_member(object, name, members) == expected;
}

bool is_status(const Message& message) {
  return message.channel == Channel::kIopub && text_member(message.header, "msg_type") == "status";
}

bool is_idle(const Message& message) {
  return is_status(message) && text_member(message.content.view(), "execution_state") == "idle";
}

Message status_message(std::string_view state, std::string_view parent, const Author& author) {
  return make_message(Channel::kIopub, "status", parent, dump({{"execution_state", state}}), author);
}

Message note(const std::string& text, std::string_view parent, const Author& author) {
  return make_message(Channel::kIopub, "stream", parent, dump({{"name", "stderr"}, {"text", text}}), author);
}

Message doubt_mark(std::uint64_t messages, std::uint64_t bytes, std::string_view parent,
                   const Author& author) {
  return note("[banyan: the connection broke here; up to " + std::to_string(messages) +
                  (messages == 1 ? " message (" : " messages (") + std::to_string(bytes) +
                  " bytes) of output may be missing. The cell itself is not affected]\n",
              parent, author);
}

Message cut_mark(std::uint64_t messages, std::uint64_t bytes, std::string_view parent, const Author& author) {
  return note("[banyan: " + std::to_string(messages) + (messages == 1 ? " message (" : " messages (") +
                  std::to_string(bytes) +
                  " bytes) of output were cut here: they came faster than this client " + "took them]\n",
              parent, author);
}

Message error_output(std::string_view name, std::string_view text, std::string_view parent,
                     const Author& author) {
  const std::string line = std::string(name) + ": " + std::string(text);
  return make_message(Channel::kIopub, "error", parent,
                      dump({{"ename", name}, {"evalue", text}, {"traceback", json::array({line})}}), author);
}

std::string error_content(std::string_view name, std::string_view text, std::uint64_t execution_count) {
  const std::string line = std::string(name) + ": " + std::string(text);
  return dump({{"status", "error"},
               {"ename", name},
               {"evalue", text},
               {"traceback", json::array({line})},
               {"execution_count", execution_count},
               {"user_expressions", json::object()},
               {"payload", json::array()}});
}

std::string aborted_content() { return R"({"status":"aborted"})"; }

std::string reply_type(std::string_view request_type) {
  constexpr std::string_view kRequest = "_request";
  if (!request_type.ends_with(kRequest)) return {};
  return std::string(request_type.substr(0, request_type.size() - kRequest.size())) + "_reply";
}

}  // namespace banyan::node
