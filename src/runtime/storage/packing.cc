#include "runtime/storage/packing.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

namespace banyan::runtime {

namespace {

// How the bytes after it are packed: the first byte of what is packed.
enum class Form : unsigned char {
  kPlain = 0,
  kZstd = 1,
  kZstdOf4 = 2,  ///< of numbers of 4 bytes: first the first byte of each, then the second, …
  kZstdOf8 = 3,
};

constexpr int kLevel = 1;                  // faster than the disk; higher ones gain little on numbers
constexpr std::size_t kSample = 16 << 10;  // from the middle: beginnings are headers
constexpr std::size_t kUnpackedMax = 1 << 24;

bool pays(std::size_t compressed, std::size_t plain) { return compressed <= plain - plain / 24; }

std::size_t width_of(Form form) { return form == Form::kZstdOf4 ? 4 : form == Form::kZstdOf8 ? 8 : 1; }

// The bytes of numbers in planes: their signs, exponents and leading digits are alike, what follows is not
// (as the shuffle filters of HDF5 and Blosc do).
std::string to_planes(std::string_view bytes, std::size_t width) {
  const std::size_t count = bytes.size() / width;
  std::string planes(bytes.size(), '\0');
  for (std::size_t plane = 0; plane < width; ++plane)
    for (std::size_t i = 0; i < count; ++i) planes[plane * count + i] = bytes[i * width + plane];
  std::ranges::copy(bytes.substr(count * width), planes.begin() + static_cast<std::ptrdiff_t>(count * width));
  return planes;
}

void from_planes(std::string_view planes, std::size_t width, char* bytes) {
  const std::size_t count = planes.size() / width;
  for (std::size_t plane = 0; plane < width; ++plane)
    for (std::size_t i = 0; i < count; ++i) bytes[i * width + plane] = planes[plane * count + i];
  std::ranges::copy(planes.substr(count * width), bytes + count * width);
}

// One for each thread: they are large, and made anew they would take longer than a block does.
ZSTD_CCtx* compressor() {
  static thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> own(ZSTD_createCCtx(),
                                                                                     &ZSTD_freeCCtx);
  return own.get();
}

ZSTD_DCtx* decompressor() {
  static thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> own(ZSTD_createDCtx(),
                                                                                     &ZSTD_freeDCtx);
  return own.get();
}

/// Empty when it fails.
std::string compressed(std::string_view bytes, Form form) {
  const auto width = width_of(form);
  const auto planes = width == 1 ? std::string() : to_planes(bytes, width);
  if (width > 1) bytes = planes;
  std::string out(ZSTD_compressBound(bytes.size()) + 1, static_cast<char>(form));
  const std::size_t size =
      ZSTD_compressCCtx(compressor(), out.data() + 1, out.size() - 1, bytes.data(), bytes.size(), kLevel);
  out.resize(ZSTD_isError(size) != 0 ? 0 : size + 1);
  return out;
}

/// The form in which a sample is smallest.
Form best_form(std::string_view bytes) {
  const std::size_t sampled = std::min(bytes.size(), kSample) / 8 * 8;
  const std::string_view sample = bytes.substr((bytes.size() - sampled) / 2 / 8 * 8, sampled);
  Form best = Form::kPlain;
  std::size_t least = sampled - sampled / 24;
  for (const Form form : {Form::kZstd, Form::kZstdOf4, Form::kZstdOf8}) {
    const auto size = compressed(sample, form).size();
    if (size == 0 || size >= least) continue;
    best = form;
    least = size - size / 24;  // planes take time, too
  }
  return best;
}

}  // namespace

std::string pack(std::string_view bytes) {
  if (const Form form = best_form(bytes); form != Form::kPlain) {
    std::string packed = compressed(bytes, form);
    if (!packed.empty() && pays(packed.size(), bytes.size())) return packed;
  }
  std::string plain(1, static_cast<char>(Form::kPlain));
  plain += bytes;
  return plain;
}

bool unpack(std::string_view packed, std::string& bytes) {
  if (packed.empty()) return false;
  const auto form = static_cast<Form>(packed.front());
  const std::string_view body = packed.substr(1);
  if (form == Form::kPlain) {
    bytes += body;
    return true;
  }
  const unsigned long long size = ZSTD_getFrameContentSize(body.data(), body.size());
  if (form > Form::kZstdOf8 || size > kUnpackedMax) return false;  // errors are the highest numbers
  const auto width = width_of(form);
  const std::size_t before = bytes.size();
  bytes.resize(before + size);
  std::string planes(width == 1 ? 0 : size, '\0');
  char* to = width == 1 ? bytes.data() + before : planes.data();
  if (ZSTD_decompressDCtx(decompressor(), to, size, body.data(), body.size()) != size) return false;
  if (width > 1) from_planes(planes, width, bytes.data() + before);
  return true;
}

}  // namespace banyan::runtime
