// What the parts of a host stand on, for tests of one part: its effects, and peers that take what they are
// sent.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "node/host_context.h"

namespace banyan::node {

class TestHost : public ::testing::Test {
 protected:
  explicit TestHost(const Sizes& sizes = {}) : host_({.id = {"h1"}, .timing = {}, .sizes = sizes}, {1}, 7) {
    advance(1h);
  }

  void advance(Duration time) {
    now_.mono += time;
    host_.set_now(now_);
  }
  [[nodiscard]] Time now() const { return now_.mono; }
  /// Of what was wanted done since the last call: the effects of that type.
  template <class Effect>
  std::vector<Effect> done() {
    settle();
    return take<Effect>(done_);
  }
  /// Of what the peer was sent since the last call: the messages of that type.
  template <class Message>
  std::vector<Message> told(const HostId& peer) {
    settle();
    return take<Message>(told_[peer]);
  }

  HostContext host_;

 private:
  void settle() {
    for (auto effects = host_.finish(); !effects.empty(); effects = host_.finish())
      for (HostEffect& effect : effects) {
        auto* const sent = std::get_if<SendFrame>(&effect);
        if (sent == nullptr || !std::holds_alternative<LinkFrame>(sent->frame)) {
          done_.push_back(std::move(effect));
        } else {
          deliver(sent->to, std::get<LinkFrame>(std::move(sent->frame)));
        }
      }
  }
  void deliver(const HostId& to, LinkFrame frame) {
    Link& link = links_.try_emplace(to, Incarnation{99}, host_.timing(), host_.sizes()).first->second;
    for (PeerMessage& message : link.receive(std::move(frame), now_.mono).messages)
      told_[to].push_back(std::move(message));
    while (auto answer = link.poll(now_.mono)) host_.link(to).receive(std::move(*answer), now_.mono);
  }
  template <class One, class Any>
  static std::vector<One> take(std::vector<Any>& all) {
    std::vector<One> found;
    std::erase_if(all, [&](Any& each) {
      auto* const one = std::get_if<One>(&each);
      if (one != nullptr) found.push_back(std::move(*one));
      return one != nullptr;
    });
    return found;
  }

  Now now_{};
  std::map<HostId, Link> links_;
  std::vector<HostEffect> done_;
  std::map<HostId, std::vector<PeerMessage>> told_;
};

}  // namespace banyan::node
