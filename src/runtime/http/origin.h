// Which web pages may talk to the gateway.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace banyan::runtime {

/// Header names in lower case, to values.
using Headers = std::map<std::string, std::string>;

/// Whether a page may make this request, by the rule of jupyter_server: a request without Origin (it comes
/// from no browser) passes, and so does one whose Origin is the host it talks to, or is in `allowed`
/// (complete, as in https://lab.example; "*" for all).
bool origin_passes(const Headers& headers, const std::vector<std::string>& allowed);

/// Whether the request's Origin is in `allowed`: then the answer must name it in Access-Control-Allow-Origin.
bool origin_is_listed(const Headers& headers, const std::vector<std::string>& allowed);

}  // namespace banyan::runtime
