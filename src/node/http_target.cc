#include "node/http_target.h"

#include <algorithm>
#include <cstdint>

namespace banyan::node {

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

enum class Plus : bool { kIsPlus, kIsSpace };

std::string percent_decode(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' && plus == Plus::kIsSpace ? ' ' : text[i];
    }
  }
  return out;
}

// Calls `take` with each part of `text` between separators.
template <class Take>
void split(std::string_view text, char separator, Take take) {
  while (true) {
    const std::size_t end = text.find(separator);
    take(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// Cookies do not tell ports apart, their names do.
std::string cookie_name(const std::map<std::string, std::string>& headers) {
  const auto host = headers.find("host");
  std::string name = "banyan-" + (host == headers.end() ? std::string() : lower(host->second));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); },
      '-');
  return name;
}

std::map<std::string, std::string> cookies_in(const std::map<std::string, std::string>& headers) {
  std::map<std::string, std::string> cookies;
  const auto header = headers.find("cookie");
  if (header == headers.end()) return cookies;
  split(header->second, ';', [&](std::string_view pair) {
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos)
      cookies.emplace(std::string(pair.substr(0, equals)), std::string(pair.substr(equals + 1)));
  });
  return cookies;
}

std::string in_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4U];
    text += kDigits[static_cast<unsigned char>(c) & 15U];
  }
  return text;
}

}  // namespace

std::string HttpTarget::word(std::size_t index) const {
  return index < path.size() ? lower(path[index]) : "";
}

HttpTarget parse_target(std::string_view target) {
  HttpTarget result;
  target = target.substr(0, target.find('#'));
  const std::size_t question = target.find('?');
  split(target.substr(0, question), '/', [&](std::string_view segment) {
    if (!segment.empty()) result.path.push_back(percent_decode(segment, Plus::kIsPlus));
  });
  if (question == std::string_view::npos) return result;
  split(target.substr(question + 1), '&', [&](std::string_view pair) {
    if (pair.empty()) return;
    const std::size_t equals = pair.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    result.query[percent_decode(pair.substr(0, equals), Plus::kIsSpace)] =
        percent_decode(value, Plus::kIsSpace);
  });
  return result;
}

std::string credential(const HttpTarget& target, const std::map<std::string, std::string>& headers) {
  if (const auto header = headers.find("authorization"); header != headers.end()) {
    const std::string_view value = header->second;
    const std::size_t space = value.find(' ');
    const std::string scheme = lower(value.substr(0, space));
    if (space != std::string_view::npos && (scheme == "token" || scheme == "bearer")) {
      const std::size_t begin = value.find_first_not_of(' ', space);
      if (begin != std::string_view::npos)
        return std::string(value.substr(begin, value.find_last_not_of(' ') + 1 - begin));
    }
  }
  const auto query = target.query.find("token");
  return query == target.query.end() ? std::string() : query->second;
}

bool shows_token(std::string_view method, const HttpTarget& target,
                 const std::map<std::string, std::string>& headers, std::string_view token) {
  if (const std::string shown = credential(target, headers); !shown.empty()) return same_secret(shown, token);
  const std::map<std::string, std::string> cookies = cookies_in(headers);
  const auto cookie = cookies.find(cookie_name(headers));
  if (cookie == cookies.end() || !same_secret(cookie->second, in_hex(token))) return false;
  if (method == "GET" || method == "HEAD") return true;
  const auto xsrf = cookies.find("_xsrf");
  const auto repeated = headers.find("x-xsrftoken");
  return xsrf != cookies.end() && !xsrf->second.empty() && repeated != headers.end() &&
         same_secret(repeated->second, xsrf->second);
}

std::vector<std::string> token_cookies(const std::map<std::string, std::string>& headers,
                                       std::string_view token, std::string_view xsrf) {
  return {cookie_name(headers) + "=" + in_hex(token) + "; HttpOnly; SameSite=Strict; Path=/",
          "_xsrf=" + std::string(xsrf) + "; SameSite=Strict; Path=/"};
}

bool same_secret(std::string_view a, std::string_view b) {
  std::uint8_t difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference = static_cast<std::uint8_t>(
        difference | (static_cast<std::uint8_t>(a[i]) ^ static_cast<std::uint8_t>(other)));
  }
  return difference == 0;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : hex_value(text[i]) < 0 || (text[i] >= 'A' && text[i] <= 'F')) return false;
  }
  return true;
}

}  // namespace banyan::node
