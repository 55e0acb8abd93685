// For tests: the words of a command of a scenario file (tests/scenarios.h).
#pragma once

#include <cctype>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

namespace banyan {

/// The words of a command, read one after the other.
class Words {
 public:
  explicit Words(const std::string& line) {
    std::istringstream in(line);
    for (std::string word; in >> word;) words_.push_back(word);
  }
  [[nodiscard]] bool more() const { return next_ < words_.size(); }
  std::string word() {
    CHECK(more(), "a scenario command ends early");
    return words_[next_++];
  }
  bool skip(const std::string& expected) {
    if (!more() || words_[next_] != expected) return false;
    ++next_;
    return true;
  }
  [[nodiscard]] bool number_next() const { return more() && std::isdigit(words_[next_].front()) != 0; }
  std::uint64_t number() { return std::stoull(word()); }
  std::uint64_t number_or(std::uint64_t otherwise) { return number_next() ? number() : otherwise; }
  ReplicaId id() { return {number()}; }
  std::set<ReplicaId> ids() {
    std::set<ReplicaId> all;
    while (number_next()) all.insert(id());
    return all;
  }
  /// All words that are left.
  std::vector<std::string> rest() {
    std::vector<std::string> all;
    while (more()) all.push_back(word());
    return all;
  }

 private:
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

}  // namespace banyan
