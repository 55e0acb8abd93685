// Numbers by planes of their bytes: first the lowest byte of each number, then the second lowest, … The
// planes of signs, exponents and leading digits repeat much and compress well; those of low digits do not.
// HDF5 and Blosc call this a shuffle filter.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace banyan::runtime {

/// Transposes a square of bytes. Each number is a row, its lowest byte first.
template <class Row>
void transpose(std::array<Row, sizeof(Row)>& rows) {
  for (std::size_t half = sizeof(Row) / 2; half > 0; half /= 2) {
    Row low = 0;  // a mask of the bytes that the upper of two rows keeps
    for (std::size_t at = 0; at < sizeof(Row); ++at)
      if ((at & half) == 0) low |= Row{0xff} << (8 * at);
    for (std::size_t at = 0; at < sizeof(Row); ++at) {
      if ((at & half) != 0) continue;
      const Row moved = ((rows[at] >> (8 * half)) ^ rows[at + half]) & low;
      rows[at + half] ^= moved;
      rows[at] ^= moved << (8 * half);
    }
  }
}

/// Writes the planes of numbers. Both are `size` bytes and do not overlap. Bytes left over behind the last
/// whole number stay at the end.
template <class Row>
void to_planes(const char* numbers, char* planes, std::size_t size) {
  constexpr std::size_t kWidth = sizeof(Row);
  const std::size_t count = size / kWidth;
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    std::array<Row, kWidth> square;
    std::memcpy(square.data(), numbers + i * kWidth, sizeof(square));
    transpose(square);
    for (std::size_t plane = 0; plane < kWidth; ++plane)
      std::memcpy(planes + plane * count + i, &square[plane], kWidth);
  }
  for (; i < count; ++i)
    for (std::size_t plane = 0; plane < kWidth; ++plane)
      planes[plane * count + i] = numbers[i * kWidth + plane];
  std::copy_n(numbers + count * kWidth, size - count * kWidth, planes + count * kWidth);
}

/// Makes numbers of their planes again.
template <class Row>
void from_planes(const char* planes, char* numbers, std::size_t size) {
  constexpr std::size_t kWidth = sizeof(Row);
  const std::size_t count = size / kWidth;
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    std::array<Row, kWidth> square;
    for (std::size_t plane = 0; plane < kWidth; ++plane)
      std::memcpy(&square[plane], planes + plane * count + i, kWidth);
    transpose(square);
    std::memcpy(numbers + i * kWidth, square.data(), sizeof(square));
  }
  for (; i < count; ++i)
    for (std::size_t plane = 0; plane < kWidth; ++plane)
      numbers[i * kWidth + plane] = planes[plane * count + i];
  std::copy_n(planes + count * kWidth, size - count * kWidth, numbers + count * kWidth);
}

}  // namespace banyan::runtime
