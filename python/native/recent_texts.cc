#include "recent_texts.h"

#include <xxhash.h>

namespace banyan {

std::optional<std::uint32_t> RecentTexts::find_or_add(std::string_view content, int kind,
                                                      std::uint32_t number) {
  const auto hash = XXH3_128bits_withSeed(content.data(), content.size(), static_cast<XXH64_hash_t>(kind));
  const auto high = static_cast<std::uint32_t>(hash.high64);
  const Slot& known = slot(hash.low64);
  if (known.low == hash.low64 && known.high == high && known.number != kNone) return known.number;
  if (++added_ > slots_.size() && slots_.size() < kSlotsMax) grow();
  slot(hash.low64) = {.low = hash.low64, .high = high, .number = number};
  return std::nullopt;
}

void RecentTexts::grow() {
  std::vector<Slot> before(4 * slots_.size());
  before.swap(slots_);
  for (const Slot& each : before)
    if (each.number != kNone) slot(each.low) = each;
}

}  // namespace banyan
