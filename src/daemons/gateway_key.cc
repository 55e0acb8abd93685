#include "daemons/gateway_key.h"

#include <utility>

#include "daemons/service.h"
#include "runtime/net/identity.h"
#include "runtime/net/key_file.h"

namespace banyan::daemons {

GatewayKey::GatewayKey(std::filesystem::path file, runtime::KnownKey known)
    : file_(std::move(file)), known_(std::move(known)) {}

Result<GatewayKey> GatewayKey::load(const HostSettings& settings) {
  std::filesystem::path file = keys_folder(settings.data_directory) / "gateway.key";
  const std::string host = settings.id.value;
  if (!settings.gateway_key.empty())
    return GatewayKey(std::move(file),
                      {.key = settings.gateway_key,
                       .remedy = "if the gateway was installed anew, set 'gateway_key' in the "
                                 "file of host agent " +
                                 host + " to its new key, and start that host agent again"});
  std::string remedy = "if the gateway was installed anew, delete " + file.string() +
                       " on the machine of host agent " + host + ", and start that host agent again";
  const auto kept = runtime::read_key_file(file);
  if (!kept) return tl::unexpected(kept.error());
  if (!*kept) return GatewayKey(std::move(file), {.key = {}, .remedy = std::move(remedy)});
  if (((*kept)->mode & 022) != 0)
    return fail(ErrorKind::kInvalid,
                file.string() +
                    " can be written by others, who could make this host trust a gateway of "
                    "their own; look whether its key is right, then: chmod 600 " +
                    file.string());
  std::string key = (*kept)->text;
  if (key.ends_with('\n')) key.pop_back();
  if (!runtime::is_key(key))
    return fail(
        ErrorKind::kInvalid,
        file.string() +
            " is to hold the gateway's key, 64 hex digits, as the gateway's log names it at its start; "
            "write it there, or delete the file to trust the gateway that connects next");
  return GatewayKey(std::move(file), {.key = std::move(key), .remedy = std::move(remedy)});
}

Result<Done> GatewayKey::keep(const std::string& key) {
  if (!known_.key.empty()) return Done{};
  if (auto written = runtime::write_key_file(file_, key + "\n"); !written) return written;
  known_.key = key;
  return Done{};
}

}  // namespace banyan::daemons
