#include "runtime/data_store/store_url.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace banyan::runtime {
namespace {

tl::unexpected<Error> refused(std::string_view text, const std::string& why) {
  return fail(ErrorKind::kInvalid,
              "'" + without_secrets(text) + "' is no URL of a data store: " + why +
                  "; examples: file:///var/lib/banyan/store, redis://127.0.0.1:6379/0, s3://bucket/prefix");
}

std::optional<std::string> decoded(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      result += text[at];
      continue;
    }
    int value = 0;
    const char* end = text.data() + std::min(at + 3, text.size());
    const auto parsed = std::from_chars(text.data() + at + 1, end, value, 16);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + at + 3 || value == 0) return std::nullopt;
    result += static_cast<char>(value);
    at += 2;
  }
  return result;
}

/// Takes the text before `mark`, and the mark, off `rest` and returns the text; all of `rest` when there is
/// no mark.
std::string_view take_until(std::string_view& rest, char mark) {
  const std::size_t end = std::min(rest.find(mark), rest.size());
  const std::string_view head = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return head;
}

/// Reads host and port into `url`. Returns what is wrong with them, or nothing.
std::optional<std::string> read_host(std::string_view text, StoreUrl& url) {
  if (text.starts_with('[')) {  // an IPv6 address
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return "the address has no ]";
    url.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!text.empty() && !text.starts_with(':')) return "after the ] comes a port or nothing";
    text.remove_prefix(std::min<std::size_t>(1, text.size()));
  } else {
    url.host = take_until(text, ':');
  }
  if (text.empty()) return std::nullopt;
  std::uint16_t port = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || port == 0)
    return "'" + std::string(text) + "' is no port";
  url.port = port;
  return std::nullopt;
}

bool read_user(std::string_view text, StoreUrl& url) {
  const bool has_password = text.find(':') != std::string_view::npos;
  const auto user = decoded(take_until(text, ':'));
  const auto password = decoded(text);
  if (!user || !password) return false;
  url.user = *user;
  if (has_password) url.password = *password;
  return true;
}

bool read_query(std::string_view text, StoreUrl& url) {
  while (!text.empty()) {
    std::string_view pair = take_until(text, '&');
    const auto name = decoded(take_until(pair, '='));
    const auto value = decoded(pair);
    if (!name || !value || name->empty() || !url.query.emplace(*name, *value).second) return false;
  }
  return true;
}

}  // namespace

Result<StoreUrl> parse_store_url(std::string_view text) {
  StoreUrl url;
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) return refused(text, "it does not begin with scheme://");
  url.scheme = text.substr(0, colon);
  std::ranges::transform(url.scheme, url.scheme.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  std::string_view rest = text.substr(colon + 3);
  if (rest.find('#') != std::string_view::npos) return refused(text, "write # as %23");
  std::string_view before_query = take_until(rest, '?');
  if (!read_query(rest, url)) return refused(text, "after the ? come different name=value, joined by &");
  const std::size_t slash = std::min(before_query.find('/'), before_query.size());
  const auto path = decoded(before_query.substr(slash));
  if (!path) return refused(text, "a % is not followed by two hex digits");
  url.path = *path;
  std::string_view authority = before_query.substr(0, slash);
  if (url.scheme == "redis" && authority.find('@') == std::string_view::npos &&
      text.find('@') != std::string_view::npos)
    return refused(text, "in the password write / as %2F and ? as %3F");
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    if (!read_user(authority.substr(0, at), url))
      return refused(text, "in the password a % is not followed by two hex digits");
    authority.remove_prefix(at + 1);
  }
  if (const auto wrong = read_host(authority, url)) return refused(text, *wrong);
  return url;
}

std::string without_secrets(std::string_view url) {
  const std::size_t colon = url.find("://");
  const std::size_t start = colon == std::string_view::npos ? 0 : colon + 3;
  const std::size_t at =
      url.rfind('@');  // the last @, so that a password with a raw / or ? in it does not show either
  if (at == std::string_view::npos || at < start) return std::string(url);
  return std::string(url.substr(0, start)) + std::string(url.substr(at + 1));
}

std::string place_of(std::string_view text) {
  const auto url = parse_store_url(text);
  if (!url) return {};
  const auto option = url->query.find("endpoint");
  const char* const set = std::getenv("AWS_ENDPOINT_URL");
  std::string endpoint;
  if (option != url->query.end()) {
    endpoint = option->second;
  } else if (url->scheme == "s3" && set != nullptr) {
    endpoint = set;
  }
  const auto is_here = [](std::string_view host) {
    return host.find("localhost") != std::string_view::npos ||
           host.find("127.0.0.") != std::string_view::npos || host.find("[::1]") != std::string_view::npos ||
           host == "::1";
  };
  char machine[256] = "";
  if (url->scheme == "file" || is_here(url->host) || is_here(endpoint))
    (void)gethostname(machine, sizeof machine - 1);
  return url->scheme + "://" + url->host + (url->port ? ":" + std::to_string(*url->port) : "") + url->path +
         (endpoint.empty() ? "" : "?endpoint=" + without_secrets(endpoint)) +
         (*machine == '\0' ? "" : std::string(" on ") + machine);
}

Result<Done> check_query(const StoreUrl& url, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : url.query) {
    if (std::ranges::find(known, name) != known.end()) continue;
    std::string names;
    for (const std::string_view good : known) names += (names.empty() ? "" : ", ") + std::string(good);
    return fail(ErrorKind::kInvalid, "the URL of a data store with " + url.scheme + ":// has no option '" +
                                         name + "'; " + (names.empty() ? "it has none" : "it has " + names));
  }
  return Done{};
}

}  // namespace banyan::runtime
