// What the operator's commands ask the gateway.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "runtime/http/client.h"
#include "runtime/kernel_shim/gateway_address.h"

namespace banyan::cli {

/// The JSON that a gateway answers with 200. Another answer is an error with the gateway's message: kDenied
/// when the token is wrong, kUnavailable when the gateway cannot be reached.
Result<nlohmann::json> call_gateway(const runtime::AddressOptions& address, const std::string& method,
                                    const std::string& target, const std::string& body = {});
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
/// Like text_of(), without characters that would steer a terminal: for texts from other people's files and
/// sessions.
std::string plain(const nlohmann::json& object, const char* key);
bool flag_of(const nlohmann::json& object, const char* key);

}  // namespace banyan::cli
