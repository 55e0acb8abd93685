#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace banyan {

/// The texts and byte strings that a pickler wrote lately, by value: so that equal values have equal pickles,
/// whichever objects spell them. Which ones it still knows follows from the values alone, and is the same in
/// every process. Bounded: most texts of a large value occur once, and to look for them among all would take
/// longer than to write them. Equal by 96 bits of XXH3-128.
class RecentTexts {
 public:
  RecentTexts() : pairs_(kPairsMin) {}

  /// The number of the same content of the same kind (0 to 4). None when it is not known; it then has
  /// `number`.
  std::optional<std::uint32_t> find_or_add(std::string_view content, int kind, std::uint32_t number);

 private:
  static constexpr std::size_t kPairsMin = std::size_t{1} << 7;
  static constexpr std::size_t kPairsMax = std::size_t{1} << 13;  // 256 KiB: in a cache of the processor

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Slot {
    std::uint64_t low = 0;
    std::uint32_t high = 0;
    std::uint32_t number = kNone;
  };

  /// Two that lie together: the one used last, and the one before.
  using Pair = std::array<Slot, 2>;

  [[nodiscard]] Pair& pair(std::uint64_t low) { return pairs_[low & (pairs_.size() - 1)]; }
  void grow();

  std::vector<Pair> pairs_;
  std::size_t added_ = 0;
};

}  // namespace banyan
