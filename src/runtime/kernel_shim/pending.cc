#include "runtime/kernel_shim/pending.h"

#include <utility>

namespace banyan::runtime {

void Pending::add(const jupyter::Header& header, jupyter::WireMessage wire) {
  if (const auto known = places_.find(header.msg_id); known != places_.end()) by_place_.erase(known->second);
  places_[header.msg_id] = next_;
  by_place_[next_++] = {header.msg_id, wants_reply(header), std::move(wire)};
  if (by_place_.size() > messages_max_) {
    places_.erase(by_place_.begin()->second.msg_id);
    by_place_.erase(by_place_.begin());
  }
}

std::vector<jupyter::Message> Pending::take_to_send() {
  std::vector<jupyter::Message> messages;
  for (auto entry = by_place_.begin(); entry != by_place_.end();) {
    messages.push_back(entry->second.wire.message);
    if (entry->second.wants_reply) {
      ++entry;
    } else {
      places_.erase(entry->second.msg_id);
      entry = by_place_.erase(entry);
    }
  }
  return messages;
}

std::vector<std::string> Pending::identities(const std::string& msg_id) const {
  const auto place = places_.find(msg_id);
  return place == places_.end() ? std::vector<std::string>() : by_place_.at(place->second).wire.identities;
}

std::vector<std::string> Pending::answered(const std::string& msg_id) {
  const auto place = places_.find(msg_id);
  if (place == places_.end()) return {};
  const auto entry = by_place_.find(place->second);
  std::vector<std::string> identities = std::move(entry->second.wire.identities);
  by_place_.erase(entry);
  places_.erase(place);
  return identities;
}

}  // namespace banyan::runtime
