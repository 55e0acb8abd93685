#include "runtime/http/origin.h"

#include <algorithm>

namespace banyan::runtime {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// The host[:port] of an origin; empty when it has none ("null").
std::string_view authority_of(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return {};
  origin.remove_prefix(scheme + 3);
  return origin.substr(0, origin.find('/'));
}

}  // namespace

bool origin_is_listed(const Headers& headers, const std::vector<std::string>& allowed) {
  const auto origin = headers.find("origin");
  if (origin == headers.end()) return false;
  return std::ranges::any_of(
      allowed, [&](const std::string& one) { return one == "*" || lower(one) == lower(origin->second); });
}

bool origin_passes(const Headers& headers, const std::vector<std::string>& allowed) {
  const auto origin = headers.find("origin");
  if (origin == headers.end()) return true;
  const auto host = headers.find("host");
  const std::string authority = lower(authority_of(origin->second));
  if (host != headers.end() && !authority.empty() && authority == lower(host->second)) return true;
  return origin_is_listed(headers, allowed);
}

}  // namespace banyan::runtime
