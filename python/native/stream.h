#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace banyan {

/// Opcodes of pickle protocol 5 (Lib/pickletools.py) that the pickler writes.
enum class Op : std::uint8_t {
  kProto = 0x80,
  kStop = '.',
  kMark = '(',
  kPop = '0',
  kPopMark = '1',
  kNone = 'N',
  kTrue = 0x88,
  kFalse = 0x89,
  kInt1 = 'K',
  kInt2 = 'M',
  kInt4 = 'J',
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kFloat = 'G',
  kShortUnicode = 0x8c,
  kUnicode = 'X',
  kUnicode8 = 0x8d,
  kShortBytes = 'C',
  kBytes = 'B',
  kBytes8 = 0x8e,
  kByteArray8 = 0x96,
  kNextBuffer = 0x97,
  kReadonlyBuffer = 0x98,
  kEmptyTuple = ')',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTuple = 't',
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kEmptyDict = '}',
  kSetItem = 's',
  kSetItems = 'u',
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kGet1 = 'h',
  kGet4 = 'j',
  kReduce = 'R',
  kNewObject = 0x81,
  kNewObjectEx = 0x92,
  kBuild = 'b',
};

/// Bytes that grow at the end. Numbers are little-endian, as this project's platforms are.
class Stream {
 public:
  /// Takes some of the bytes, from the first on, and returns how many.
  using Outlet = std::function<std::size_t(std::span<const std::uint8_t>)>;

  Stream() = default;
  Stream(Stream&& other) noexcept { *this = std::move(other); }
  Stream& operator=(Stream&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(taken_, other.taken_);
    std::swap(outlet_, other.outlet_);
    return *this;
  }
  ~Stream() { std::free(data_); }

  void put(Op op) { *extend(1) = static_cast<std::uint8_t>(op); }
  template <typename T>
    requires std::is_integral_v<T>
  void put(Op op, T argument) {
    std::uint8_t* at = extend(1 + sizeof(T));
    *at = static_cast<std::uint8_t>(op);
    std::memcpy(at + 1, &argument, sizeof(T));
  }
  void put(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(extend(bytes.size()), bytes.data(), bytes.size());
  }

  /// `outlet` is called whenever more than kWindow bytes would be left that it has not taken. It may throw.
  void drain_to(Outlet outlet) { outlet_ = std::move(outlet); }

  /// The number of all bytes so far.
  [[nodiscard]] std::size_t size() const { return taken_ + size_; }
  /// The bytes that no outlet has taken.
  [[nodiscard]] std::span<std::uint8_t> bytes() { return {data_, size_}; }

 private:
  static constexpr std::size_t kCapacityMin = 4096;
  static constexpr std::size_t kWindow = std::size_t{3} << 19;

  std::uint8_t* extend(std::size_t count) {
    if (capacity_ - size_ < count) grow(size_ + count);
    std::uint8_t* at = data_ + size_;
    size_ += count;
    return at;
  }

  void grow(std::size_t needed) {
    if (outlet_ && needed > kWindow) {
      const std::size_t taken = outlet_(bytes());
      size_ -= taken;
      taken_ += taken;
      needed -= taken;
      std::memmove(data_, data_ + taken, size_);
      if (needed <= capacity_) return;
    }
    std::size_t capacity = capacity_ == 0 ? kCapacityMin : capacity_;
    while (capacity < needed) capacity += capacity / 2;
    if (outlet_ && needed <= kWindow) capacity = std::min(capacity, kWindow);
    void* data = std::realloc(data_, capacity);
    if (data == nullptr) throw std::bad_alloc();
    data_ = static_cast<std::uint8_t*>(data);
    capacity_ = capacity;
  }

  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t taken_ = 0;
  Outlet outlet_;
};

}  // namespace banyan
