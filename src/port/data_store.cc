#include "port/data_store.h"

#include <algorithm>

namespace banyan::port {
namespace {

constexpr std::size_t kKeyMax = 512;
constexpr std::size_t kPartMax = 200;
constexpr std::string_view kChunks = "chunks/";

bool allowed(char letter) {
  return letter > ' ' && letter < 0x7f && std::string_view("\"'`\\*").find(letter) == std::string_view::npos;
}

tl::unexpected<Error> refused(std::string_view key, const std::string& why) {
  std::string shown(key.substr(0, 80));
  std::ranges::replace_if(shown, [](char letter) { return letter < ' ' || letter >= 0x7f; }, '?');
  return fail(ErrorKind::kInvalid, "'" + shown + "' is no key of a data store: " + why);
}

Result<Done> check_part(std::string_view key, std::string_view part) {
  if (part.empty()) return refused(key, "there is nothing between two slashes or at an end");
  if (part.starts_with('.')) return refused(key, "a part begins with a dot");
  if (part.size() > kPartMax)
    return refused(key, "a part has more than " + std::to_string(kPartMax) + " characters");
  return Done{};
}

}  // namespace

Result<Done> check_key(std::string_view key) {
  if (key.size() > kKeyMax)
    return refused(key, "it has more than " + std::to_string(kKeyMax) + " characters");
  if (!std::ranges::all_of(key, allowed))
    return refused(key, "use letters, digits and other printable ASCII, without space, quotes, \\ and *");
  for (std::size_t start = 0;;) {
    const std::size_t end = key.find('/', start);
    if (auto done = check_part(key, key.substr(start, end - start)); !done) return done;
    if (end == std::string_view::npos) return Done{};
    start = end + 1;
  }
}

Result<Done> check_prefix(std::string_view prefix) {
  if (prefix.empty()) return Done{};
  if (prefix.ends_with('/')) prefix.remove_suffix(1);
  return check_key(prefix);
}

std::string chunk_key(const Digest& digest) {
  const std::string hex = to_hex(digest);
  return std::string(kChunks) + hex.substr(0, 2) + "/" + hex;
}

std::optional<Digest> digest_in_key(std::string_view key) {
  if (!key.starts_with(kChunks)) return std::nullopt;
  const auto digest = digest_from_hex(key.substr(key.rfind('/') + 1));
  return digest && chunk_key(*digest) == key ? digest : std::nullopt;
}

}  // namespace banyan::port
