// The outputs of one cell execution on its executor: numbered from 1, journaled up to a limit, held until
// clients have them.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core/jupyter/message.h"

namespace banyan::node {

class OutputLog {
 public:
  /// Journals the first `journal_max` bytes; holds at most about `held_max` bytes for clients that still miss
  /// them.
  OutputLog(std::uint64_t journal_max, std::uint64_t held_max)
      : journal_max_(journal_max), held_max_(held_max) {}

  /// Adds an output and returns its number.
  std::uint64_t add(jupyter::Message message);
  /// Clients have all outputs up to `seq`.
  void delivered(std::uint64_t seq);

  /// How many outputs there were.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// The first outputs, as a commit keeps them.
  [[nodiscard]] const std::vector<jupyter::Message>& journal() const { return journal_; }
  /// The output numbered `seq`; null when it was delivered or cut.
  [[nodiscard]] const jupyter::Message* find(std::uint64_t seq) const;
  /// All that are here, by number, ascending.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, const jupyter::Message*>> kept() const;

 private:
  std::uint64_t journal_max_;
  std::uint64_t held_max_;
  std::uint64_t total_ = 0;
  std::uint64_t journal_bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
  std::vector<jupyter::Message> journal_;
  std::deque<jupyter::Message> held_;  // the last held_.size() outputs
};

}  // namespace banyan::node
