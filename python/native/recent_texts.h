#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace banyan {

/// The texts and byte strings that a pickler wrote lately, by value, so that equal values have equal
/// pickles whichever objects hold the texts. Which of them it still knows follows from the values alone,
/// and is the same in every process. It is bounded, because most texts of a large value occur once, and
/// looking for each among all others would take longer than writing it. Texts with the same 96 bits of
/// XXH3-128 count as equal.
class RecentTexts {
 public:
  RecentTexts() : pairs_(kPairsMin) {}

  /// The number of an equal text of the same kind (0 to 4). None when there is none; the text then
  /// gets `number`.
  std::optional<std::uint32_t> find_or_add(std::string_view content, int kind, std::uint32_t number);

 private:
  static constexpr std::size_t kPairsMin = std::size_t{1} << 7;
  // 256 KiB, which fits into a cache of the processor.
  static constexpr std::size_t kPairsMax = std::size_t{1} << 13;

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Slot {
    std::uint64_t low = 0;
    std::uint32_t high = 0;
    std::uint32_t number = kNone;
  };

  /// Two slots that lie together: the one that was used last, and the one before.
  using Pair = std::array<Slot, 2>;

  [[nodiscard]] Pair& pair(std::uint64_t low) { return pairs_[low & (pairs_.size() - 1)]; }
  void grow();

  std::vector<Pair> pairs_;
  std::size_t added_ = 0;
};

}  // namespace banyan
