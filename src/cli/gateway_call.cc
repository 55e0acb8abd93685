#include "cli/gateway_call.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/commands.h"
#include "runtime/http/client.h"

namespace banyan::cli {

using nlohmann::json;

namespace {

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<runtime::HttpAnswer> call(runtime::Endpoint endpoint, runtime::HttpCall request) {
  boost::asio::io_context io;
  std::optional<Result<runtime::HttpAnswer>> answer;
  boost::asio::co_spawn(
      io,
      [&]() -> boost::asio::awaitable<void> {
        answer = co_await runtime::http_call(std::move(endpoint), std::move(request));
      },
      boost::asio::detached);
  io.run();
  if (!answer) return fail(ErrorKind::kUnavailable, "the call to the gateway did not end");
  return *answer;
}

}  // namespace

int complain(const Error& error) {
  const char* next = "";
  if (error.kind == ErrorKind::kUnavailable) next = "; is it running? `banyan up` starts one";
  if (error.kind == ErrorKind::kDenied) next = "; give its token with --token or BANYAN_TOKEN";
  std::fprintf(stderr, "banyan: %s%s\n", error.message.c_str(), next);
  return error.kind == ErrorKind::kUnavailable ? kUnreachable : kFailed;
}

std::string text_of(const json& object, const char* key) {
  const auto field = object.find(key);
  if (field == object.end() || field->is_null()) return "-";
  return field->is_string() ? field->get<std::string>() : field->dump();
}

std::uint64_t number_of(const json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && field->is_number() ? field->get<std::uint64_t>() : 0;
}

bool flag_of(const json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && *field == true;
}

Result<runtime::HttpAnswer> call_raw(const runtime::AddressOptions& address, runtime::HttpCall request) {
  auto endpoint = runtime::find_gateway(address, environment, std::filesystem::current_path());
  if (!endpoint) return tl::unexpected(endpoint.error());
  return call(std::move(*endpoint), std::move(request));
}

Error error_of(const runtime::HttpAnswer& answer) {
  const json content = json::parse(answer.body, nullptr, false);
  const std::string message = content.is_object() ? text_of(content, "message") : "-";
  return {answer.status == 403   ? ErrorKind::kDenied
          : answer.status == 404 ? ErrorKind::kNotFound
                                 : ErrorKind::kInvalid,
          "the gateway answers " + std::to_string(answer.status) + ": " + message};
}

Result<std::string> find_session(const runtime::AddressOptions& address, const std::string& beginning) {
  const auto sessions = sessions_of(address);
  if (!sessions) return tl::unexpected(sessions.error());
  std::vector<std::string> found;
  for (const api::Session& one : *sessions) {
    if (one.id == beginning) return one.id;
    if (one.id.starts_with(beginning)) found.push_back(one.id);
  }
  if (found.size() == 1) return found.front();
  return fail(ErrorKind::kNotFound,
              (found.empty() ? "no session begins with '" : "several sessions begin with '") + beginning +
                  "'; `banyan sessions` lists them");
}

Result<json> call_gateway(const runtime::AddressOptions& address, const std::string& method,
                          const std::string& target, const std::string& body) {
  const auto answer = call_raw(address, {.method = method, .target = target, .body = body, .timeout = 20s});
  if (!answer) return tl::unexpected(answer.error());
  json content = json::parse(answer->body, nullptr, false);
  if (answer->status != 200) return tl::unexpected(error_of(*answer));
  // The status is an object; all other answers are lists of objects.
  const bool fits = content.is_object() ||
                    (content.is_array() && std::all_of(content.begin(), content.end(),
                                                       [](const json& one) { return one.is_object(); }));
  if (!fits) return fail(ErrorKind::kInvalid, "what answers there is not a Banyan gateway; see --url");
  return content;
}

std::string session_path(const std::string& session, const std::string& what) {
  return "/api/banyan/sessions/" + session + "/" + what;
}

Result<std::vector<api::Session>> sessions_of(const runtime::AddressOptions& address) {
  return ask_gateway<std::vector<api::Session>>(address, "/api/banyan/sessions");
}

Result<std::vector<api::Host>> hosts_of(const runtime::AddressOptions& address) {
  return ask_gateway<std::vector<api::Host>>(address, "/api/banyan/hosts");
}

const api::Session* find(const std::vector<api::Session>& sessions, const std::string& id) {
  const auto found = std::ranges::find(sessions, id, &api::Session::id);
  return found == sessions.end() ? nullptr : &*found;
}

const api::Host* find(const std::vector<api::Host>& hosts, const std::string& host) {
  const auto found = std::ranges::find(hosts, host, &api::Host::host);
  return found == hosts.end() ? nullptr : &*found;
}

std::string plain(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

std::string plain(const json& object, const char* key) { return plain(text_of(object, key)); }

}  // namespace banyan::cli
