#include "node/peer_life.h"

#include <utility>

namespace banyan::node {

bool PeerLife::take_question(const LinkFrame& frame) {
  if (frame.ask == 0) return false;
  answer_ = frame.ask;
  asker_ = frame.from;
  return true;
}

bool PeerLife::is_confirmed(const LinkFrame& frame) {
  if (!present_ || frame.from == present_) return true;
  if (rival_ == frame.from && frame.to == own_ && frame.answer == asked_) return true;
  if (rival_ != frame.from) ++asked_;
  rival_ = frame.from;
  ask_due_ = true;
  return false;
}

void PeerLife::begin(Incarnation life) {
  if (present_) former_.insert(*present_);
  present_ = life;
}

std::optional<Incarnation> PeerLife::asked_by_other_life() const {
  return answer_ != 0 && asker_ != present_ ? std::optional(asker_) : std::nullopt;
}

void PeerLife::put_into(LinkFrame& frame) {
  frame.ask = std::exchange(ask_due_, false) ? asked_ : 0;
  frame.answer = std::exchange(answer_, 0);
}

}  // namespace banyan::node
