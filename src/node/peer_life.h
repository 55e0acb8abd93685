// Which life of a peer is the present one.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "node/protocol.h"

namespace banyan::node {

/// A frame of an unknown life may come from the peer's next life, or late from an old one. Only the first
/// life that is ever heard is believed at once; any other has to answer a question that was asked just now.
/// This class asks such questions, and answers those of the peer; they ride on the frames of a link.
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
  /// Whether the frame's life is the present one, or is the next one by its answer. Otherwise a question is
  /// due.
  [[nodiscard]] bool is_confirmed(const LinkFrame& frame);
  /// From now on this life is the present one.
  void begin(Incarnation life);

  /// Who asked, where that was another life than the present one.
  [[nodiscard]] std::optional<Incarnation> asked_by_other_life() const;
  /// Puts the question and the answer that are due into a frame that is about to be sent.
  void put_into(LinkFrame& frame);

 private:
  Incarnation own_;
  std::optional<Incarnation> present_;
  std::set<Incarnation> former_;
  std::optional<Incarnation> rival_;  ///< the last other life that was heard of: the next one, or long gone
  std::uint64_t asked_ = 0;           ///< what it has to answer
  bool ask_due_ = false;
  std::uint64_t answer_ = 0;  ///< owed to the peer
  Incarnation asker_;         ///< whose question that was
};

}  // namespace banyan::node
