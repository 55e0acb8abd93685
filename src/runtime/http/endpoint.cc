#include "runtime/http/endpoint.h"

#include <charconv>
#include <optional>

namespace banyan::runtime {
namespace {

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.front() != '%') {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    int value = 0;
    const std::string_view digits = text.substr(1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() < 2 || error != std::errc() || end != digits.data() + 2) return std::nullopt;
    out += static_cast<char>(value);
    text.remove_prefix(3);
  }
  return out;
}

std::optional<std::string> token_in(std::string_view query) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(pair.size() + (pair.size() < query.size() ? 1 : 0));
    if (pair.starts_with("token=")) return percent_decode(pair.substr(6));
  }
  return std::string();
}

}  // namespace

std::string Endpoint::authority() const {
  const bool bracket = host.find(':') != std::string::npos;
  return (bracket ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Endpoint> parse_endpoint(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) {
    return fail(ErrorKind::kInvalid, "a gateway's URL starts with http://, as in http://127.0.0.1:8888");
  }
  url.remove_prefix(kScheme.size());
  url = url.substr(0, url.find('#'));
  const std::size_t question = url.find('?');
  const std::string_view query =
      question == std::string_view::npos ? std::string_view() : url.substr(question + 1);
  url = url.substr(0, question);
  std::string_view authority = url.substr(0, url.find('/'));
  std::string_view path = url.substr(authority.size());
  while (path.ends_with('/')) path.remove_suffix(1);

  Endpoint endpoint{.host = {}, .port = 80, .base = std::string(path), .token = {}};
  if (authority.find('@') != std::string_view::npos) {
    return fail(ErrorKind::kInvalid, "a gateway's URL has no user name: give the token as ?token=…");
  }
  std::size_t colon = authority.rfind(':');
  if (authority.starts_with('[')) {
    const std::size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos)
      return fail(ErrorKind::kInvalid, "the URL's host lacks a closing bracket");
    endpoint.host = authority.substr(1, bracket - 1);
    colon = authority.find(':', bracket);
  } else {
    endpoint.host = authority.substr(0, colon);
  }
  if (endpoint.host.empty()) return fail(ErrorKind::kInvalid, "the gateway's URL names no host");
  if (colon != std::string_view::npos) {
    const std::string_view digits = authority.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
    if (error != std::errc() || end != digits.data() + digits.size() || endpoint.port == 0) {
      return fail(ErrorKind::kInvalid, "the gateway's URL has no valid port: " + std::string(digits));
    }
  }
  auto token = token_in(query);
  if (!token)
    return fail(ErrorKind::kInvalid, "the token in the gateway's URL is not percent-encoded correctly");
  endpoint.token = std::move(*token);
  return endpoint;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kHex[static_cast<std::uint8_t>(c) >> 4];
      out += kHex[static_cast<std::uint8_t>(c) & 15];
    }
  }
  return out;
}

}  // namespace banyan::runtime
