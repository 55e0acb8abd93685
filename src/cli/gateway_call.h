// What the operator's commands ask the gateway.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "runtime/http/client.h"
#include "runtime/kernel_shim/gateway_address.h"

namespace banyan::cli {

/// The JSON that a gateway answers with 200. Other answers are errors with the gateway's message: kDenied
/// when the token is wrong, kUnavailable when it cannot be reached.
Result<nlohmann::json> call_gateway(const runtime::AddressOptions& address, const std::string& method,
                                    const std::string& target, const std::string& body = {});
/// The same for what is no JSON: the answer, whatever its status.
Result<runtime::HttpAnswer> call_raw(const runtime::AddressOptions& address, runtime::HttpCall request);
/// What an answer with another status than it should have means.
Error error_of(const runtime::HttpAnswer& answer);
/// The whole id of the one session that begins so.
Result<std::string> find_session(const runtime::AddressOptions& address, const std::string& beginning);
/// Says on stderr what went wrong and what to do; the exit code.
int complain(const Error& error);

/// "/api/banyan/sessions/ID/WHAT"
std::string session_path(const std::string& session, const std::string& what);

// Fields of an answer; "-", 0 and false when they are missing.
std::string text_of(const nlohmann::json& object, const char* key);
std::uint64_t number_of(const nlohmann::json& object, const char* key);
/// As text_of, without what would steer a terminal: of files and sessions of others.
std::string plain(const nlohmann::json& object, const char* key);
bool flag_of(const nlohmann::json& object, const char* key);

}  // namespace banyan::cli
