// Which values that are left unmade a cell may read.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace banyan::node {

/// Values whose making takes long are made when something reads them, so before a cell runs its worker is
/// asked which of them the cell may read: it knows the functions that the cell calls. It is asked once the
/// worker has all else, and once before, for what the cell names itself: that is made while other values are
/// on their way.
class CellReads {
 public:
  /// The names of which the worker is to be asked now that it has all else; none when it has been asked.
  std::set<std::string> ask(std::set<std::string> unread) {
    for (const std::string& name : asked_of_) unread.erase(name);
    asked_of_.insert(unread.begin(), unread.end());
    asking_ |= !unread.empty();
    return unread;
  }
  /// The same while it has not.
  std::set<std::string> ask_early(std::set<std::string> unread) {
    if (asking_ || unread.empty() || std::exchange(asked_early_, true)) return {};
    asking_ = true;
    return unread;
  }
  /// An answer is awaited.
  [[nodiscard]] bool is_asking() const { return asking_; }
  /// False when none is awaited.
  bool on_answer(const std::vector<std::string>& names) {
    if (!std::exchange(asking_, false)) return false;
    names_.insert(names.begin(), names.end());
    return true;
  }
  /// Another worker does without other values.
  void on_worker_gone() { *this = {}; }

  [[nodiscard]] const std::set<std::string>& names() const { return names_; }

 private:
  std::set<std::string> names_;
  std::set<std::string> asked_of_;  ///< when the worker had all else
  bool asked_early_ = false;
  bool asking_ = false;
};

}  // namespace banyan::node
