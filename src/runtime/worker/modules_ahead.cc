#include "runtime/worker/modules_ahead.h"

#include <algorithm>
#include <functional>

#include "runtime/worker/config.h"

namespace banyan::runtime {

namespace {
constexpr std::size_t kKnownMax = 2000;
}  // namespace

std::string library_of(const std::string& module) { return module.substr(0, module.find('.')); }

bool ModulesAhead::wants(const std::string& module) const {
  const std::string library = library_of(module);
  return !unfit_.contains(library) && (libraries_.contains(library) || libraries_.contains(kEveryLibrary));
}

bool ModulesAhead::note(const std::vector<std::string>& modules) {
  bool news = false;
  for (const std::string& module : modules) {
    if (!wants(module)) continue;
    if (module == library_of(module)) ++workers_[module];
    if (known_.size() >= kKnownMax || !known_.insert(module).second) continue;
    order_.push_back(module);
    news = true;
  }
  more_ |= news;
  return news;
}

void ModulesAhead::leave_out(const std::vector<std::string>& modules) {
  std::erase_if(order_, [&](const std::string& name) { return std::ranges::count(modules, name) > 0; });
}

void ModulesAhead::leave_out_libraries(const std::vector<std::string>& libraries) {
  unfit_.insert(libraries.begin(), libraries.end());
  std::erase_if(order_, [this](const std::string& module) { return !wants(module); });
}

std::vector<std::string> ModulesAhead::take() {
  more_ = false;
  std::map<int, std::vector<std::string>, std::greater<>> by_workers;
  for (const std::string& module : order_) by_workers[workers_[library_of(module)]].push_back(module);
  std::vector<std::string> all;
  for (const auto& [workers, modules] : by_workers) all.insert(all.end(), modules.begin(), modules.end());
  return all;
}

}  // namespace banyan::runtime
