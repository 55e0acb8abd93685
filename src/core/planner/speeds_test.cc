#include "core/planner/speeds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "base/codec.h"
#include "base/random.h"

namespace banyan::planner {
namespace {

/// A time from a line of 2 ms and 50 MB/s, up to a tenth longer or shorter.
std::int64_t seen_us(Rng& rng, double bytes) {
  return std::llround((2000 + bytes / 50) * (0.9 + static_cast<double>(rng.below(2000)) / 10'000));
}

TEST(Rate, LearnsALineFromSamplesOfAllSizes) {
  Rng rng(1);
  Rate rate(400e6, 100);
  for (int i = 0; i < 200; ++i) {
    const double bytes = std::pow(10, static_cast<double>(rng.below(8000)) / 1000);
    rate.observe(bytes, seen_us(rng, bytes));
  }
  EXPECT_NEAR(static_cast<double>(rate.of(0).us), 2000, 300);
  EXPECT_NEAR(static_cast<double>(rate.of(100e6).us), 2e6, 3e5);
  EXPECT_LT(rate.of(100e6).error_us, rate.of(100e6).us / 5);
  EXPECT_EQ(rate.samples(), 200U);
}

TEST(Rate, ForgetsHowItWas) {
  Rng rng(2);
  Rate rate(100e6, 0);
  for (int i = 0; i < 100; ++i) rate.observe(1e6, 10'000);
  EXPECT_NEAR(static_cast<double>(rate.of(1e6).us), 10'000, 500);
  for (int i = 0; i < 100; ++i) rate.observe(1e6, 100'000);
  EXPECT_NEAR(static_cast<double>(rate.of(1e6).us), 100'000, 10'000);
}

TEST(Rate, TheFirstSamplesCountForMuchAndOnePauseForLittle) {
  Rate rate(100e6, 1000);
  const std::int64_t unsure = rate.of(1e6).error_us;
  for (int i = 0; i < 10; ++i) rate.observe(1e6, 2000);
  EXPECT_LT(rate.of(1e6).us, 4000);
  const std::int64_t surer = rate.of(1e6).error_us;
  EXPECT_LT(surer, unsure);
  rate.observe(1e6, 3'000'000);
  EXPECT_LT(rate.of(1e6).us, 40'000);
}

TEST(Rate, StaysALineThatRises) {
  Rng rng(3);
  Rate rate(100e6, 1000);
  for (int i = 0; i < 1000; ++i) {
    rate.observe(static_cast<double>(rng.below(3) * rng.below(1'000'000)),
                 static_cast<std::int64_t>(rng.below(2) * rng.below(1'000'000)));
    ASSERT_GE(rate.of(0).us, 0);
    ASSERT_GE(rate.of(1e9).us, rate.of(1e6).us);
    ASSERT_GT(rate.of(1e9).us, 0);
    ASSERT_GE(rate.of(1e9).error_us, 0);
  }
  rate.observe(1, -1);
  EXPECT_EQ(rate.samples(), 1000U);
}

TEST(Rate, WhatNobodyCanMeanDoesNoHarm) {
  Rate rate(100e6, 1000);
  for (int i = 0; i < 100; ++i) {
    rate.observe(1, std::numeric_limits<std::int64_t>::max());
    rate.observe(1e18, 1);
    rate.observe(0, 1'000'000'000'000);
  }
  for (const double units : {0.0, 1.0, 1e9, 1e18, 1e300}) {
    EXPECT_GE(rate.of(units).us, 0);
    EXPECT_GE(rate.of(units).cautious_us(), 0);
  }
}

TEST(Speeds, PeersSendAtOnce) {
  Speeds speeds;
  EXPECT_NEAR(static_cast<double>(speeds.receive(125'000'000, {}).us), 1e6, 2e4) << "assumed: 1 Gb/s";
  for (int i = 0; i < 50; ++i) speeds.received({"near"}, 10'000'000, 30'000);
  for (int i = 0; i < 50; ++i) speeds.received({"far"}, 10'000'000, 100'000);
  const std::vector<HostId> one{{"near"}}, both{{"near"}, {"far"}};
  EXPECT_NEAR(static_cast<double>(speeds.receive(400'000'000, one).us), 400e6 / 333e6 * 1e6, 1e5);
  EXPECT_NEAR(static_cast<double>(speeds.receive(400'000'000, both).us), 200e6 / 100e6 * 1e6, 2e5)
      << "half of it comes from far";
  EXPECT_NEAR(speeds.receive_rate(both), 200e6, 2e7);
}

TEST(Speeds, WhatComesInPortionsWaitsForEach) {
  Speeds speeds;
  for (int i = 0; i < 20; ++i) {
    for (const std::int64_t megabytes : {2, 8})
      speeds.received({"windowed"}, megabytes * 1'000'000, 20'000 + megabytes * 2'000);
  }
  const std::vector<HostId> peers{{"windowed"}};
  EXPECT_NEAR(static_cast<double>(speeds.receive(100'000'000, peers).us), 600e3, 60e3)
      << "20 portions of 5 MB, each after 20 ms";
}

TEST(Speeds, ByTypeAndByAllTypesForOneThatWasNeverSeen) {
  Speeds speeds;
  for (const std::int64_t megabytes : {1, 10, 3, 20, 1, 10, 3, 20, 1, 10, 3, 20, 1, 10, 3, 20}) {
    speeds.loaded("numpy.ndarray", megabytes * 1'000'000, megabytes * 500);
    speeds.loaded("list", megabytes * 1'000'000, megabytes * 20'000);
  }
  EXPECT_NEAR(static_cast<double>(speeds.load("numpy.ndarray", 20'000'000).us), 10'000, 2'000);
  EXPECT_NEAR(static_cast<double>(speeds.load("list", 20'000'000).us), 400'000, 50'000);
  EXPECT_GT(speeds.load("tuple", 20'000'000).us, speeds.load("numpy.ndarray", 20'000'000).us);
  for (int i = 0; i < 1000; ++i) speeds.loaded("mine.T" + std::to_string(i), 1000, 300);
  EXPECT_LE(speeds.load_types().size(), 256U) << "user code can make up types";
}

TEST(Speeds, SerialisingIsForeseenByItsFirstTimeAndItsType) {
  Speeds speeds;
  EXPECT_EQ(speeds.serialise("list", 40'000).us, 40'000) << "as it was, until this host is known";
  for (const std::int64_t first_us : {2'000, 20'000, 3'000, 100'000, 2'000, 20'000, 3'000, 100'000}) {
    speeds.serialised("list", first_us, first_us * 3);
    speeds.serialised("numpy.ndarray", first_us, first_us / 2);
    speeds.serialised("dict", 100, 99'000);
    speeds.serialised("set", 2'000, 2'000'000);
  }
  EXPECT_EQ(speeds.serialise("dict", 40'000).us, speeds.serialise("tuple", 40'000).us) << "too short to tell";
  EXPECT_LT(speeds.serialise("set", 40'000).us, 700'000) << "a worker said so: nobody else has seen it";
  EXPECT_NEAR(static_cast<double>(speeds.serialise("list", 40'000).us), 120'000, 15'000);
  EXPECT_NEAR(static_cast<double>(speeds.serialise("numpy.ndarray", 40'000).us), 20'000, 3'000);
  EXPECT_GT(speeds.serialise("tuple", 40'000).us, speeds.serialise("numpy.ndarray", 40'000).us);
  EXPECT_LT(speeds.serialise("tuple", 40'000).us, speeds.serialise("set", 40'000).us);
  EXPECT_EQ(speeds.run(40'000).us, Speeds().run(40'000).us) << "that says nothing of code";
}

TEST(Speeds, AnotherLifeGoesOnFromWhatWasRecorded) {
  Rng rng(11);
  Speeds before;
  const HostId peer{"h2"};
  for (int i = 0; i < 100; ++i) {
    const auto bytes = static_cast<std::uint64_t>(1000 + rng.below(10'000'000));
    const auto units = static_cast<double>(bytes);
    before.received(peer, bytes, seen_us(rng, units));
    before.read(bytes, seen_us(rng, units) / 2);
    before.loaded("pandas.DataFrame", bytes, seen_us(rng, units) * 3);
    before.loaded("zoo.Animal", bytes, seen_us(rng, units) * 60);
    before.ran(static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(bytes) * 2);
    before.serialised("list", static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(bytes) * 5);
    before.serialised("set", static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(bytes) / 3);
  }
  const auto kept = decode<SpeedsRecord>(encode(before.record()));
  ASSERT_TRUE(kept);
  Speeds after;
  after.recall(*kept);
  EXPECT_EQ(after.samples(), 0U) << "nothing that is not on the disk yet";
  const auto alike = [](std::int64_t one, std::int64_t other) {
    return std::abs(one - other) < (one + other) / 20;
  };
  constexpr std::uint64_t kBytes = 5'000'000;
  const std::vector<HostId> peers{peer};
  EXPECT_TRUE(alike(after.receive(kBytes, peers).us, before.receive(kBytes, peers).us));
  EXPECT_TRUE(alike(after.read(kBytes).us, before.read(kBytes).us));
  EXPECT_TRUE(alike(after.load("pandas.DataFrame", kBytes).us, before.load("pandas.DataFrame", kBytes).us));
  EXPECT_TRUE(alike(after.load("unknown", kBytes).us, before.load("unknown", kBytes).us));
  EXPECT_TRUE(alike(after.run(kBytes).us, before.run(kBytes).us));
  EXPECT_TRUE(alike(after.serialise("list", kBytes).us, before.serialise("list", kBytes).us));
  EXPECT_TRUE(alike(after.serialise("unknown", kBytes).us, before.serialise("unknown", kBytes).us));
  EXPECT_FALSE(alike(Speeds().read(kBytes).us, before.read(kBytes).us)) << "or this test shows nothing";
}

TEST(Speeds, OfTooManyTypesTheLeastSeenAreForgotten) {
  Speeds speeds;
  for (int i = 0; i < 100; ++i) speeds.loaded("list", 1'000'000, 50'000);
  for (int i = 0; i < 1000; ++i) speeds.loaded("__main__.Type" + std::to_string(i), 1000, 10);
  EXPECT_LE(speeds.load_types().size(), 256U);
  EXPECT_TRUE(speeds.load_types().contains("list"));
  EXPECT_TRUE(speeds.load_types().contains("__main__.Type999"));
}

TEST(Rate, NumbersBeyondAllMeasureAreIgnored) {
  Rate rate(100e6, 1000);
  for (const double units :
       {1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), -1.0, 1e6})
    rate.observe(units, 20'000);
  EXPECT_EQ(rate.samples(), 1U);
  EXPECT_GT(rate.of(1e6).us, 5'000);
}

}  // namespace
}  // namespace banyan::planner
