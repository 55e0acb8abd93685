#include "runtime/storage/packing.h"

#include <zstd.h>

#include <algorithm>

namespace banyan::runtime {

namespace {

constexpr char kPlain = 0;
constexpr char kZstd = 1;
constexpr int kLevel = 1;                  // faster than the disk; higher ones gain little on numbers
constexpr std::size_t kSample = 16 << 10;  // from the middle: beginnings are headers
constexpr std::size_t kUnpackedMax = 1 << 24;

bool pays(std::size_t compressed, std::size_t plain) { return compressed <= plain - plain / 8; }

/// With a byte before it that says how; empty when it fails.
std::string compressed(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()) + 1, kZstd);
  const std::size_t size = ZSTD_compress(out.data() + 1, out.size() - 1, bytes.data(), bytes.size(), kLevel);
  out.resize(ZSTD_isError(size) != 0 ? 0 : size + 1);
  return out;
}

}  // namespace

std::string pack(std::string_view bytes) {
  const std::size_t sampled = std::min(bytes.size(), kSample);
  const std::string_view sample = bytes.substr((bytes.size() - sampled) / 2, sampled);
  if (sampled > 0 && pays(compressed(sample).size(), sampled)) {
    std::string packed = compressed(bytes);
    if (!packed.empty() && pays(packed.size(), bytes.size())) return packed;
  }
  std::string plain(1, kPlain);
  plain += bytes;
  return plain;
}

bool unpack(std::string_view packed, std::string& bytes) {
  if (packed.empty()) return false;
  const std::string_view body = packed.substr(1);
  if (packed.front() == kPlain) {
    bytes += body;
    return true;
  }
  const unsigned long long size = ZSTD_getFrameContentSize(body.data(), body.size());
  if (packed.front() != kZstd || size > kUnpackedMax) return false;  // errors are the highest numbers
  const std::size_t before = bytes.size();
  bytes.resize(before + size);
  return ZSTD_decompress(bytes.data() + before, size, body.data(), body.size()) == size;
}

}  // namespace banyan::runtime
