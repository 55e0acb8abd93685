#include "node/host_exchange.h"

#include <gmock/gmock.h>

#include <string>

#include "node/test_host.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const HostId kH2{"h2"}, kH3{"h3"};
const SessionId kS{"s"}, kT{"t"};
const std::string kBytes = "0123456789";
const Digest kDigest = digest_of(kBytes);

/// Parts have four bytes.
class Exchanges : public TestHost {
 protected:
  Exchanges() : TestHost({.chunk_part = 4}) {}

  /// The bytes from `offset` on, as a part of the chunk.
  static ChunkPart part(std::uint64_t offset, std::uint64_t count) {
    return {.session = kS,
            .digest = kDigest,
            .size = kBytes.size(),
            .offset = offset,
            .bytes = Blob(kBytes.substr(offset, count))};
  }
  /// Chunks that were to be written since the last call.
  std::vector<Digest> written() {
    std::vector<Digest> digests;
    for (const Persist& batch : done<Persist>())
      for (const DiskWrite& write : batch.writes)
        if (const auto* const put = std::get_if<PutChunk>(&write)) digests.push_back(put->digest);
    for (const StoreChunk& one : done<StoreChunk>()) digests.push_back(one.digest);
    return digests;
  }
  void land() {
    ASSERT_TRUE(chunks_.landed_in_background(kDigest));
    exchange_.on_durable(kDigest);
  }
  std::vector<SessionId> read(bool found) {
    const std::optional<Blob> bytes = found ? std::optional(Blob(kBytes)) : std::nullopt;
    (void)chunks_.on_read(kDigest, found ? std::optional(kBytes.size()) : std::nullopt);
    return exchange_.on_read({kDigest, bytes});
  }
  /// What the peer was sent of the chunk, with the sizes of the parts.
  std::vector<std::size_t> sent(const HostId& peer) {
    std::string whole;
    std::vector<std::size_t> sizes;
    for (const ChunkPart& one : told<ChunkPart>(peer)) {
      EXPECT_EQ(one.offset, whole.size());
      EXPECT_EQ(one.digest, kDigest);
      whole += one.bytes.view();
      sizes.push_back(one.bytes.size());
    }
    EXPECT_TRUE(whole.empty() || whole == kBytes) << whole;
    return sizes;
  }

  HostSpeeds speeds_{host_};
  HostChunks chunks_{host_, speeds_, true};
  ChunkExchange exchange_{host_, chunks_};
};

TEST_F(Exchanges, AChunkThatCameInPartsIsStoredAndConfirmedWhenItIsDurable) {
  EXPECT_FALSE(exchange_.on_part(kH2, part(0, 4)));
  EXPECT_FALSE(exchange_.on_part(kH2, part(4, 4)));
  EXPECT_THAT(written(), IsEmpty());
  EXPECT_EQ(exchange_.on_part(kH2, part(8, 2)), Blob(kBytes));
  EXPECT_THAT(written(), ElementsAre(kDigest));
  EXPECT_THAT(told<ChunkStored>(kH2), IsEmpty()) << "it is not on the disk yet";
  land();
  const auto stored = told<ChunkStored>(kH2);
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].digest, kDigest);
  EXPECT_EQ(stored[0].session, kS);
}

TEST_F(Exchanges, OneThatFitsIntoAPartComesAtOnce) {
  EXPECT_EQ(exchange_.on_part(kH2, part(0, 10)), Blob(kBytes));
  EXPECT_THAT(written(), ElementsAre(kDigest));
}

TEST_F(Exchanges, OneThatIsDurableIsConfirmedAtOnce) {
  ASSERT_TRUE(exchange_.on_part(kH2, part(0, 10)));
  land();
  EXPECT_FALSE(exchange_.on_part(kH3, part(0, 4)));
  EXPECT_THAT(told<ChunkStored>(kH3), SizeIs(1));
  EXPECT_THAT(told<ChunkStored>(kH2), SizeIs(1)) << "once";
}

TEST_F(Exchanges, ThePartsOfTwoPeersAreTwoChunks) {
  EXPECT_FALSE(exchange_.on_part(kH2, part(0, 4)));
  EXPECT_FALSE(exchange_.on_part(kH3, part(4, 4)));
  EXPECT_FALSE(exchange_.on_part(kH3, part(8, 2)));
  EXPECT_FALSE(exchange_.on_part(kH2, part(4, 4)));
  EXPECT_TRUE(exchange_.on_part(kH2, part(8, 2)));
}

TEST_F(Exchanges, AFirstPartBeginsAnew) {
  EXPECT_FALSE(exchange_.on_part(kH2, part(0, 4)));
  EXPECT_FALSE(exchange_.on_part(kH2, part(0, 4)));
  EXPECT_FALSE(exchange_.on_part(kH2, part(4, 4)));
  EXPECT_TRUE(exchange_.on_part(kH2, part(8, 2)));
}

TEST_F(Exchanges, APartOutOfPlaceIsDropped) {
  EXPECT_FALSE(exchange_.on_part(kH2, part(4, 4)));
  EXPECT_FALSE(exchange_.on_part(kH2, part(0, 4)));
  EXPECT_FALSE(exchange_.on_part(kH2, part(8, 2)));
  EXPECT_FALSE(exchange_.on_part(kH2, part(4, 4)));
  EXPECT_TRUE(exchange_.on_part(kH2, part(8, 2)));
}

TEST_F(Exchanges, MoreBytesThanTheChunkHasAreDropped) {
  ChunkPart more = part(4, 4);
  more.bytes = Blob("4567890");
  EXPECT_FALSE(exchange_.on_part(kH2, part(0, 4)));
  EXPECT_FALSE(exchange_.on_part(kH2, more));
  EXPECT_FALSE(exchange_.on_part(kH2, part(4, 4)));
  EXPECT_TRUE(exchange_.on_part(kH2, part(8, 2)));
}

TEST_F(Exchanges, BytesThatAreNotThoseOfTheDigestAreNotStored) {
  ChunkPart wrong = part(0, 10);
  wrong.bytes = Blob("0123456788");
  EXPECT_FALSE(exchange_.on_part(kH2, wrong));
  EXPECT_THAT(written(), IsEmpty());
  EXPECT_THAT(told<ChunkStored>(kH2), IsEmpty());
  EXPECT_TRUE(exchange_.on_part(kH2, part(0, 10)));
}

TEST_F(Exchanges, WhatAPeerWasSendingDoesNotGoOnInItsNextLife) {
  EXPECT_FALSE(exchange_.on_part(kH2, part(0, 4)));
  EXPECT_FALSE(exchange_.on_part(kH3, part(0, 4)));
  exchange_.on_peer_restarted(kH2);
  EXPECT_FALSE(exchange_.on_part(kH2, part(4, 4)));
  EXPECT_FALSE(exchange_.on_part(kH2, part(8, 2)));
  EXPECT_FALSE(exchange_.on_part(kH3, part(4, 4)));
  EXPECT_TRUE(exchange_.on_part(kH3, part(8, 2))) << "the other one has not ended";
}

TEST_F(Exchanges, WhatIsComingOfADurableChunkIsForgotten) {
  EXPECT_FALSE(exchange_.on_part(kH2, part(0, 4)));
  EXPECT_TRUE(exchange_.on_part(kH3, part(0, 10)));
  land();
  EXPECT_FALSE(chunks_.on_read(kDigest, std::nullopt)) << "it is damaged";
  EXPECT_FALSE(exchange_.on_part(kH2, part(4, 4)));
  EXPECT_FALSE(exchange_.on_part(kH2, part(8, 2)));
}

TEST_F(Exchanges, WhoWantsAChunkIsSentItInParts) {
  exchange_.on_wanted(kH2, {kS, kDigest});
  exchange_.on_wanted(kH3, {kT, kDigest});
  EXPECT_THAT(done<ReadChunk>(), SizeIs(1)) << "the disk is asked once";
  EXPECT_THAT(read(true), UnorderedElementsAre(kS, kT));
  EXPECT_THAT(sent(kH2), ElementsAre(4U, 4U, 2U));
  EXPECT_THAT(sent(kH3), ElementsAre(4U, 4U, 2U));
  EXPECT_THAT(read(true), IsEmpty());
  EXPECT_THAT(sent(kH2), IsEmpty()) << "once";
}

TEST_F(Exchanges, WhatIsNotHereIsSaidToTheGatewayOnly) {
  exchange_.on_wanted(kH2, {kS, kDigest});
  exchange_.on_wanted(kGateway, {kT, kDigest});
  EXPECT_THAT(read(false), IsEmpty());
  EXPECT_THAT(told<ChunkPart>(kH2), IsEmpty());
  const auto parts = told<ChunkPart>(kGateway);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].size, 0U);
  EXPECT_EQ(parts[0].digest, kDigest);
  EXPECT_EQ(parts[0].session, kT);
}

TEST_F(Exchanges, WhatIsBeingFetchedFromADataStoreGoesOnFromHere) {
  chunks_.fetch(kDigest, {.prefix = "p/", .sha256 = {{kDigest, "x"}}});
  exchange_.on_wanted(kGateway, {kS, kDigest});
  EXPECT_THAT(read(false), IsEmpty());
  EXPECT_THAT(told<ChunkPart>(kGateway), IsEmpty());
  const ChunkFetched fetched{.digest = kDigest, .key = "p/", .bytes = Blob(kBytes)};
  chunks_.on_fetched(fetched);
  EXPECT_TRUE(exchange_.on_fetched(fetched));
  EXPECT_THAT(written(), ElementsAre(kDigest));
  (void)done<ReadChunk>();
  land();
  EXPECT_THAT(done<ReadChunk>(), SizeIs(1)) << "somebody waits for it";
  EXPECT_THAT(read(true), ElementsAre(kS));
  EXPECT_THAT(sent(kGateway), ElementsAre(4U, 4U, 2U));
}

TEST_F(Exchanges, WhatADataStoreDoesNotGiveIsNotHere) {
  chunks_.fetch(kDigest, {.prefix = "p/", .sha256 = {{kDigest, "x"}}});
  exchange_.on_wanted(kGateway, {kS, kDigest});
  EXPECT_THAT(read(false), IsEmpty());
  EXPECT_FALSE(exchange_.on_fetched({.digest = kDigest, .key = "p/", .bytes = {}}));
  EXPECT_THAT(told<ChunkPart>(kGateway), SizeIs(1));
}

TEST_F(Exchanges, WhatADataStoreGivesLateIsNotStoredAgain) {
  ASSERT_TRUE(exchange_.on_part(kH2, part(0, 10)));
  land();
  (void)written();
  EXPECT_FALSE(exchange_.on_fetched({.digest = kDigest, .key = "p/", .bytes = Blob(kBytes)}));
  EXPECT_THAT(written(), IsEmpty());
}

TEST_F(Exchanges, AChunkThatNobodyWantsIsNotReadWhenItLands) {
  ASSERT_TRUE(exchange_.on_part(kH2, part(0, 10)));
  land();
  EXPECT_THAT(done<ReadChunk>(), IsEmpty());
}

TEST_F(Exchanges, HowFastAPeerSendsIsLearned) {
  chunks_.on_asked(kH2, kDigest);
  EXPECT_EQ(chunks_.on_their_way(), 1U);
  ASSERT_TRUE(exchange_.on_part(kH2, part(0, 10)));
  land();
  EXPECT_EQ(chunks_.on_their_way(), 0U);
}

TEST_F(Exchanges, OneThatIsBeingWrittenIsNotSaidToBeLacking) {
  EXPECT_TRUE(exchange_.on_part(kH2, part(0, 10)));
  exchange_.on_wanted(kH3, {.session = kS, .digest = kDigest, .says_lacking = true});
  read(false);
  EXPECT_THAT(told<ChunkLacking>(kH3), IsEmpty());
  land();
  read(true);
  EXPECT_THAT(sent(kH3), SizeIs(3));
}

}  // namespace
}  // namespace banyan::node
