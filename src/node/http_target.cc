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
