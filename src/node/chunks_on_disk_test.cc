#include "node/host_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/test_host.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const HostId kH2{"h2"}, kH3{"h3"};
const Digest kA = digest_of("a"), kB = digest_of("b");

/// The chunks of one host that has a data store.
class ChunksOnDisk : public TestHost {
 protected:
  template <class Write>
  std::vector<Digest> wrote() {
    std::vector<Digest> digests;
    for (const Persist& batch : done<Persist>())
      for (const DiskWrite& write : batch.writes)
        if (const auto* const one = std::get_if<Write>(&write)) digests.push_back(one->digest);
    return digests;
  }
  std::vector<Digest> stored() {
    std::vector<Digest> digests;
    for (const StoreChunk& one : done<StoreChunk>()) digests.push_back(one.digest);
    return digests;
  }
  std::vector<Digest> reads() {
    std::vector<Digest> digests;
    for (const ReadChunk& one : done<ReadChunk>()) digests.push_back(one.digest);
    return digests;
  }
  void store(const Digest& digest) {
    chunks_.put(digest, Blob("x"));
    ASSERT_TRUE(chunks_.landed(digest));
  }

  HostSpeeds speeds_{host_};
  HostChunks chunks_{host_, speeds_, true};
};

TEST_F(ChunksOnDisk, AChunkIsWrittenOnce) {
  chunks_.put(kA, Blob("a"));
  chunks_.put(kA, Blob("a"));
  EXPECT_THAT(wrote<PutChunk>(), ElementsAre(kA));
  EXPECT_FALSE(chunks_.durable(kA));
  EXPECT_TRUE(chunks_.landed(kA));
  EXPECT_FALSE(chunks_.landed(kA));
  EXPECT_TRUE(chunks_.durable(kA));
  chunks_.put(kA, Blob("a"));
  EXPECT_THAT(wrote<PutChunk>(), IsEmpty());
}

TEST_F(ChunksOnDisk, WhatNothingUsesLeavesTheDiskAMinuteLater) {
  store(kA);
  chunks_.use(kB);
  store(kB);
  advance(60s - 1ms);
  chunks_.drop_unused();
  EXPECT_TRUE(chunks_.durable(kA));
  advance(1ms);
  chunks_.drop_unused();
  EXPECT_FALSE(chunks_.durable(kA));
  EXPECT_TRUE(chunks_.durable(kB));
  EXPECT_THAT(wrote<DropChunk>(), ElementsAre(kA));
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), IsEmpty());
}

TEST_F(ChunksOnDisk, WhatTwoUseStaysUntilNeitherDoes) {
  chunks_.use(kA);
  chunks_.use(kA);
  store(kA);
  chunks_.unuse(kB);  // nobody does
  chunks_.unuse(kA);
  advance(2min);
  chunks_.drop_unused();
  EXPECT_TRUE(chunks_.durable(kA));
  chunks_.unuse(kA);
  chunks_.drop_unused();
  EXPECT_TRUE(chunks_.durable(kA)) << "its minute begins now";
  advance(30s);
  chunks_.use(kA);
  advance(2min);
  chunks_.drop_unused();
  EXPECT_TRUE(chunks_.durable(kA));
  EXPECT_THAT(wrote<DropChunk>(), IsEmpty());
}

TEST_F(ChunksOnDisk, WhatNothingUsesWhileItIsWrittenIsDroppedOnceItIsThere) {
  chunks_.put(kA, Blob("a"));
  advance(60s);
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), IsEmpty());
  EXPECT_TRUE(chunks_.landed(kA));
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), ElementsAre(kA));
}

/// The disk does what it is told in the background when it has time: a chunk must not come before the word
/// that the one of before goes.
TEST_F(ChunksOnDisk, AChunkThatIsBeingDroppedIsStoredBehindThat) {
  store(kA);
  advance(60s);
  chunks_.drop_unused();
  (void)done<Persist>();
  chunks_.put_in_background(kA, Blob("a"));
  EXPECT_THAT(stored(), IsEmpty());
  EXPECT_THAT(wrote<PutChunk>(), ElementsAre(kA));
  EXPECT_TRUE(chunks_.landed(kA));
  EXPECT_TRUE(chunks_.durable(kA));
}

TEST_F(ChunksOnDisk, OnceItIsGoneItMayComeInTheBackground) {
  store(kA);
  advance(60s);
  chunks_.drop_unused();
  chunks_.dropped(kA);
  chunks_.put_in_background(kA, Blob("a"));
  EXPECT_THAT(stored(), ElementsAre(kA));
  EXPECT_FALSE(chunks_.durable(kA));
  EXPECT_TRUE(chunks_.landed_in_background(kA));
  EXPECT_FALSE(chunks_.landed_in_background(kA));
  EXPECT_TRUE(chunks_.durable(kA));
}

TEST_F(ChunksOnDisk, AnAnswerFromBeforeItsEndDoesNotBringAChunkBack) {
  store(kA);
  advance(60s);
  chunks_.read(kA);
  chunks_.drop_unused();
  chunks_.use(kA);
  EXPECT_TRUE(chunks_.on_read(kA, 1));
  EXPECT_FALSE(chunks_.durable(kA)) << "it is being dropped";
}

/// A log entry that is to go waits for it.
TEST_F(ChunksOnDisk, OneThatIsStoredInTheBackgroundCanBePutAtOnce) {
  chunks_.put_in_background(kA, Blob("a"));
  chunks_.put_in_background(kA, Blob("a"));
  EXPECT_THAT(stored(), ElementsAre(kA)) << "once";
  chunks_.put(kA, Blob("a"));
  EXPECT_THAT(wrote<PutChunk>(), ElementsAre(kA));
  chunks_.put_in_background(kA, Blob("a"));
  EXPECT_THAT(stored(), IsEmpty());
  EXPECT_TRUE(chunks_.landed(kA));
  EXPECT_TRUE(chunks_.is_being_written(kA));
  advance(60s);
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), IsEmpty()) << "the background has yet to store it";
  EXPECT_TRUE(chunks_.landed_in_background(kA));
  chunks_.put_in_background(kA, Blob("a"));
  chunks_.capture(kA, Blob("a"));
  EXPECT_THAT(stored(), IsEmpty()) << "it is there";
}

TEST_F(ChunksOnDisk, WhatAnEarlierLifeLeftIsThereOnceItWasRead) {
  chunks_.found({kA, kB});
  EXPECT_FALSE(chunks_.durable(kA));
  chunks_.read(kA);
  EXPECT_TRUE(chunks_.on_read(kA, 1));
  EXPECT_TRUE(chunks_.durable(kA));
  chunks_.use(kB);
  chunks_.uses_known();
  advance(60s);
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), ElementsAre(kA)) << "nothing uses it";
}

TEST_F(ChunksOnDisk, WhatAnEarlierLifeLeftStaysUntilItsUsesAreKnown) {
  chunks_.found({kA});
  advance(1h);
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), IsEmpty());
  chunks_.put(kA, Blob("a"));
  EXPECT_TRUE(chunks_.landed(kA));
  chunks_.uses_known();
  advance(1min);
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), ElementsAre(kA));
}

TEST_F(ChunksOnDisk, AnAnswerAboutAChunkThatHasLeftDoesNotBringItBack) {
  chunks_.read(kA);
  EXPECT_TRUE(chunks_.on_read(kA, 1));
  EXPECT_FALSE(chunks_.durable(kA));
}

TEST_F(ChunksOnDisk, AChunkThatIsThereAndCannotBeReadIsDamaged) {
  EXPECT_TRUE(chunks_.on_read(kA, std::nullopt)) << "it was never here";
  chunks_.put(kA, Blob("a"));
  EXPECT_TRUE(chunks_.on_read(kA, std::nullopt)) << "it is on its way to the disk";
  EXPECT_TRUE(chunks_.landed(kA));
  EXPECT_FALSE(chunks_.on_read(kA, std::nullopt));
  EXPECT_FALSE(chunks_.durable(kA));
}

/// The disk was read before the chunk was dropped, and the answer comes when it is gone.
TEST_F(ChunksOnDisk, ALateAnswerDoesNotMakeADroppedChunkDurable) {
  store(kA);
  advance(60s);
  chunks_.read_in_background(kA);
  chunks_.drop_unused();
  chunks_.dropped(kA);
  chunks_.use(kA);
  EXPECT_TRUE(chunks_.on_read(kA, 1));
  EXPECT_FALSE(chunks_.durable(kA));
  chunks_.read(kA);
  EXPECT_TRUE(chunks_.on_read(kA, 1)) << "it is there: somebody has stored it";
  EXPECT_TRUE(chunks_.durable(kA));
}

TEST_F(ChunksOnDisk, ALateAnswerDoesNotMakeAStoredChunkDamaged) {
  for (const bool twice : {false, true}) {
    const Digest digest = twice ? kA : kB;
    chunks_.use(digest);
    chunks_.read_in_background(digest);
    if (twice) chunks_.read(digest);
    store(digest);
    EXPECT_TRUE(chunks_.on_read(digest, std::nullopt));
    if (twice) EXPECT_TRUE(chunks_.on_read(digest, std::nullopt)) << "both were asked before";
    EXPECT_TRUE(chunks_.durable(digest));
    chunks_.read(digest);
    EXPECT_FALSE(chunks_.on_read(digest, std::nullopt)) << "this one says so of now";
  }
}

TEST_F(ChunksOnDisk, AReadInTheBackgroundIsAskedForAnewOnceSomebodyWaits) {
  const auto asked = [this] {
    std::vector<std::pair<Digest, bool>> some;
    for (const ReadChunk& one : done<ReadChunk>()) some.emplace_back(one.digest, one.in_background);
    return some;
  };
  chunks_.read_in_background(kA);
  chunks_.read_in_background(kA);
  EXPECT_THAT(asked(), ElementsAre(std::pair(kA, true)));
  chunks_.read(kA);
  EXPECT_THAT(asked(), ElementsAre(std::pair(kA, false)));
  chunks_.read_in_background(kA);
  EXPECT_THAT(asked(), IsEmpty());
  for (int answers = 0; answers < 2; ++answers) EXPECT_TRUE(chunks_.on_read(kA, 1));
  chunks_.read_in_background(kA);
  EXPECT_THAT(asked(), ElementsAre(std::pair(kA, true)));
}

TEST_F(ChunksOnDisk, ReadsInTheBackgroundDoNotSayHowFastTheDiskIs) {
  chunks_.read_in_background(kA);
  advance(10s);
  (void)chunks_.on_read(kA, std::uint64_t{4} << 20);
  EXPECT_EQ(speeds_.now().samples(), 0U);
  chunks_.read(kA);
  advance(10ms);
  (void)chunks_.on_read(kA, std::uint64_t{4} << 20);
  EXPECT_EQ(speeds_.now().samples(), 1U);
}

TEST_F(ChunksOnDisk, TheDiskIsAskedOnceAtATimeForAChunk) {
  chunks_.read(kA);
  chunks_.read(kA);
  chunks_.read(kB);
  EXPECT_THAT(reads(), ElementsAre(kA, kB));
  (void)chunks_.on_read(kA, std::nullopt);
  chunks_.read(kA);
  EXPECT_THAT(reads(), ElementsAre(kA));
}

TEST_F(ChunksOnDisk, HowFastItIsIsLearnedFromManyBytesOrAllThatWereAskedFor) {
  chunks_.use(kA);
  chunks_.read(kA);
  chunks_.read(kB);
  advance(1s);
  EXPECT_TRUE(chunks_.on_read(kA, 1'000'000));
  EXPECT_EQ(speeds_.now().samples(), 0U);
  EXPECT_TRUE(chunks_.on_read(kB, 1'000'000));
  EXPECT_EQ(speeds_.now().samples(), 1U) << "no other one is awaited";
  chunks_.read(kA);
  chunks_.read(kB);
  EXPECT_TRUE(chunks_.on_read(kA, 2 << 20));
  EXPECT_EQ(speeds_.now().samples(), 2U) << "many bytes";
  EXPECT_TRUE(chunks_.on_read(kB, std::nullopt));
  EXPECT_EQ(speeds_.now().samples(), 2U) << "none came";
}

TEST_F(ChunksOnDisk, AreReadOneAfterTheOtherToFindWhatIsDamaged) {
  chunks_.scrub();
  EXPECT_THAT(reads(), IsEmpty()) << "there is none";
  store(kA);
  store(kB);
  chunks_.scrub();
  EXPECT_THAT(reads(), ElementsAre(std::min(kA, kB)));
  advance(1s);
  chunks_.scrub();
  EXPECT_THAT(reads(), IsEmpty()) << "the disk has not answered";
  EXPECT_TRUE(chunks_.on_read(std::min(kA, kB), 1));
  chunks_.scrub();
  EXPECT_THAT(reads(), ElementsAre(std::max(kA, kB)));
  EXPECT_TRUE(chunks_.on_read(std::max(kA, kB), 1));
  advance(249ms);
  chunks_.scrub();
  EXPECT_THAT(reads(), IsEmpty());
  advance(1ms);
  chunks_.scrub();
  EXPECT_THAT(reads(), ElementsAre(std::min(kA, kB))) << "again and again";
}

TEST_F(ChunksOnDisk, ADataStoreIsAskedOnceAtATimeForWhatItMayHave) {
  const session::Elsewhere there{.prefix = "p/", .sha256 = {{kA, "sha"}}};
  chunks_.fetch(kB, there);
  EXPECT_FALSE(chunks_.fetching(kB));
  chunks_.fetch(kA, there);
  chunks_.fetch(kA, there);
  EXPECT_TRUE(chunks_.fetching(kA));
  const auto fetches = done<FetchChunk>();
  ASSERT_EQ(fetches.size(), 1U);
  EXPECT_EQ(fetches[0].key, "p/" + to_hex(kA));
  EXPECT_EQ(fetches[0].sha256, "sha");
  chunks_.on_fetched({.digest = kA, .key = "", .bytes = Blob("a")});
  EXPECT_FALSE(chunks_.fetching(kA));
}

TEST_F(ChunksOnDisk, ADataStoreThatIsSilentIsLeftAloneForAWhile) {
  EXPECT_TRUE(chunks_.store_answers());
  chunks_.on_fetched({.digest = kA, .key = "", .bytes = {}, .denied = true});
  EXPECT_TRUE(chunks_.store_answers()) << "it said that it has it not";
  chunks_.on_fetched({.digest = kA, .key = "", .bytes = {}});
  EXPECT_FALSE(chunks_.store_answers());
  advance(10s - 1ms);
  EXPECT_FALSE(chunks_.store_answers());
  advance(1ms);
  EXPECT_TRUE(chunks_.store_answers());
  chunks_.on_fetched({.digest = kA, .key = "", .bytes = {}});
  chunks_.on_fetched({.digest = kA, .key = "", .bytes = Blob("a")});
  EXPECT_TRUE(chunks_.store_answers());
}

TEST_F(ChunksOnDisk, WithoutADataStoreNothingIsFetched) {
  HostChunks alone(host_, speeds_, false);
  EXPECT_FALSE(alone.has_store());
  EXPECT_FALSE(alone.store_answers());
  alone.fetch(kA, {.prefix = "p/", .sha256 = {{kA, "sha"}}});
  EXPECT_FALSE(alone.fetching(kA));
}

TEST_F(ChunksOnDisk, OnTheirWayIsWhatPeersWereAskedForJustNow) {
  chunks_.on_asked(kH2, kA);
  chunks_.on_asked(kH2, kB);
  chunks_.on_asked(kDataStore, digest_of("c"));
  EXPECT_EQ(chunks_.on_their_way(), 2U) << "a data store is another way";
  chunks_.on_asked(kH3, kB);
  EXPECT_EQ(chunks_.on_their_way(), 2U) << "the first one did not send it";
  chunks_.on_come(kH2, kB, 10);
  EXPECT_EQ(chunks_.on_their_way(), 2U) << "it comes from there late";
  chunks_.on_come(kH3, kB, 10);
  EXPECT_EQ(chunks_.on_their_way(), 1U);
  advance(2s - 1ms);
  EXPECT_EQ(chunks_.on_their_way(), 1U);
  advance(1ms);
  EXPECT_EQ(chunks_.on_their_way(), 0U);
  chunks_.on_asked(kH2, kB);
  EXPECT_EQ(chunks_.on_their_way(), 1U) << "what was not sent for so long is not counted any more";
}

TEST_F(ChunksOnDisk, HowFastAPeerSendsIsLearnedFromManyBytesOrAllThatWereAskedFor) {
  chunks_.on_asked(kH2, kA);
  chunks_.on_asked(kH2, kB);
  advance(100ms);
  chunks_.on_come(kH2, kA, 1000);
  EXPECT_EQ(speeds_.now().samples(), 0U);
  chunks_.on_come(kH2, kB, 1000);
  EXPECT_EQ(speeds_.now().samples(), 1U);
  for (const Digest& digest : {kA, kB, digest_of("c")}) chunks_.on_asked(kH2, digest);
  chunks_.on_come(kH2, kA, 2 << 20);
  EXPECT_EQ(speeds_.now().samples(), 1U) << "no time has passed";
  advance(100ms);
  chunks_.on_come(kH2, kB, 1);
  EXPECT_EQ(speeds_.now().samples(), 2U);
  chunks_.on_come(kH3, digest_of("c"), 1);
  EXPECT_EQ(speeds_.now().samples(), 2U) << "that one was not asked";
}

TEST_F(ChunksOnDisk, WhatADataStoreStillFetchesCountsForItsSpeedAlsoWhenAPeerIsAskedToo) {
  chunks_.fetch(kA, {.prefix = "p/", .sha256 = {{kA, "sha"}}});
  chunks_.on_asked(kDataStore, kA);
  chunks_.on_asked(kH2, kA);
  chunks_.on_come(kDataStore, kA, 100);
  EXPECT_EQ(speeds_.now().samples(), 1U);
  chunks_.on_fetched({.digest = kA, .key = "", .bytes = {}});
  chunks_.on_asked(kDataStore, kB);
  chunks_.on_fetched({.digest = kB, .key = "", .bytes = {}});
  chunks_.on_come(kDataStore, kB, 100);
  EXPECT_EQ(speeds_.now().samples(), 1U) << "it has not given it";
}

/// They were being read from the disk when they were captured: an earlier life has left them there.
TEST_F(ChunksOnDisk, WhatIsThereAlreadyIsNotWrittenAndHoldsUpNothing) {
  const Blob half(std::string(2 << 20, 'h')), other(std::string(2 << 20, 'o')),
      third(std::string(2 << 20, 't'));
  for (const Blob& one : {half, other, third}) chunks_.use(digest_of(one.view()));
  const Blob first(std::string(4 << 20, 'f'));
  chunks_.use(digest_of(first.view()));
  chunks_.capture(digest_of(first.view()), first);
  for (const Blob& one : {half, other, third}) chunks_.capture(digest_of(one.view()), one);
  for (const Blob& one : {half, other}) EXPECT_TRUE(chunks_.on_read(digest_of(one.view()), one.size()));
  EXPECT_THAT(stored(), ElementsAre(digest_of(first.view())));
  EXPECT_TRUE(chunks_.landed_in_background(digest_of(first.view())));
  EXPECT_THAT(stored(), ElementsAre(digest_of(third.view())));
  EXPECT_EQ(chunks_.captured_bytes(), third.size());
}

TEST_F(ChunksOnDisk, OneThatWasCapturedAndIsNotUsedAnyMoreIsNeverWritten) {
  const Blob first(std::string(4 << 20, 'f'));
  for (const Digest& digest : {digest_of(first.view()), kA}) chunks_.use(digest);
  chunks_.capture(digest_of(first.view()), first);
  chunks_.capture(kA, Blob("a"));
  chunks_.unuse(kA);
  EXPECT_EQ(chunks_.captured_bytes(), first.size());
  EXPECT_TRUE(chunks_.landed_in_background(digest_of(first.view())));
  EXPECT_THAT(stored(), ElementsAre(digest_of(first.view())));
}

TEST_F(ChunksOnDisk, OneThatNothingUsesWhileItIsWrittenIsDroppedLater) {
  const Blob first(std::string(4 << 20, 'f'));
  for (const Digest& digest : {digest_of(first.view()), kA}) chunks_.use(digest);
  chunks_.capture(digest_of(first.view()), first);
  chunks_.capture(kA, Blob("a"));
  chunks_.unuse(digest_of(first.view()));
  EXPECT_THAT(stored(), ElementsAre(digest_of(first.view())));
  advance(1min);
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), IsEmpty()) << "the disk may drop it before it has stored it";
  EXPECT_TRUE(chunks_.landed_in_background(digest_of(first.view())));
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), ElementsAre(digest_of(first.view())));
  EXPECT_FALSE(chunks_.durable(digest_of(first.view())));
}

}  // namespace
}  // namespace banyan::node
