#include "runtime/data_store/retry.h"

#include <gtest/gtest.h>

#include <thread>

namespace banyan::runtime {
namespace {

const RequestLimits kQuick{.attempts = 4, .pause = 1ms, .pause_max = 3ms};

tl::unexpected<Error> down() { return fail(ErrorKind::kUnavailable, "down"); }

TEST(Retry, PausesDoubleUpToTheMostWithJitter) {
  const RequestLimits limits{.pause = 100ms, .pause_max = 1s};
  EXPECT_EQ(pause_before(2, limits, 0.0), 50ms);
  EXPECT_EQ(pause_before(2, limits, 1.0), 100ms);
  EXPECT_EQ(pause_before(4, limits, 1.0), 400ms);
  EXPECT_EQ(pause_before(6, limits, 1.0), 1s);
  EXPECT_EQ(pause_before(1000, limits, 0.0), 500ms);
}

TEST(Retry, EndsWithTheFirstSuccess) {
  int calls = 0;
  const auto result = retry(kQuick, {}, [&]() -> Result<int> {
    if (++calls < 3) return down();
    return calls;
  });
  EXPECT_EQ(result.value_or(0), 3);
}

TEST(Retry, GivesUpAfterItsAttemptsAndSaysSo) {
  int calls = 0;
  const auto result = retry(kQuick, {}, [&]() -> Result<int> {
    ++calls;
    return down();
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(result.error().message, "down (tried 4 times)");
}

TEST(Retry, DoesNotRepeatWhatFailsAgain) {
  int calls = 0;
  const auto result = retry(kQuick, {}, [&]() -> Result<int> {
    ++calls;
    return fail(ErrorKind::kDenied, "no");
  });
  EXPECT_FALSE(result);
  EXPECT_EQ(calls, 1);
}

TEST(Retry, StopsInItsPause) {
  std::stop_source source;
  const auto start = std::chrono::steady_clock::now();
  std::jthread stopper([&] {
    std::this_thread::sleep_for(20ms);
    source.request_stop();
  });
  const RequestLimits slow{.attempts = 2, .pause = 60s, .pause_max = 60s};
  const auto result = retry(slow, source.get_token(), []() -> Result<int> { return down(); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), closing_error());
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

}  // namespace
}  // namespace banyan::runtime
