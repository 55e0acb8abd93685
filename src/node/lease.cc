#include "node/lease.h"

#include <algorithm>

namespace banyan::node {

namespace {
constexpr Duration kAskSoon = 50ms;
}  // namespace

void Lease::begin(Time asked) {
  until_ = asked + host_.timing().lease;
  asked_at_ = asked;
}

void Lease::end() {
  until_.reset();
  asked_at_.reset();
  asked_.clear();
}

bool Lease::is_due(Renewal renewal) const {
  const Duration in_time = host_.timing().lease / 4;
  const Duration after = renewal == Renewal::kSoon ? std::min(kAskSoon, in_time) : in_time;
  return !asked_at_ || now() - *asked_at_ >= after;
}

void Lease::on_asked(std::uint64_t context) {
  asked_[context] = now();
  asked_at_ = now();
}

std::optional<Time> Lease::take_asked(std::uint64_t context) {
  const auto asked = asked_.extract(context);
  return asked.empty() ? std::nullopt : std::optional(asked.mapped());
}

void Lease::renew(Time asked) {
  if (until_) until_ = std::max(*until_, asked + host_.timing().lease);
}

}  // namespace banyan::node
