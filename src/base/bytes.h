// Bytes that travel far without being copied.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace banyan {

/// Immutable bytes with shared ownership: copying a Blob copies a pointer. An empty Blob holds nothing.
class Blob {
 public:
  Blob() = default;
  explicit Blob(std::string bytes)
      : owner_(std::make_shared<const std::string>(std::move(bytes))),
        view_(*static_cast<const std::string*>(owner_.get())) {}
  /// A view into memory that `owner` keeps alive (a mapped memfd, a frame that was received).
  Blob(std::shared_ptr<const void> owner, std::string_view view) : owner_(std::move(owner)), view_(view) {}

  [[nodiscard]] std::string_view view() const { return view_; }
  [[nodiscard]] std::size_t size() const { return view_.size(); }
  [[nodiscard]] bool empty() const { return view_.empty(); }
  /// A Blob of a part of the same bytes. `offset` + `count` must lie inside.
  [[nodiscard]] Blob part(std::size_t offset, std::size_t count) const {
    return {owner_, view_.substr(offset, count)};
  }

  friend bool operator==(const Blob& a, const Blob& b) { return a.view_ == b.view_; }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view view_;
};

/// XXH3-128 of some bytes: the address of a chunk, and the checksum of a record.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const Digest&, const Digest&) = default;
};

/// The digest of `bytes`. It takes about 0.1 s for each GB.
Digest digest_of(std::string_view bytes);
/// The digest as 32 lower-case hex digits.
std::string to_hex(const Digest& digest);
/// The digest that to_hex() wrote; nothing when the text is something else.
std::optional<Digest> digest_from_hex(std::string_view hex);

}  // namespace banyan
