// The one binary encoding of our own structs: peer messages, log entries, snapshots.
//
// Integers are LEB128 varints (zigzag when signed), strings and containers are length-prefixed, a variant is
// its index and a length-prefixed value. An aggregate is a byte length and then its fields in order of
// declaration: a reader of an older version skips fields it does not know, and fields that are missing keep
// their defaults. So a new version may only append fields to a struct and alternatives to a variant. Decoding
// never trusts a length and never throws.
#pragma once

#include <bit>
#include <boost/pfr/core.hpp>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

namespace banyan {

/// Appends encoded values to a buffer.
class Encoder {
 public:
  void varint(std::uint64_t value);
  void raw(std::string_view bytes) { out_.append(bytes); }
  [[nodiscard]] std::string take() { return std::move(out_); }

  template <class T>
  void put(const T& value);

 private:
  std::string out_;
};

/// Reads encoded values from a buffer, which must outlive the decoder. After malformed input ok() is false,
/// and values are their defaults.
class Decoder {
 public:
  /// With an `owner`, Blobs are decoded as views into `in`, which the owner keeps alive for them.
  explicit Decoder(std::string_view in, std::shared_ptr<const void> owner = nullptr)
      : in_(in), owner_(std::move(owner)) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return in_.empty(); }
  void reject() {
    ok_ = false;
    in_ = {};
  }
  std::uint64_t varint();
  std::string_view raw(std::uint64_t size);

  template <class T>
  void get(T& value);

 private:
  std::string_view in_;
  std::shared_ptr<const void> owner_;
  bool ok_ = true;
};

namespace codec_detail {
template <class T>
inline constexpr bool is_id = false;
template <class Tag, class Rep>
inline constexpr bool is_id<Id<Tag, Rep>> = true;
template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... Args>
inline constexpr bool is_a<Template<Args...>, Template> = true;

template <class Variant, std::size_t... I>
void emplace(Variant& value, std::size_t index, std::index_sequence<I...>) {
  ((index == I ? void(value.template emplace<I>()) : void()), ...);
}
}  // namespace codec_detail

template <class T>
void Encoder::put(const T& value) {
  using namespace codec_detail;
  if constexpr (std::is_same_v<T, bool>) {
    varint(value ? 1 : 0);
  } else if constexpr (std::is_enum_v<T>) {
    varint(static_cast<std::uint64_t>(value));
  } else if constexpr (std::unsigned_integral<T>) {
    varint(value);
  } else if constexpr (std::signed_integral<T>) {
    const auto wide = static_cast<std::int64_t>(value);
    varint((static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63));
  } else if constexpr (std::is_same_v<T, double>) {
    varint(std::bit_cast<std::uint64_t>(value));
  } else if constexpr (is_id<T>) {
    put(value.value);
  } else if constexpr (is_a<T, std::chrono::duration>) {
    put(value.count());
  } else if constexpr (std::is_same_v<T, std::string>) {
    varint(value.size());
    raw(value);
  } else if constexpr (std::is_same_v<T, Blob>) {
    varint(value.size());
    raw(value.view());
  } else if constexpr (is_a<T, std::optional>) {
    varint(value ? 1 : 0);
    if (value) put(*value);
  } else if constexpr (is_a<T, std::vector> || is_a<T, std::set>) {
    varint(value.size());
    for (const auto& item : value) put(item);
  } else if constexpr (is_a<T, std::map>) {
    varint(value.size());
    for (const auto& [key, item] : value) {
      put(key);
      put(item);
    }
  } else if constexpr (is_a<T, std::variant>) {
    varint(value.index());
    Encoder inner;
    std::visit([&](const auto& alternative) { inner.put(alternative); }, value);
    varint(inner.out_.size());
    raw(inner.out_);
  } else if constexpr (std::is_empty_v<T>) {
    varint(0);
  } else {
    static_assert(std::is_aggregate_v<T>,
                  "only aggregates, ids, numbers, strings and containers are encoded");
    Encoder inner;
    boost::pfr::for_each_field(value, [&](const auto& field) { inner.put(field); });
    varint(inner.out_.size());
    raw(inner.out_);
  }
}

template <class T>
void Decoder::get(T& value) {
  using namespace codec_detail;
  if constexpr (std::is_same_v<T, bool>) {
    value = varint() != 0;
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(varint());
  } else if constexpr (std::unsigned_integral<T>) {
    value = static_cast<T>(varint());
  } else if constexpr (std::signed_integral<T>) {
    const std::uint64_t bits = varint();
    value = static_cast<T>(static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1));
  } else if constexpr (std::is_same_v<T, double>) {
    value = std::bit_cast<double>(varint());
  } else if constexpr (is_id<T>) {
    get(value.value);
  } else if constexpr (is_a<T, std::chrono::duration>) {
    typename T::rep count{};
    get(count);
    value = T(count);
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = raw(varint());
  } else if constexpr (std::is_same_v<T, Blob>) {
    const std::string_view bytes = raw(varint());
    value = owner_ ? Blob(owner_, bytes) : Blob(std::string(bytes));
  } else if constexpr (is_a<T, std::optional>) {
    value.reset();
    if (varint() != 0) get(value.emplace());
  } else if constexpr (is_a<T, std::vector>) {
    value.clear();
    for (std::uint64_t left = varint(); left > 0 && ok_; --left) get(value.emplace_back());
  } else if constexpr (is_a<T, std::set>) {
    value.clear();
    for (std::uint64_t left = varint(); left > 0 && ok_; --left) {
      typename T::key_type item{};
      get(item);
      value.insert(std::move(item));
    }
  } else if constexpr (is_a<T, std::map>) {
    value.clear();
    for (std::uint64_t left = varint(); left > 0 && ok_; --left) {
      typename T::key_type key{};
      get(key);
      get(value[std::move(key)]);
    }
  } else if constexpr (is_a<T, std::variant>) {
    const std::uint64_t index = varint();
    Decoder inner(raw(varint()), owner_);
    if (index >= std::variant_size_v<T>) return reject();
    emplace(value, index, std::make_index_sequence<std::variant_size_v<T>>{});
    std::visit([&](auto& alternative) { inner.get(alternative); }, value);
    if (!inner.ok_) reject();
  } else if constexpr (std::is_empty_v<T>) {
    raw(varint());
  } else {
    static_assert(std::is_aggregate_v<T>,
                  "only aggregates, ids, numbers, strings and containers are decoded");
    Decoder inner(raw(varint()), owner_);
    boost::pfr::for_each_field(value, [&](auto& field) {
      if (!inner.at_end()) inner.get(field);
    });
    if (!inner.ok_) reject();
  }
}

/// The encoding of `value`.
template <class T>
[[nodiscard]] std::string encode(const T& value) {
  Encoder encoder;
  encoder.put(value);
  return encoder.take();
}

/// The value that `bytes` encode; kCorrupt when they encode none. Blobs inside are copied.
template <class T>
[[nodiscard]] Result<T> decode(std::string_view bytes) {
  Decoder decoder(bytes);
  T value{};
  decoder.get(value);
  if (!decoder.ok()) return fail(ErrorKind::kCorrupt, "an encoded record is cut short or malformed");
  return value;
}

/// The same, but Blobs inside are views that share the ownership of `bytes`.
template <class T>
[[nodiscard]] Result<T> decode(const Blob& bytes) {
  auto owner = std::make_shared<const Blob>(bytes);
  Decoder decoder(owner->view(), owner);
  T value{};
  decoder.get(value);
  if (!decoder.ok()) return fail(ErrorKind::kCorrupt, "an encoded record is cut short or malformed");
  return value;
}

}  // namespace banyan
