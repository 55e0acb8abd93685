#include "runtime/data_store/store_chunks.h"

#include "runtime/data_store/sigv4.h"
#include "runtime/data_store/test_store.h"

namespace banyan::runtime {
namespace {

class ChunksOfAStore : public ::testing::Test {
 protected:
  void put(const std::string& key, const Blob& value) { ASSERT_TRUE(open_store(url)->put(key, value)); }
  node::ChunkFetched fetch(const Digest& wanted, const std::string& sum) {
    std::optional<node::ChunkFetched> answer;
    chunks->fetch({wanted, "chunks-of/s/1", sum}, [&](node::ChunkFetched said) { answer = std::move(said); });
    EXPECT_FALSE(answer) << "it came within the call";
    EXPECT_TRUE(until(loop, [&] { return answer.has_value(); }));
    EXPECT_EQ(answer->digest, wanted);
    return *answer;
  }
  std::unique_ptr<StoreChunks> source(const std::string& at) {
    return std::make_unique<StoreChunks>(data_store_at(loop, at, {.limits = kQuickLimits}).value_or(nullptr),
                                         [this](const node::Log& line) { log.push_back(line.text); });
  }

  TestDirectory directory;
  std::string url = "file://" + directory.path().string();
  Loop loop;
  std::vector<std::string> log;
  std::unique_ptr<StoreChunks> chunks = source(url);
  Blob bytes = test_bytes(1000);
  Digest digest = digest_of(bytes.view());
  std::string sha256 = sha256_hex(bytes.view());
};

TEST_F(ChunksOfAStore, ComeByTheirKeys) {
  put("chunks-of/s/1", bytes);
  EXPECT_EQ(fetch(digest, sha256).bytes, bytes);
  EXPECT_TRUE(log.empty());
}

TEST_F(ChunksOfAStore, AreDeniedWithOtherBytesAndWithNone) {
  EXPECT_TRUE(fetch(digest, sha256).denied);
  put("chunks-of/s/1", bytes);
  const auto forged = fetch(digest, std::string(64, '0'));
  EXPECT_TRUE(forged.denied && !forged.bytes) << "the digest alone can be made to fit";
  EXPECT_TRUE(fetch(digest_of("other"), sha256).denied);
  EXPECT_EQ(log.size(), 3U);
}

TEST_F(ChunksOfAStore, AStoreThatIsDownDeniesNothing) {
  chunks = source("redis://127.0.0.1:1");
  for (int i = 0; i < 2; ++i) {
    const auto said = fetch(digest, sha256);
    EXPECT_FALSE(said.denied || said.bytes);
  }
  ASSERT_EQ(log.size(), 1U) << "a line for all of it";
  EXPECT_NE(log[0].find("gives no chunks"), std::string::npos);
}

}  // namespace
}  // namespace banyan::runtime
