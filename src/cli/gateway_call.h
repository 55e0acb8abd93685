// What the operator's commands ask the gateway.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/api/operator.h"
#include "runtime/http/client.h"
#include "runtime/kernel_shim/gateway_address.h"

namespace banyan::cli {

/// The JSON that a gateway answers with 200. Another answer is an error with the gateway's message: kDenied
/// when the token is wrong, kUnavailable when the gateway cannot be reached.
Result<nlohmann::json> call_gateway(const runtime::AddressOptions& address, const std::string& method,
                                    const std::string& target, const std::string& body = {});
/// The same for an answer whose type is known. What an older gateway does not say is left at its default.
template <class T>
Result<T> ask_gateway(const runtime::AddressOptions& address, const std::string& target) {
  const auto answer = call_gateway(address, "GET", target);
  if (!answer) return tl::unexpected(answer.error());
  auto said = api::from_json<T>(*answer);
  if (!said) return fail(ErrorKind::kInvalid, "the gateway is of another version: " + said.error().message);
  return said;
}
/// All sessions, and all hosts.
Result<std::vector<api::Session>> sessions_of(const runtime::AddressOptions& address);
Result<std::vector<api::Host>> hosts_of(const runtime::AddressOptions& address);
/// The session or host of that name in a list; null when there is none.
const api::Session* find(const std::vector<api::Session>& sessions, const std::string& id);
const api::Host* find(const std::vector<api::Host>& hosts, const std::string& host);
/// The answer to a request, whatever its status is; for answers that are no JSON.
Result<runtime::HttpAnswer> call_raw(const runtime::AddressOptions& address, runtime::HttpCall request);
/// The error that an answer means which has not the status that was expected.
Error error_of(const runtime::HttpAnswer& answer);
/// The whole id of the one session whose id begins so.
Result<std::string> find_session(const runtime::AddressOptions& address, const std::string& beginning);
/// Says on stderr what went wrong and what to do. Returns the exit code.
int complain(const Error& error);

/// The path "/api/banyan/sessions/ID/WHAT".
std::string session_path(const std::string& session, const std::string& what);

// Fields of an answer. A missing one is "-", 0 or false.
std::string text_of(const nlohmann::json& object, const char* key);
std::uint64_t number_of(const nlohmann::json& object, const char* key);
/// A text without characters that would steer a terminal: for texts from other people's files and sessions.
std::string plain(std::string text);
std::string plain(const nlohmann::json& object, const char* key);
bool flag_of(const nlohmann::json& object, const char* key);

}  // namespace banyan::cli
