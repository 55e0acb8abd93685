#include "node/gateway_transfers.h"

#include <gmock/gmock.h>

#include <string>

#include "node/test_parts.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

const std::string kBytes = "0123456789";
const Digest kDigest = digest_of(kBytes);

class TransfersTest : public ::testing::Test, protected TestGround {
 protected:
  TransfersTest() { advance(1h); }

  void read(std::uint64_t request) { transfers.read({request}, kDigest, {h1, h2, h3}); }
  void write(std::uint64_t request) {
    transfers.write({request}, "upload", kDigest, Blob(kBytes), {h1, h2, h3});
  }
  void part(const HostId& host, std::uint64_t offset, std::uint64_t count) {
    transfers.arrives(host, {.session = record.id,
                             .digest = kDigest,
                             .size = kBytes.size(),
                             .offset = offset,
                             .bytes = Blob(kBytes.substr(offset, count))});
  }
  void lacks(const HostId& host) { transfers.arrives(host, {.session = record.id, .digest = kDigest}); }
  /// The hosts that were asked for the chunk since the last call.
  std::vector<HostId> asked() {
    std::vector<HostId> hosts;
    for (const HostId& host : {h1, h2, h3})
      for (const ChunkWanted& wanted : take<ChunkWanted>(host)) {
        EXPECT_EQ(wanted.digest, kDigest);
        hosts.push_back(host);
      }
    return hosts;
  }
  /// What was answered since the last call: request and status.
  std::vector<std::pair<std::uint64_t, int>> answered() {
    finish();
    std::vector<std::pair<std::uint64_t, int>> answers;
    for (const HttpReply& reply : std::exchange(replies, {})) {
      answers.emplace_back(reply.id.value, reply.status);
      EXPECT_TRUE(reply.status != 200 || reply.body == kBytes) << reply.body;
    }
    return answers;
  }
  void tick_after(Duration time) {
    advance(time);
    transfers.tick();
  }

  GatewayTransfers transfers{gateway, record.id};
};

TEST_F(TransfersTest, AChunkIsReadOnceForAllWhoAskForIt) {
  read(1);
  EXPECT_THAT(asked(), ElementsAre(h3));
  read(2);
  EXPECT_THAT(asked(), IsEmpty());
  part(h3, 0, 4);
  part(h3, 4, 6);
  EXPECT_THAT(answered(), ElementsAre(Pair(1U, 200), Pair(2U, 200)));
  part(h3, 0, 10);
  EXPECT_THAT(answered(), IsEmpty());
}

TEST_F(TransfersTest, OnlyThePartThatComesNextIsTaken) {
  read(1);
  part(h2, 0, 10);
  EXPECT_THAT(answered(), IsEmpty()) << "that host was not asked";
  part(h3, 4, 6);
  part(h3, 0, 4);
  part(h3, 0, 4);
  EXPECT_THAT(answered(), IsEmpty());
  part(h3, 4, 6);
  EXPECT_THAT(answered(), ElementsAre(Pair(1U, 200)));
}

TEST_F(TransfersTest, AHostThatLacksItIsFollowedByTheNext) {
  read(1);
  lacks(h3);
  EXPECT_THAT(asked(), ElementsAre(h2, h3)) << "one after the other";
  lacks(h3);
  EXPECT_THAT(asked(), IsEmpty());
  lacks(h2);
  EXPECT_THAT(asked(), ElementsAre(h1));
  part(h1, 0, 10);
  EXPECT_THAT(answered(), ElementsAre(Pair(1U, 200)));
}

TEST_F(TransfersTest, BytesThatAreOthersAreNotGivenToAnybody) {
  read(1);
  (void)asked();
  transfers.arrives(h3, {.session = record.id, .digest = kDigest, .size = 3, .bytes = Blob("abc")});
  EXPECT_THAT(answered(), IsEmpty());
  EXPECT_THAT(asked(), ElementsAre(h2));
}

TEST_F(TransfersTest, AHostThatIsSilentIsFollowedByTheNext) {
  read(1);
  (void)asked();
  tick_after(4s);
  part(h3, 0, 4);
  tick_after(5s - 1ms);
  EXPECT_THAT(asked(), IsEmpty());
  tick_after(1ms);
  EXPECT_THAT(asked(), ElementsAre(h2));
  part(h2, 4, 6);
  EXPECT_THAT(answered(), IsEmpty()) << "it begins anew";
  part(h2, 0, 10);
  EXPECT_THAT(answered(), ElementsAre(Pair(1U, 200)));
}

TEST_F(TransfersTest, AHostThatIsAwayIsFollowedByTheNext) {
  lose(h3);
  read(1);
  EXPECT_THAT(asked(), ElementsAre(h2));
  lose(h2);
  transfers.tick();
  EXPECT_THAT(asked(), ElementsAre(h1));
}

TEST_F(TransfersTest, HostsThatMayBeFetchingItAreAskedAgainForAWhile) {
  read(1);
  for (const HostId& host : {h3, h2, h1}) lacks(host);
  EXPECT_THAT(asked(), ElementsAre(h1, h2, h3));
  EXPECT_THAT(answered(), IsEmpty());
  tick_after(1s);
  EXPECT_THAT(asked(), ElementsAre(h3));
  for (const HostId& host : {h3, h2, h1}) lacks(host);
  tick_after(4s - 1ms);
  EXPECT_THAT(answered(), IsEmpty());
  for (const HostId& host : {h3, h2, h1}) lacks(host);
  tick_after(1ms);
  EXPECT_THAT(answered(), ElementsAre(Pair(1U, 404)));
  tick_after(1s);
  EXPECT_THAT(answered(), IsEmpty());
}

TEST_F(TransfersTest, AChunkOfAnImportIsOnAllHostsBeforeItIsConfirmed) {
  write(1);
  for (const HostId& host : {h1, h2, h3}) {
    const auto parts = take<ChunkPart>(host);
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].execution, ExecutionId{"upload"});
    EXPECT_EQ(parts[0].size, kBytes.size());
    EXPECT_EQ(parts[0].bytes, Blob(kBytes));
  }
  transfers.stored(h1, kDigest);
  transfers.stored(h2, kDigest);
  EXPECT_THAT(answered(), IsEmpty());
  transfers.stored(h3, digest_of("another"));
  EXPECT_THAT(answered(), IsEmpty());
  transfers.stored(h3, kDigest);
  EXPECT_THAT(answered(), ElementsAre(Pair(1U, 204)));
  transfers.stored(h3, kDigest);
  EXPECT_THAT(answered(), IsEmpty());
}

TEST_F(TransfersTest, AHostThatIsAwayIsNotWaitedForWhereAMajorityHasIt) {
  lose(h3);
  write(1);
  EXPECT_THAT(take<ChunkPart>(h3), IsEmpty());
  transfers.stored(h1, kDigest);
  EXPECT_THAT(answered(), IsEmpty());
  transfers.stored(h2, kDigest);
  EXPECT_THAT(answered(), ElementsAre(Pair(1U, 204)));
}

TEST_F(TransfersTest, AHostThatGoesAwayIsNotWaitedForWhereAMajorityHasIt) {
  write(1);
  write(2);
  transfers.stored(h1, kDigest);
  transfers.stored(h2, kDigest);
  transfers.tick();
  EXPECT_THAT(answered(), IsEmpty());
  lose(h3);
  transfers.tick();
  EXPECT_THAT(answered(), ElementsAre(Pair(1U, 204), Pair(2U, 204)));
}

TEST_F(TransfersTest, WithoutAMajorityItIsGivenUpAfterAMinute) {
  lose(h2);
  lose(h3);
  write(1);
  transfers.stored(h1, kDigest);
  tick_after(60s - 1ms);
  EXPECT_THAT(answered(), IsEmpty());
  tick_after(1ms);
  EXPECT_THAT(answered(), ElementsAre(Pair(1U, 503)));
  tick_after(1min);
  EXPECT_THAT(answered(), IsEmpty());
}

TEST_F(TransfersTest, WhenTheSessionEndsAllAreAnswered) {
  read(1);
  write(2);
  transfers.close();
  EXPECT_THAT(answered(), ElementsAre(Pair(1U, 404), Pair(2U, 404)));
}

}  // namespace
}  // namespace banyan::node
