#include "runtime/storage/packing.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.h"
#include "runtime/storage/planes.h"

namespace banyan::runtime {

namespace {

// The first byte of a packed block: how the bytes after it are packed.
enum class Form : unsigned char {
  kPlain = 0,
  kZstd = 1,
  kZstdOf4 = 2,  ///< the planes (planes.h) of numbers of 4 bytes, compressed
  kZstdOf8 = 3,  ///< the planes of numbers of 8 bytes, compressed
};

constexpr int kLevel = 1;  // zstd's level: faster than the disk; higher levels gain little on numbers
constexpr std::size_t kSample = 8 << 10;  // bytes, from the middle: beginnings are often headers
constexpr std::size_t kPlaneSamples = 4;  // so many samples of a plane, evenly spread
constexpr std::size_t kPlaneSample = 512;
constexpr std::size_t kUnpackedMax = 1 << 24;

// How zstd's frames are made: RFC 8878, section 3.1.1.
constexpr std::size_t kRawBlockMax = 128 << 10;
constexpr unsigned kLastBlock = 1;
constexpr unsigned kRunLengthBlock = 1;
constexpr std::size_t kBlockHeader = 3;

bool pays(std::size_t compressed, std::size_t plain) { return compressed <= plain - plain / 24; }

std::size_t width_of(Form form) { return form == Form::kZstdOf4 ? 4 : form == Form::kZstdOf8 ? 8 : 1; }

std::string_view middle_of(std::string_view bytes) {
  const std::size_t size = std::min(bytes.size(), kSample) / 8 * 8;
  return bytes.substr((bytes.size() - size) / 2 / 8 * 8, size);
}

unsigned number_at(const char* at, int bytes) {
  unsigned number = 0;
  for (int i = 0; i < bytes; ++i) number |= unsigned{static_cast<unsigned char>(at[i])} << (8 * i);
  return number;
}

char* put_number(char* at, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) *at++ = static_cast<char>(number >> (8 * i));
  return at;
}

// The size of a frame's header. ZSTD_compressCCtx made the frame, so it says the size of its content, and has
// neither a dictionary nor a checksum.
std::size_t frame_header_size(std::string_view frame) {
  const unsigned descriptor = number_at(frame.data() + 4, 1);
  const bool single_segment = (descriptor >> 5 & 1) != 0;
  constexpr std::size_t kSizes[] = {0, 2, 4, 8};
  const std::size_t size = kSizes[descriptor >> 6];
  return 5 + (single_segment ? std::max<std::size_t>(size, 1) : size + 1);
}

// The place of the header of a frame's last block.
std::size_t last_block_of(std::string_view frame) {
  for (std::size_t at = frame_header_size(frame);;) {
    const unsigned header = number_at(frame.data() + at, kBlockHeader);
    if ((header & kLastBlock) != 0) return at;
    const bool run_length = (header >> 1 & 3) == kRunLengthBlock;
    at += kBlockHeader + (run_length ? 1 : header >> 3);
  }
}

ZSTD_DCtx* decompressor() {
  static thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> own(ZSTD_createDCtx(),
                                                                                     &ZSTD_freeDCtx);
  return own.get();
}

// Memory that is kept for the next block; its contents are not.
class Scratch {
 public:
  char* of(std::size_t size) {
    if (size_ >= size) return bytes_.get();
    bytes_ = std::make_unique_for_overwrite<char[]>(size);
    size_ = size;
    return bytes_.get();
  }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace

struct Packer::Impl {
  // The context is large: making a new one for each block would take longer than compressing the block.
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd{ZSTD_createCCtx(), &ZSTD_freeCCtx};
  Scratch planes;
  Scratch frame;
  Scratch out;

  // Compresses the bytes into a frame; empty when that fails.
  std::string_view compressed(std::string_view bytes, Scratch& to) const {
    const std::size_t room = ZSTD_compressBound(bytes.size());
    char* at = to.of(room);
    const std::size_t size = ZSTD_compressCCtx(zstd.get(), at, room, bytes.data(), bytes.size(), kLevel);
    return ZSTD_isError(size) != 0 ? std::string_view() : std::string_view(at, size);
  }

  std::string_view by_planes(std::string_view bytes, std::size_t width) {
    if (width == 1) return bytes;
    char* at = planes.of(bytes.size());
    width == 4 ? to_planes<std::uint32_t>(bytes.data(), at, bytes.size())
               : to_planes<std::uint64_t>(bytes.data(), at, bytes.size());
    return {at, bytes.size()};
  }

  // The form in which a sample of the bytes is smallest.
  Form best_form(std::string_view bytes) {
    const std::string_view sample = middle_of(bytes);
    if (sample.empty()) return Form::kPlain;
    Form best = Form::kPlain;
    std::size_t least = sample.size() - sample.size() / 24;
    for (const Form form : {Form::kZstd, Form::kZstdOf4, Form::kZstdOf8}) {
      const auto size = compressed(by_planes(sample, width_of(form)), frame).size();
      if (size == 0 || size >= least) continue;
      best = form;
      least = size - size / 24;  // the next form must gain more than that, because planes take time
    }
    return best;
  }

  bool is_noise(std::string_view bytes) {
    const std::size_t size = compressed(bytes, frame).size();
    return size == 0 || !pays(size, bytes.size());
  }

  bool seems_noise(std::string_view plane) {
    constexpr std::size_t kTogether = kPlaneSamples * kPlaneSample;
    if (plane.size() <= kTogether) return is_noise(plane);
    std::array<char, kTogether> samples;
    for (std::size_t i = 0; i < kPlaneSamples; ++i)
      plane.copy(&samples[i * kPlaneSample], kPlaneSample,
                 (plane.size() - kPlaneSample) * i / (kPlaneSamples - 1));
    return is_noise({samples.data(), samples.size()});
  }

  // The planes from the first to the last that zstd makes smaller. What lies outside of them is noise.
  std::string_view telling(std::string_view numbers, std::size_t width) {
    const std::size_t count = numbers.size() / width;
    const auto plane = [&](std::size_t which) { return numbers.substr(which * count, count); };
    std::size_t first = 0;
    std::size_t last = width;
    while (first < last && seems_noise(plane(first))) ++first;
    while (first < last && seems_noise(plane(last - 1))) --last;
    // A sample does not show what repeats far apart, so the two planes at the border are tried as a whole.
    if (first > 0 && !is_noise(plane(first - 1))) first = 0;
    if (last < width && !is_noise(plane(last))) last = width;
    return first == 0 && last == width ? numbers : numbers.substr(first * count, (last - first) * count);
  }

  // A frame of all bytes, of which zstd compresses only `part`. What lies before and after it is noise and
  // goes into the frame as raw blocks: zstd would need more time to find that out than for all the rest.
  std::size_t frame_with_noise(std::string_view bytes, std::string_view part, char* to) {
    const std::string_view inner = compressed(part, frame);
    if (inner.empty()) return 0;
    constexpr unsigned kSingleSegment = 1U << 5;
    constexpr unsigned kSizeHas4Bytes = 2U << 6;
    char* at = put_number(to, ZSTD_MAGICNUMBER, 4);
    at = put_number(at, kSingleSegment | kSizeHas4Bytes, 1);
    at = put_number(at, bytes.size(), 4);
    char* last = nullptr;
    const auto put_raw = [&](std::string_view raw) {
      for (; !raw.empty(); raw.remove_prefix(std::min(raw.size(), kRawBlockMax))) {
        const std::string_view block = raw.substr(0, kRawBlockMax);
        last = at;
        at = std::ranges::copy(block, put_number(at, block.size() << 3, kBlockHeader)).out;
      }
    };
    put_raw(bytes.substr(0, static_cast<std::size_t>(part.data() - bytes.data())));
    const std::size_t header = frame_header_size(inner);
    last = at + (last_block_of(inner) - header);
    at = std::ranges::copy(inner.substr(header), at).out;
    *last = static_cast<char>(number_at(last, 1) & ~kLastBlock);
    put_raw(bytes.substr(static_cast<std::size_t>(part.data() + part.size() - bytes.data())));
    *last = static_cast<char>(number_at(last, 1) | kLastBlock);
    return static_cast<std::size_t>(at - to);
  }

  // The packed bytes; nothing when that does not pay.
  std::string_view packed(std::string_view bytes, Form form) {
    const std::string_view numbers = by_planes(bytes, width_of(form));
    const std::string_view part = form == Form::kZstd ? numbers : telling(numbers, width_of(form));
    if (part.empty()) return {};
    const std::size_t headers = 16 + kBlockHeader * (bytes.size() / kRawBlockMax + 2);
    char* to = out.of(1 + headers + ZSTD_compressBound(bytes.size()));
    *to = static_cast<char>(form);
    const std::size_t size = frame_with_noise(numbers, part, to + 1);
    return size != 0 && pays(size, bytes.size()) ? std::string_view(to, size + 1) : std::string_view();
  }
};

Packer::Packer() : impl_(std::make_unique<Impl>()) {}
Packer::~Packer() = default;

std::string_view Packer::pack(std::string_view bytes) {
  CHECK(bytes.size() <= kUnpackedMax, "a block is too large to be unpacked again");
  if (const Form form = impl_->best_form(bytes); form != Form::kPlain)
    if (const std::string_view packed = impl_->packed(bytes, form); !packed.empty()) return packed;
  char* to = impl_->out.of(bytes.size() + 1);
  *to = static_cast<char>(Form::kPlain);
  std::ranges::copy(bytes, to + 1);
  return {to, bytes.size() + 1};
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
  if (form > Form::kZstdOf8 || size > kUnpackedMax) return false;  // zstd's errors are the highest numbers
  const auto width = width_of(form);
  const std::size_t before = bytes.size();
  bytes.resize(before + size);
  std::string planes(width == 1 ? 0 : size, '\0');
  char* to = width == 1 ? bytes.data() + before : planes.data();
  if (ZSTD_decompressDCtx(decompressor(), to, size, body.data(), body.size()) != size) return false;
  if (width == 4) from_planes<std::uint32_t>(planes.data(), bytes.data() + before, size);
  if (width == 8) from_planes<std::uint64_t>(planes.data(), bytes.data() + before, size);
  return true;
}

}  // namespace banyan::runtime
