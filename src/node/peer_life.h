// Which life of a peer is the present one.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "node/protocol.h"

namespace banyan::node {

/// A frame of a life that is not the peer's so far is a later one's, or an earlier one's that comes late:
/// only who answers a question that was asked just now is alive. This class asks such questions, and answers
/// those of the peer; they ride on the frames of a link.
class PeerLife {
 public:
  /// `own`: the life of this daemon.
  explicit PeerLife(Incarnation own) : own_(own) {}

  /// The present one, once known.
  [[nodiscard]] const std::optional<Incarnation>& present() const { return present_; }
  /// One that has ended: whatever comes of it is late.
  [[nodiscard]] bool is_former(Incarnation life) const { return former_.contains(life); }
  /// Takes in what a frame asks. True if an answer is owed now.
  bool take_question(const LinkFrame& frame);
  /// Whether the frame's life is the present one, or has proven that it is the next. Otherwise a question is
  /// due.
  [[nodiscard]] bool is_proven(const LinkFrame& frame);
  /// From now on this life is the present one.
  void begin(Incarnation life);

  /// Who asked, where that was another life than the present one.
  [[nodiscard]] std::optional<Incarnation> asked_by_stranger() const;
  /// Puts the question and the answer that are due into a frame that is about to be sent.
  void put_into(LinkFrame& frame);

 private:
  Incarnation own_;
  std::optional<Incarnation> present_;
  std::set<Incarnation> former_;
  std::optional<Incarnation> rival_;  ///< another life that was heard of: the next one, or long gone
  std::uint64_t asked_ = 0;           ///< what it has to answer
  bool ask_due_ = false;
  std::uint64_t answer_ = 0;  ///< owed to the peer
  Incarnation asker_;         ///< whose question that was
};

}  // namespace banyan::node
