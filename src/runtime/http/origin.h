// Which web pages may talk to the gateway.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace banyan::runtime {

/// Header names in lower case, to values.
using Headers = std::map<std::string, std::string>;

/// The rule of jupyter_server: a request without Origin (no browser) passes, so does one whose Origin is the
/// host it talks to, and one whose Origin is in `allowed` (complete, as in https://lab.example; "*" for all).
bool origin_passes(const Headers& headers, const std::vector<std::string>& allowed);

/// Whether the answer must name the request's Origin in Access-Control-Allow-Origin: it is in `allowed`.
bool origin_is_listed(const Headers& headers, const std::vector<std::string>& allowed);

}  // namespace banyan::runtime
