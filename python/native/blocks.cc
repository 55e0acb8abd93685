#include "blocks.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <utility>

namespace banyan {
namespace {

constexpr std::size_t kKnownMax = 256;
// So many looks must find no change before a buffer that was rewritten is watched again.
constexpr int kQuietEnough = 2;

// A number for each byte value, from SplitMix64 (Steele et al. 2014).
constexpr std::array<std::uint64_t, 256> kGear = [] {
  std::array<std::uint64_t, 256> gear{};
  std::uint64_t state = 0;
  for (auto& number : gear) {
    state += 0x9e3779b97f4a7c15;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    number = z ^ (z >> 31);
  }
  return gear;
}();
constexpr std::uint64_t kCutMask = (Blocks::kSize / 2 - 1) << 40;

std::size_t blocks_in(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit; }

std::span<const std::byte> block(std::span<const std::byte> bytes, std::size_t unit, std::size_t index) {
  const auto at = index * unit;
  return bytes.subspan(at, std::min(unit, bytes.size() - at));
}

Range range_of(std::span<const std::byte> bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  return {begin, begin + bytes.size()};
}

}  // namespace

SharedBlocks& SharedBlocks::get() {
  // It is never deleted, because user code may fork and end the process in any way.
  static auto* shared = new SharedBlocks;
  return *shared;
}

BlockDigest digest_of(std::span<const std::byte> bytes) {
  const auto hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string BlockDigest::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const auto half : {high, low})
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(half >> shift) & 0xf];
  return text;
}

std::size_t Blocks::next_cut(std::span<const std::byte> bytes) {
  const std::size_t least = kSize / 4;
  if (bytes.size() <= 2 * least) return bytes.size();
  const std::size_t most = std::min(bytes.size(), 4 * kSize);
  std::uint64_t gear = 0;
  for (std::size_t i = least; i < most; ++i) {
    gear = (gear << 1) + kGear[static_cast<std::uint8_t>(bytes[i])];
    if ((gear & kCutMask) == 0) return i + 1;
  }
  return most;
}

std::vector<Block> Blocks::of_pickle(std::span<const std::byte> bytes) {
  std::vector<Block> blocks;
  do {
    const auto part = bytes.first(next_cut(bytes));
    blocks.push_back({digest_of(part), part.size()});
    bytes = bytes.subspan(part.size());
  } while (!bytes.empty());
  return blocks;
}

std::vector<Block> Blocks::of_memory(std::span<const std::byte> bytes, const Cut& cut, const Reader& reader) {
  if (!remembers(bytes.size(), cut)) {
    const auto count = blocks_in(bytes.size(), cut.unit);
    Known fresh{.size = bytes.size(),
                .cut = cut,
                .blocks = std::vector<Block>(std::max<std::size_t>(1, count)),
                .stale = std::vector<bool>(count, true)};
    read(bytes, fresh, reader);
    return std::move(fresh.blocks);
  }
  const auto range = range_of(bytes);
  const auto pages = WriteTracker::pages_in(range);
  Known& memory = known(range.begin, bytes.size(), cut);
  if (!memory.watched) {
    memory.stale.assign(memory.stale.size(), true);
    if (memory.quiet >= kQuietEnough) memory.watched = tracker_.watch(pages);
  }
  if (memory.watched) {
    note_written(pages, memory);
    look_at_ends(bytes, pages, memory, reader);
  }
  const auto stale = static_cast<std::size_t>(std::ranges::count(memory.stale, true));
  const auto before = memory.blocks;
  read(bytes, memory, reader);
  if (std::exchange(memory.read, true)) {
    const auto same = [](const Block& a, const Block& b) { return a.digest == b.digest; };
    memory.quiet = std::ranges::equal(before, memory.blocks, same) ? memory.quiet + 1 : 0;
    if (memory.watched && 2 * stale > memory.stale.size() && memory.quiet == 0) {
      tracker_.unwatch(pages);  // Its writer pays more for the page faults than it costs to read all of it.
      memory.watched = false;
    }
  }
  return memory.blocks;
}

Blocks::Known& Blocks::known(std::uintptr_t address, std::size_t size, const Cut& cut) {
  auto [it, is_new] = known_.try_emplace(address);
  if (is_new || it->second.size != size || it->second.cut != cut) {
    const auto count = blocks_in(size, cut.unit);
    it->second = {.size = size,
                  .cut = cut,
                  .blocks = std::vector<Block>(count),
                  .stale = std::vector<bool>(count, true),
                  .quiet = kQuietEnough};
  }
  it->second.used = ++looks_;
  if (known_.size() > kKnownMax) {
    forget(std::ranges::min_element(known_, {}, [](const auto& item) { return item.second.used; }));
  }
  return known_.at(address);
}

std::span<const Block> Blocks::remembered(std::uintptr_t address) const {
  const auto it = known_.find(address);
  return it == known_.end() || !it->second.read ? std::span<const Block>{} : it->second.blocks;
}

void Blocks::remember(std::span<const std::byte> bytes, const Cut& cut, std::vector<Block> blocks) {
  if (!remembers(bytes.size(), cut) || blocks.size() != blocks_in(bytes.size(), cut.unit)) return;
  const auto range = range_of(bytes);
  Known& memory = known(range.begin, bytes.size(), cut);
  if (!memory.watched) memory.watched = tracker_.watch(WriteTracker::pages_in(range));
  if (!memory.watched) return;
  note_written(WriteTracker::pages_in(range), memory);  // Forget what was written until now.
  if (!memory.watched) return;
  memory.blocks = std::move(blocks);
  memory.stale.assign(memory.stale.size(), false);
  memory.stale.front() = true;  // The parts of pages at its ends were not compared.
  memory.forget_from(WriteTracker::pages_in(range).end - range.begin);
  memory.read = true;
}

void Blocks::forget(std::uintptr_t address) {
  if (const auto it = known_.find(address); it != known_.end()) forget(it);
}

void Blocks::forget(std::unordered_map<std::uintptr_t, Known>::iterator it) {
  const auto& [address, memory] = *it;
  if (memory.watched) tracker_.unwatch(WriteTracker::pages_in({address, address + memory.size}));
  known_.erase(it);
}

// take_written also resets what the kernel knows of other buffers in the same pages, so all are told
// of the writes.
void Blocks::note_written(const Range& pages, Known& asked) {
  auto written = tracker_.take_written(pages);
  if (!written) {  // What the kernel knew for other buffers is lost as well, so all pages count as written.
    asked.watched = tracker_.watch(pages) && tracker_.take_written(pages).has_value();
    written = {pages};
    asked.stale.assign(asked.stale.size(), true);
  }
  for (const auto& range : *written) {
    for (auto& [address, memory] : known_) {
      const Range bytes{address, address + memory.size};
      if (!bytes.overlaps(range)) continue;
      const auto first = (std::max(range.begin, bytes.begin) - bytes.begin) / memory.cut.unit;
      const auto last = (std::min(range.end, bytes.end) - bytes.begin - 1) / memory.cut.unit;
      for (auto i = first; i <= last; ++i) memory.stale[i] = true;
    }
  }
}

// Pages at both ends may hold other data, too, so they are not watched: the buffer's parts of
// them are compared.
void Blocks::look_at_ends(std::span<const std::byte> bytes, const Range& pages, Known& memory,
                          const Reader& reader) {
  const auto range = range_of(bytes);
  const auto head = reader(bytes.first(pages.begin - range.begin)).digest;
  const auto tail = reader(bytes.last(range.end - pages.end)).digest;
  if (std::exchange(memory.head, head) != head) memory.stale.front() = true;
  if (std::exchange(memory.tail, tail) != tail) memory.forget_from(pages.end - range.begin);
}

void Blocks::read(std::span<const std::byte> bytes, Known& memory, const Reader& reader) {
  for (std::size_t i = 0; i < memory.stale.size(); ++i) {
    if (!memory.stale[i]) continue;
    memory.blocks[i] = reader(block(bytes, memory.cut.unit, i));
    memory.stale[i] = false;
  }
  if (memory.stale.empty()) memory.blocks.front() = reader(bytes);
}

Block Blocks::as_it_is(std::span<const std::byte> bytes) { return {digest_of(bytes), bytes.size()}; }

}  // namespace banyan
