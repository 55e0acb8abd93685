#include "recent_texts.h"

#include <xxhash.h>

#include <utility>

namespace banyan {

std::optional<std::uint32_t> RecentTexts::find_or_add(std::string_view content, int kind,
                                                      std::uint32_t number) {
  const auto hash = XXH3_128bits_withSeed(content.data(), content.size(), static_cast<XXH64_hash_t>(kind));
  const Slot now{.low = hash.low64, .high = static_cast<std::uint32_t>(hash.high64), .number = number};
  const auto is_known = [&](const Slot& slot) {
    return slot.low == now.low && slot.high == now.high && slot.number != kNone;
  };
  auto& [last, before] = pair(now.low);
  if (is_known(last)) return last.number;
  if (is_known(before)) {
    std::swap(last, before);
    return last.number;
  }
  if (++added_ > pairs_.size() && pairs_.size() < kPairsMax) grow();
  auto& [first, second] = pair(now.low);
  second = std::exchange(first, now);
  return std::nullopt;
}

void RecentTexts::grow() {
  std::vector<Pair> smaller(4 * pairs_.size());
  smaller.swap(pairs_);
  for (const auto& [last, before] : smaller) {
    for (const Slot& slot : {before, last}) {
      auto& [first, second] = pair(slot.low);
      if (slot.number != kNone) second = std::exchange(first, slot);
    }
  }
}

}  // namespace banyan
