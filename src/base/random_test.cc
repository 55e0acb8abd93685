#include "base/random.h"

#include <gtest/gtest.h>

#include <regex>

namespace banyan {
namespace {

TEST(Rng, EqualSeedsGiveEqualStreams) {
  Rng a(1), b(1), c(2);
  const auto first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
}

TEST(Rng, BelowStaysBelowAndReachesEveryValue) {
  Rng rng(3);
  int seen[5] = {};
  for (int i = 0; i < 1000; ++i) ++seen[rng.below(5)];
  for (const int count : seen) EXPECT_GT(count, 100);
}

TEST(Rng, UuidHasVersionAndVariant) {
  Rng rng(4);
  const std::regex shape("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(std::regex_match(rng.uuid(), shape));
}

}  // namespace
}  // namespace banyan
