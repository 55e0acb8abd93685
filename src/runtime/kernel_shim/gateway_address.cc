#include "runtime/kernel_shim/gateway_address.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace banyan::runtime {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Result<Endpoint> read_platform(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(ErrorKind::kIo, "cannot read " + path + "; start the platform with `banyan up`");
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const json platform = json::parse(text, nullptr, false);
  const auto field = [&](const char* name) -> std::optional<std::string> {
    if (!platform.is_object() || !platform.contains(name) || !platform[name].is_string()) return std::nullopt;
    return platform[name].get<std::string>();
  };
  const auto url = field("url");
  if (!url)
    return fail(ErrorKind::kInvalid, path + " names no \"url\"; start the platform with `banyan up` again");
  auto endpoint = parse_endpoint(*url);
  if (!endpoint) return fail(endpoint.error().kind, path + ": " + endpoint.error().message);
  if (const auto token = field("token")) endpoint->token = *token;
  return endpoint;
}

std::optional<std::string> platform_above(fs::path directory) {
  for (;; directory = directory.parent_path()) {
    std::error_code ignored;
    const fs::path candidate = directory / ".banyan" / "platform.json";
    if (fs::exists(candidate, ignored)) return candidate.string();
    if (!directory.has_relative_path()) return std::nullopt;
  }
}

}  // namespace

Result<Endpoint> find_gateway(const AddressOptions& options, const Environment& environment,
                              const std::string& directory) {
  const auto with_token = [&](Result<Endpoint> endpoint) {
    if (!endpoint) return endpoint;
    if (!options.token.empty()) {
      endpoint->token = options.token;
    } else if (endpoint->token.empty()) {
      endpoint->token = environment("BANYAN_TOKEN").value_or("");
    }
    return endpoint;
  };
  if (!options.url.empty()) return with_token(parse_endpoint(options.url));
  if (!options.platform.empty()) return with_token(read_platform(options.platform));
  if (const auto url = environment("BANYAN_URL"); url && !url->empty())
    return with_token(parse_endpoint(*url));
  if (const auto platform = environment("BANYAN_PLATFORM"); platform && !platform->empty())
    return with_token(read_platform(*platform));
  if (const auto platform = platform_above(directory)) return with_token(read_platform(*platform));
  return fail(ErrorKind::kNotFound,
              "no gateway is known; start one with `banyan up`, or set BANYAN_URL and BANYAN_TOKEN");
}

}  // namespace banyan::runtime
