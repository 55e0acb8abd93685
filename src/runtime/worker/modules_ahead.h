// Which modules a zygote is to import before it forks.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace banyan::runtime {

/// What the library of a module is called: the name before the first dot.
std::string library_of(const std::string& module);

/// What workers of a host have imported, as far as a zygote may import it for later ones.
class ModulesAhead {
 public:
  /// `libraries` as in WorkerConfig::import_ahead.
  explicit ModulesAhead(const std::vector<std::string>& libraries)
      : libraries_(libraries.begin(), libraries.end()) {}

  /// A worker has imported these. True when one of them is new.
  bool note(const std::vector<std::string>& modules);
  /// No zygote is to import these modules.
  void leave_out(const std::vector<std::string>& modules);
  /// No zygote is to import anything of these libraries, whoever imports them.
  void leave_out_libraries(const std::vector<std::string>& libraries);
  /// All of them: those of the libraries first that most workers have imported, and otherwise in the order in
  /// which they were imported.
  [[nodiscard]] std::vector<std::string> take();
  /// There are some that the last take() did not give.
  [[nodiscard]] bool has_more() const { return more_; }
  [[nodiscard]] bool empty() const { return order_.empty(); }

 private:
  [[nodiscard]] bool wants(const std::string& module) const;

  const std::set<std::string> libraries_;
  std::set<std::string> known_;
  std::vector<std::string> order_;
  std::map<std::string, int> workers_;  ///< how many have imported a library
  std::set<std::string> unfit_;         ///< libraries
  bool more_ = false;
};

}  // namespace banyan::runtime
