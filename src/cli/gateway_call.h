// What the operator's commands ask the gateway.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "runtime/door_c/gateway_address.h"

namespace banyan::cli {

/// The JSON that a gateway answers with 200. Other answers are errors with the gateway's message: kDenied
/// when the token is wrong, kUnavailable when it cannot be reached.
Result<nlohmann::json> call_gateway(const runtime::AddressOptions& address, const std::string& method,
                                    const std::string& target, const std::string& body = {});
/// Says on stderr what went wrong and what to do; the exit code.
int complain(const Error& error);

// Fields of an answer; "-", 0 and false when they are missing.
std::string text_of(const nlohmann::json& object, const char* key);
std::uint64_t number_of(const nlohmann::json& object, const char* key);
bool flag_of(const nlohmann::json& object, const char* key);

}  // namespace banyan::cli
