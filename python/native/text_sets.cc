#include "text_sets.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace banyan {
namespace {

static_assert(std::endian::native == std::endian::little);

using Size = std::uint32_t;

// The UTF-8 bytes of a text, and the object that owns these if the text is not of ASCII.
struct Text {
  std::string_view bytes;
  Object made;
};

std::span<const setentry> entries(PyObject* set) {
  const auto* object = reinterpret_cast<const PySetObject*>(set);
  return {object->table, static_cast<std::size_t>(object->mask) + 1};
}

// A deleted element leaves an entry with a hash of -1.
bool holds(const setentry& entry) { return entry.key != nullptr && entry.hash != -1; }

void add(BlockDigest& sum, const XXH128_hash_t& hash) {
  sum.low += hash.low64;
  sum.high += hash.high64;
}

// The beginning of a text with its index. Most texts differ there, so that comparing them does not
// read the texts.
struct Key {
  std::uint64_t beginning;
  Size at;
};

std::uint64_t beginning_of(std::string_view bytes) {
  std::uint64_t first = 0;
  std::memcpy(&first, bytes.data(), std::min(bytes.size(), sizeof(first)));
  return __builtin_bswap64(first);
}

std::vector<Key> sorted(const std::vector<Text>& texts) {
  std::vector<Key> keys;
  keys.reserve(texts.size());
  for (const Text& text : texts)
    keys.push_back({.beginning = beginning_of(text.bytes), .at = static_cast<Size>(keys.size())});
  std::ranges::sort(keys, [&](const Key& one, const Key& other) {
    if (one.beginning != other.beginning) return one.beginning < other.beginning;
    return texts[one.at].bytes < texts[other.at].bytes;
  });
  return keys;
}

// Null when the part gets too long.
Object encoded(const std::vector<Text>& texts) {
  std::size_t size = (texts.size() + 1) * sizeof(Size);
  for (const Text& text : texts) size += text.bytes.size();
  if (size > std::numeric_limits<Size>::max()) return {};
  auto bytes = Object::steal(checked(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size))));
  char* heads = PyBytes_AS_STRING(bytes.get());
  char* content = heads + (texts.size() + 1) * sizeof(Size);
  const auto put = [&heads](std::size_t number) {
    const auto head = static_cast<Size>(number);
    std::memcpy(heads, &head, sizeof(head));
    heads += sizeof(head);
  };
  put(texts.size());
  for (const Key& key : sorted(texts)) {
    const Text& text = texts[key.at];
    put(text.bytes.size());
    content += text.bytes.copy(content, text.bytes.size());
  }
  return bytes;
}

}  // namespace

BlockDigest table_of(PyObject* set) { return digest_of(std::as_bytes(entries(set))); }

std::optional<std::vector<TextPart>> parts_of(PyObject* set, unsigned bits,
                                              std::span<const BlockDigest> known) {
  // How many elements ahead one is fetched into the cache, because elements are spread over the memory.
  constexpr std::size_t kFar = 8;
  const std::size_t count = std::size_t{1} << bits;
  const auto table = entries(set);
  std::vector<std::vector<Text>> texts(count);
  std::vector<TextPart> parts(count);
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (i + kFar < table.size()) {
      const char* const far = reinterpret_cast<const char*>(table[i + kFar].key);
      __builtin_prefetch(far);
      __builtin_prefetch(far + 64);
    }
    if (!holds(table[i])) continue;
    if (PyUnicode_CheckExact(table[i].key) == 0) return std::nullopt;
    auto utf8 = utf8_of(table[i].key);
    const auto hash = XXH3_128bits(utf8.bytes.data(), utf8.bytes.size());
    const std::size_t at = bits == 0 ? 0 : hash.high64 >> (64 - bits);
    add(parts[at].sum, hash);
    texts[at].push_back({.bytes = utf8.bytes, .made = std::move(utf8.made)});
  }
  for (std::size_t at = 0; at < count; ++at) {
    if (at < known.size() && known[at] == parts[at].sum) continue;
    parts[at].bytes = encoded(texts[at]);
    if (!parts[at].bytes) return std::nullopt;
  }
  return parts;
}

Object texts_of(std::span<const std::byte> part) {
  const auto bad = [] { throw std::invalid_argument("the bytes of a set end in the midst of it"); };
  Size count = 0;
  if (part.size() < sizeof(count)) bad();
  std::memcpy(&count, part.data(), sizeof(count));
  const std::size_t content_at = (std::size_t{count} + 1) * sizeof(Size);
  if (part.size() < content_at) bad();
  const auto* heads = part.data() + sizeof(count);
  auto content = part.subspan(content_at);
  auto list = Object::steal(checked(PyList_New(static_cast<Py_ssize_t>(count))));
  for (Size i = 0; i < count; ++i, heads += sizeof(Size)) {
    Size size = 0;
    std::memcpy(&size, heads, sizeof(size));
    if (size > content.size()) bad();
    PyObject* text = checked(PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(content.data()),
                                                  static_cast<Py_ssize_t>(size), "surrogatepass"));
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), text);
    content = content.subspan(size);
  }
  return list;
}

}  // namespace banyan
