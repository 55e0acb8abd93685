#include "runtime/storage/planes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace banyan::runtime {
namespace {

std::string each_another(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 131 + i / 251);
  return bytes;
}

template <class Row>
void expect_planes(std::size_t size) {
  const std::string numbers = each_another(size);
  const std::size_t count = size / sizeof(Row);
  std::string planes(size, '\0');
  to_planes<Row>(numbers.data(), planes.data(), size);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t plane = 0; plane < sizeof(Row); ++plane)
      ASSERT_EQ(planes[plane * count + i], numbers[i * sizeof(Row) + plane])
          << size << " bytes, number " << i;
  EXPECT_EQ(planes.substr(count * sizeof(Row)), numbers.substr(count * sizeof(Row)));
  std::string back(size, '\0');
  from_planes<Row>(planes.data(), back.data(), size);
  EXPECT_TRUE(back == numbers) << size << " bytes";
}

TEST(Planes, HaveTheLowestByteOfEachNumberFirst) {
  for (std::size_t size = 0; size < 300; ++size) {
    expect_planes<std::uint32_t>(size);
    expect_planes<std::uint64_t>(size);
  }
}

}  // namespace
}  // namespace banyan::runtime
