#include "base/codec.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/time.h"

namespace banyan {
namespace {

struct Leaf {
  std::int64_t number = 7;
  std::string text = "default";
  friend bool operator==(const Leaf&, const Leaf&) = default;
};
struct Empty {
  friend bool operator==(const Empty&, const Empty&) = default;
};
struct Tree {
  HostId host;
  Epoch epoch;
  std::vector<Leaf> leaves;
  std::map<std::string, std::uint32_t> counts;
  std::variant<Empty, Leaf> either;
  std::optional<double> maybe;
  Blob blob;
  Duration wait{};
  friend bool operator==(const Tree&, const Tree&) = default;
};
struct TreeV2 {
  HostId host;
  Epoch epoch;
  std::vector<Leaf> leaves;
  std::map<std::string, std::uint32_t> counts;
  std::variant<Empty, Leaf> either;
  std::optional<double> maybe;
  Blob blob;
  Duration wait{};
  std::string added = "new";
};

Tree sample() {
  return {{"h1"},        {3}, {{-5, "x"}, {INT64_MIN, ""}}, {{"a", 1}, {"b", 300}}, Leaf{1, "y"}, 2.5,
          Blob("bytes"), -3ms};
}

TEST(Codec, RoundTrip) {
  const auto back = decode<Tree>(encode(sample()));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, sample());
}

TEST(Codec, OlderReaderSkipsAddedFieldsAndNewerReaderDefaultsThem) {
  const auto newer = decode<TreeV2>(encode(sample()));
  ASSERT_TRUE(newer.has_value());
  EXPECT_EQ(newer->added, "new");
  TreeV2 v2;
  v2.host = {"h9"};
  v2.added = "ignored by the older reader";
  const auto older = decode<Tree>(encode(v2));
  ASSERT_TRUE(older.has_value());
  EXPECT_EQ(older->host, HostId{"h9"});
}

TEST(Codec, EveryCutIsAnErrorOrAValueButNeverACrash) {
  const std::string whole = encode(sample());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode<Tree>(whole.substr(0, size)).has_value());
}

TEST(Codec, RandomBytesNeverCrash) {
  Rng rng(20261121);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(rng.below(64), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.next());
    (void)decode<Tree>(bytes).has_value();
  }
}

TEST(Codec, BlobsDecodedFromABlobShareItsMemory) {
  const Blob whole(encode(sample()));
  const auto back = decode<Tree>(whole);
  ASSERT_TRUE(back.has_value());
  EXPECT_GE(back->blob.view().data(), whole.view().data());
  EXPECT_LT(back->blob.view().data(), whole.view().data() + whole.size());
}

}  // namespace
}  // namespace banyan
