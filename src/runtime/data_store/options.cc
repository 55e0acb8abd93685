#include "runtime/data_store/options.h"

#include <cstdlib>

namespace banyan::runtime {

std::optional<std::string> StoreOptions::setting(const std::string& name) const {
  if (const auto found = settings.find(name); found != settings.end())
    return found->second.empty() ? std::nullopt : std::optional(found->second);
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::filesystem::path StoreOptions::scratch_directory() const {
  return setting("TMPDIR").value_or("/var/tmp");
}

}  // namespace banyan::runtime
