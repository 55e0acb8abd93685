// How `banyan kernel` finds its gateway.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/http/endpoint.h"

namespace banyan::runtime {

/// What the command line says of the gateway. A field that was not given is empty.
struct AddressOptions {
  std::string url;
  std::string token;
  std::string platform;  ///< the path of the platform.json that `banyan up` wrote
};

/// Reads an environment variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Finds the gateway by the first of these that is there: the options, BANYAN_URL, the platform.json that
/// BANYAN_PLATFORM names (`banyan up` sets it for its workers), .banyan/platform.json in `directory` or above
/// it. The token comes from the options, the URL, BANYAN_TOKEN or the platform file. Errors say what to do.
Result<Endpoint> find_gateway(const AddressOptions& options, const Environment& environment,
                              const std::string& directory);

}  // namespace banyan::runtime
