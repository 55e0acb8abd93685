#include "node/host_speeds.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "node/test_host.h"

namespace banyan::node {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class KeptSpeeds : public TestHost {
 protected:
  /// The records that were written since the last call.
  std::vector<std::string> kept() {
    std::vector<std::string> records;
    for (const Persist& batch : done<Persist>())
      for (const DiskWrite& write : batch.writes)
        if (const auto* const put = std::get_if<PutSpeeds>(&write)) records.push_back(put->record);
    return records;
  }

  HostSpeeds speeds_{host_};
};

TEST_F(KeptSpeeds, WhatIsNewIsWrittenOnceAMinute) {
  speeds_.keep();
  speeds_.now().read(1'000'000, 1000);
  advance(59s);
  speeds_.keep();
  EXPECT_THAT(kept(), IsEmpty());
  advance(1s);
  speeds_.keep();
  EXPECT_THAT(kept(), SizeIs(1));
  advance(60s);
  speeds_.keep();
  EXPECT_THAT(kept(), IsEmpty()) << "nothing was learned";
  speeds_.now().read(1'000'000, 1000);
  speeds_.keep();
  EXPECT_THAT(kept(), SizeIs(1));
  speeds_.now().read(1'000'000, 1000);
  advance(59s);
  speeds_.keep();
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(KeptSpeeds, TheNextLifeKnowsThem) {
  speeds_.keep();
  const std::vector<HostId> from{{"h2"}};
  for (int n = 0; n < 20; ++n) speeds_.now().received(from[0], 100'000ULL * 60, 1'000'000);
  const double learned = speeds_.now().receive_rate(from);
  advance(60s);
  speeds_.keep();
  const auto records = kept();
  ASSERT_EQ(records.size(), 1U);
  HostSpeeds next(host_);
  EXPECT_NE(next.now().receive_rate(from), learned);
  next.recall(records[0]);
  EXPECT_DOUBLE_EQ(next.now().receive_rate(from), learned);
  EXPECT_THAT(done<Log>(), IsEmpty());
}

TEST_F(KeptSpeeds, ARecordThatCannotBeReadIsSaidAndNoRecordIsNot) {
  speeds_.recall("");
  EXPECT_THAT(done<Log>(), IsEmpty());
  speeds_.recall("nonsense");
  EXPECT_THAT(done<Log>(), SizeIs(1));
}

}  // namespace
}  // namespace banyan::node
